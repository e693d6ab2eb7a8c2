// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual time: what cells, reads and writes take, and what was seen when.

use super::program::Rank;

/// What the fabric takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// A cell's way, handling included (c).
    pub control_ns: f64,
    /// From the start of a read until it reaches its source (r).
    pub read_ns: f64,
    /// A copy of no bytes (a).
    pub startup_ns: f64,
    /// Rate of a copy, in bytes per nanosecond (b).
    pub bytes_per_ns: f64,
    /// A cell takes up to so much longer, drawn evenly.
    pub jitter_ns: f64,
    /// State of the generator of jitter.
    pub seed: u64,
    /// Whether cells may overtake each other by jitter.
    pub reorders: bool,
    /// A cell between the ranks takes this times `control_ns`, by their distance in hops: element 0 for ranks side by side.
    pub hop_factors: [f64; 4],
    /// A cell to a rank of higher number takes so many times what one back takes.
    pub back_factor: f64,
    /// Ranks of a board, which are side by side; boards stand in a row.
    pub ranks_per_board: u32,
}

impl Eq for Timing {}

impl std::hash::Hash for Timing {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.seed.hash(state);
    }
}

impl Timing {
    /// Even times between all ranks, without jitter.
    pub const fn even(control_ns: f64, read_ns: f64, startup_ns: f64, bytes_per_ns: f64) -> Self {
        Self {
            control_ns,
            read_ns,
            startup_ns,
            bytes_per_ns,
            jitter_ns: 0.0,
            seed: 1,
            reorders: false,
            hop_factors: [1.0; 4],
            back_factor: 1.0,
            ranks_per_board: u32::MAX,
        }
    }

    /// What a copy takes (W).
    pub fn copy_ns(&self, bytes: u64) -> f64 {
        self.startup_ns + bytes as f64 / self.bytes_per_ns
    }

    /// What the next cell between two ranks takes.
    pub fn cell_ns(&mut self, from: Rank, to: Rank) -> f64 {
        let board = |rank: Rank| rank / self.ranks_per_board.max(1);
        let hops = board(from).abs_diff(board(to)) as usize;
        let factor = self.hop_factors[hops.min(self.hop_factors.len() - 1)];
        let direction = if to > from { self.back_factor } else { 1.0 };
        self.control_ns * factor * direction + self.jitter_ns * self.draw()
    }

    /// A number in 0..1 (xorshift).
    fn draw(&mut self) -> f64 {
        let mut state = self.seed.max(1);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.seed = state;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Something that left or ended.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Row {
    /// When it began.
    pub at_ns: u64,
    /// When it was over.
    pub until_ns: u64,
    /// The rank that it begins at.
    pub from: Rank,
    /// The rank that it ends at.
    pub to: Rank,
    /// What it is.
    pub what: What,
    /// Its name, such as that of a cell.
    pub name: &'static str,
    /// What it carries.
    pub fields: String,
}

/// Kind of a [`Row`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum What {
    /// An operation of the user.
    Operation,
    /// A control message.
    Control,
    /// The announcement behind a write, which the table of counts leaves out.
    Notification,
    /// Data.
    Data,
    /// A send or receive is complete.
    Complete,
}

/// What happened, in the order of its beginning.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Trace {
    /// All of it.
    pub rows: Vec<Row>,
}
