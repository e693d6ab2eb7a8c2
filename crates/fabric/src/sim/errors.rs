// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors between a test and its network.

use std::fmt;

/// Why the network refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimError {
    /// A rank that the network does not have.
    NoSuchRank {
        /// The rank whose port was requested.
        rank: u32,
        /// Ranks of the network.
        ranks: u32,
    },
    /// A rank asks for a port and has one, or has left.
    NoPort {
        /// The rank.
        rank: u32,
    },
    /// A pair of ranks has its rings already.
    AlreadyConnected {
        /// The sending rank.
        source: u32,
        /// The receiving rank.
        target: u32,
    },
    /// The process has no memory left for a ring.
    NoMemory,
    /// A cell describes payload that cannot lie in its ring.
    BadChunk {
        /// The sending rank.
        source: u32,
        /// The receiving rank.
        target: u32,
        /// The cell's kind.
        kind: u8,
        /// The location that the cell names.
        location: u64,
        /// The length that the cell names.
        bytes: u64,
    },
    /// A setting that cannot be used; the text names the key and what it takes.
    Setting(String),
    /// Two runs with the same first choices came to different options: the program under test
    /// depends on something besides the network.
    Diverged {
        /// The choice, counted from 0, at which the runs differ.
        choice: usize,
        /// Options of the earlier run.
        before: u32,
        /// Options of the later run.
        now: u32,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchRank { rank, ranks } => {
                write!(f, "rank {rank} of a simulated network of {ranks} ranks")
            }
            Self::NoPort { rank } => write!(
                f,
                "rank {rank} has taken its port of the simulated network before, or has left it"
            ),
            Self::AlreadyConnected { source, target } => {
                write!(f, "rank {source} is connected to rank {target} already")
            }
            Self::NoMemory => write!(f, "no memory for a ring of the simulated network"),
            Self::BadChunk {
                source,
                target,
                kind,
                location,
                bytes,
            } => write!(
                f,
                "rank {source} sent rank {target} a cell of kind {kind} that describes {bytes} \
                 bytes at location {location:#x}, outside its ring"
            ),
            Self::Setting(text) => f.write_str(text),
            Self::Diverged {
                choice,
                before,
                now,
            } => write!(
                f,
                "choice {choice} had {before} options in one run and {now} in another with the \
                 same choices before: the ranks depend on more than the network"
            ),
        }
    }
}

impl std::error::Error for SimError {}
