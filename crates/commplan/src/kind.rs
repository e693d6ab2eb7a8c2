// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of plans.

/// How messages are mapped to objects; see the crate's head.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A communicator for each thread, on which it sends.
    Naive,
    /// A communicator for each pair of threads.
    Edge,
    /// As `Edge`, but corner threads share one.
    Merged,
    /// One communicator, and tags that name the threads.
    Tag,
    /// An endpoint for each thread.
    Endpoint,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Naive,
        Self::Edge,
        Self::Merged,
        Self::Tag,
        Self::Endpoint,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Edge => "edge",
            Self::Merged => "merged",
            Self::Tag => "tag",
            Self::Endpoint => "endpoint",
        }
    }

    /// The plan of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
