// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of plans.

use std::str::FromStr;

use crate::unknown::Unknown;

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
}

impl FromStr for Kind {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| Unknown {
            text: text.to_owned(),
            expected: "naive, edge, merged, tag or endpoint",
        })
    }
}
