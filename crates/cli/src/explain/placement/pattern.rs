// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages that a program exchanges again and again.

use std::path::Path;

use placement::Graph;

use super::options::{PlacementOptions, weight};

/// A message between two ranks: from, to, its weight.
pub(super) type Message = (u32, u32, u64);

/// The messages of an exchange.
pub(super) struct Pattern {
    /// The grid or the file that they come from.
    pub(super) about: String,
    /// All between different ranks.
    pub(super) messages: Vec<Message>,
    /// Whether weights are bytes; else each is 1.
    pub(super) has_bytes: bool,
    /// What MPI_Cart_create sees of a grid.
    pub(super) grid: Option<Graph>,
}

impl Pattern {
    /// The messages that the options name, of ranks of so many processes.
    ///
    /// # Errors
    /// When a grid has more ranks or options another number of dimensions, or a file does not hold edges.
    pub(super) fn of(options: &PlacementOptions, processes: u32) -> Result<Self, String> {
        match (&options.grid, &options.edges) {
            (Some(grid), _) => Self::of_grid(options, &grid.0, processes),
            (None, Some(file)) => Self::of_file(file, processes),
            (None, None) => Err("expected --grid or --edges".to_owned()),
        }
    }

    fn of_grid(options: &PlacementOptions, dims: &[u32], processes: u32) -> Result<Self, String> {
        let names: Vec<String> = dims.iter().map(u32::to_string).collect();
        let size: u32 = dims.iter().product();
        if size > processes {
            let (grid, nodes, each) = (names.join("x"), options.nodes, options.per_node);
            return Err(format!(
                "--grid {grid}: {size} ranks, expected at most {processes}: {nodes} nodes of {each}"
            ));
        }
        let periods = options.periods(dims.len())?;
        let bytes = options.bytes_along(dims.len())?;
        let (mut messages, mut stride) = (Vec::new(), size);
        for (dimension, (&dim, &ring)) in dims.iter().zip(&periods).enumerate() {
            stride /= dim;
            let weight = bytes.as_ref().map_or(1, |bytes| bytes[dimension]);
            for rank in 0..size {
                let coord = rank / stride % dim;
                let first = rank - coord * stride;
                for step in [dim - 1, 1] {
                    let leaves = if step == 1 {
                        coord + 1 == dim
                    } else {
                        coord == 0
                    };
                    let to = first + (coord + step) % dim * stride;
                    if to != rank && (ring || !leaves) {
                        messages.push((rank, to, weight));
                    }
                }
            }
        }
        let rings: Vec<String> = (0..dims.len())
            .filter(|&dimension| periods[dimension])
            .map(|dimension| dimension.to_string())
            .collect();
        let rings = match rings.len() {
            0 => String::new(),
            count if count == dims.len() => ", periodic".to_owned(),
            _ => format!(", periodic along {}", rings.join(", ")),
        };
        Ok(Self {
            about: format!("a grid of {} ranks{rings}", names.join(" x ")),
            messages,
            has_bytes: bytes.is_some(),
            grid: Some(Graph::grid(processes, dims, &periods)),
        })
    }

    fn of_file(file: &Path, processes: u32) -> Result<Self, String> {
        let name = file.display();
        let text = sys::files::read_text(file);
        let text = text.map_err(|error| format!("cannot read {name}: {error}"))?;
        let (mut messages, mut has_bytes) = (Vec::new(), None);
        for (index, line) in text.lines().enumerate() {
            let wrong = |why: String| format!("{name}:{}: {why}", index + 1);
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            let (ends, bytes) = match words[..] {
                [] => continue,
                [from, to] => ([from, to], None),
                [from, to, bytes] => ([from, to], Some(weight(bytes).map_err(wrong)?)),
                _ => return Err(wrong("expected source, destination and bytes".to_owned())),
            };
            if *has_bytes.get_or_insert(bytes.is_some()) != bytes.is_some() {
                return Err(wrong("expected bytes on all lines, or on none".to_owned()));
            }
            let rank = |word: &str| {
                let rank = word.parse().ok().filter(|&rank: &u32| rank < processes);
                rank.ok_or_else(|| {
                    wrong(format!("'{word}': expected a rank, 0..{}", processes - 1))
                })
            };
            let (from, to) = (rank(ends[0])?, rank(ends[1])?);
            if from != to {
                messages.push((from, to, bytes.unwrap_or(1)));
            }
        }
        Ok(Self {
            about: format!("the edges of {name}"),
            messages,
            has_bytes: has_bytes.unwrap_or_default(),
            grid: None,
        })
    }

    /// The weight of all messages.
    pub(super) fn total(&self) -> u64 {
        self.messages.iter().map(|message| message.2).sum()
    }

    /// Whether some messages weigh more than others.
    pub(super) fn is_uneven(&self) -> bool {
        let mut weights = self.messages.iter().map(|message| message.2);
        let first = weights.next();
        weights.any(|weight| Some(weight) != first)
    }
}
