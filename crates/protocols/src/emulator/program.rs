// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ranks of an emulated job do: threads with operations that do not block, and a wait for all of them at the end.

use std::fmt;

use crate::names::{Key, Source};
use crate::sender::Kind;

/// A rank of the job.
pub type Rank = u32;

/// An operation of a thread.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operation {
    /// `MPI_Isend` or `MPI_Issend`.
    Send {
        /// The receiver.
        to: Rank,
        /// The message's key.
        key: Key,
        /// Its length.
        bytes: u64,
        /// How it travels.
        kind: Kind,
    },
    /// `MPI_Irecv`.
    Receive {
        /// The sender, or any.
        source: Option<Source>,
        /// The key, perhaps with any tag.
        key: Key,
        /// Bytes of the buffer.
        capacity: u64,
    },
    /// `MPI_Cancel` of the thread's receive with this number, from 0.
    Cancel {
        /// The receive's number.
        receive: usize,
    },
}

/// An operation, and in timed mode when it begins at the earliest.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Timed {
    /// Nanoseconds since the start.
    pub at_ns: u64,
    /// The operation.
    pub operation: Operation,
}

/// A thread of a rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Thread {
    /// Its rank.
    pub rank: Rank,
    /// What it does, in order.
    pub operations: Vec<Timed>,
}

impl Thread {
    /// A thread that begins each operation when the one before has returned.
    pub fn new(rank: Rank, operations: impl IntoIterator<Item = Operation>) -> Self {
        let timed = |operation| Timed {
            at_ns: 0,
            operation,
        };
        Self {
            rank,
            operations: operations.into_iter().map(timed).collect(),
        }
    }

    /// The same thread, which begins its operations at `at_ns`.
    #[must_use]
    pub fn at(mut self, at_ns: u64) -> Self {
        self.operations
            .iter_mut()
            .for_each(|timed| timed.at_ns = at_ns);
        self
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send {
                to,
                key,
                bytes,
                kind,
            } => {
                let kind = match kind {
                    Kind::Eager => "eager",
                    Kind::EagerSynchronous => "eager synchronous",
                    Kind::Long => "long",
                };
                write!(
                    formatter,
                    "isend({kind}, {bytes} bytes, to {to}, tag {})",
                    key.tag()
                )
            }
            Self::Receive {
                source,
                key,
                capacity,
            } => {
                let source =
                    source.map_or_else(|| "any source".to_owned(), |one| format!("from {}", one.0));
                let tag = match key.tag() {
                    Key::ANY_TAG => "any tag".to_owned(),
                    tag => format!("tag {tag}"),
                };
                write!(formatter, "irecv({capacity} bytes, {source}, {tag})")
            }
            Self::Cancel { receive } => write!(formatter, "cancel(receive {receive})"),
        }
    }
}
