// SPDX-License-Identifier: MIT OR Apache-2.0
//! What callers of collectives with blocks or a root say: the blocks of all ranks, whether they are equal, and who is the root.

use crate::coll::primitives::Block;
use crate::comm::Comm;

/// One block per rank. Built once; blocks are cheap to copy.
#[derive(Clone)]
pub struct Blocks(pub Vec<Block>);

impl Blocks {
    /// `size` equal blocks of `count` elements, one after the other from the start of `block`.
    pub fn equal(block: &Block, count: usize, size: u32) -> Self {
        Self(
            (0..i64::from(size))
                .map(|rank| block.part((count as i64).wrapping_mul(rank), count))
                .collect(),
        )
    }

    /// The block of a rank.
    pub fn block(&self, rank: u32) -> &Block {
        &self.0[rank as usize]
    }
}

/// Whether the blocks of all ranks are known to have the same packed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// They are equal.
    Equal,
    /// Only the root knows them all (the forms with `v`).
    Varying,
}

/// The root of a collective, as a rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A rank: of the group, or of an intercommunicator's remote group.
    Rank(u32),
    /// This rank, of an intercommunicator (MPI_ROOT).
    Here,
    /// Another rank of this rank's group of an intercommunicator (MPI_PROC_NULL): it takes no part.
    Elsewhere,
}

impl From<u32> for Root {
    fn from(rank: u32) -> Self {
        Self::Rank(rank)
    }
}

impl Root {
    /// The rank, in an intracommunicator.
    pub(in crate::coll) fn within(self, comm: &Comm) -> Option<u32> {
        match self {
            Self::Rank(rank) if comm.local().is_none() => Some(rank),
            _ => None,
        }
    }
}
