// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which message: source, tag, and what is known about one that came.

use engine::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE, TAG_UPPER_BOUND};

use crate::Datatype;

/// Where a message may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From this rank.
    Rank(usize),
    /// From anybody (MPI_ANY_SOURCE).
    Any,
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

impl Source {
    #[inline(always)]
    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::Rank(rank) => rank_code(rank),
            Self::Any => ANY_SOURCE_RANK,
        }
    }
}

/// Which tag a message may have. Tags of messages are 0 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// This one.
    Is(i32),
    /// Any (MPI_ANY_TAG).
    Any,
}

impl From<i32> for Tag {
    fn from(tag: i32) -> Self {
        Self::Is(tag)
    }
}

impl Tag {
    /// The largest tag of a message (attribute MPI_TAG_UB).
    pub const LARGEST: i32 = TAG_UPPER_BOUND;

    #[inline(always)]
    pub(crate) const fn code(self) -> i32 {
        match self {
            // A negative tag must not become a wildcard by accident.
            Self::Is(tag) if tag < 0 => i32::MIN,
            Self::Is(tag) => tag,
            Self::Any => ANY_TAG_VALUE,
        }
    }
}

/// A rank as the engine takes it; one beyond any communicator stays beyond.
#[inline(always)]
pub(crate) const fn rank_code(rank: usize) -> i32 {
    if rank > i32::MAX as usize {
        i32::MAX
    } else {
        rank as i32
    }
}

/// The status of a message: source, tag and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub(crate) engine::request::Status);

impl Status {
    /// Rank that sent the message.
    pub const fn source(&self) -> usize {
        self.0.source as usize
    }

    /// Its tag.
    pub const fn tag(&self) -> i32 {
        self.0.tag
    }

    /// Its length in bytes.
    pub const fn bytes(&self) -> usize {
        self.0.bytes as usize
    }

    /// Its length in elements of `T`; `None` when it holds no whole number of them.
    pub const fn count<T: Datatype>(&self) -> Option<usize> {
        let size = T::PACKED_BYTES;
        if size == 0 || !self.bytes().is_multiple_of(size) {
            return None;
        }
        Some(self.bytes() / size)
    }

    /// Whether the operation was cancelled, and there is no message.
    pub const fn is_cancelled(&self) -> bool {
        self.0.cancelled
    }
}
