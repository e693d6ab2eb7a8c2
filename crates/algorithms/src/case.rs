// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties of a call that every member knows.

use crate::names::Operation;

/// Most members that share memory: each polls the stamps of all others.
pub(crate) const MOST_MEMBERS: u32 = 128;

/// The properties of a call that decide between algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Ranks that take part.
    pub ranks: u32,
    /// Nodes that they run on.
    pub nodes: u32,
    /// Whether the ranks of each node are neighbours.
    pub contiguous: bool,
    /// Packed bytes of the vector, or of the largest block.
    pub bytes: usize,
    /// Packed bytes of all blocks; of the vector where there are no blocks.
    pub total: usize,
    /// Elements of the vector of a reduction.
    pub elements: usize,
    /// Whether they run on one node on which the job has more ranks than cores.
    pub oversubscribed: bool,
    /// Whether the order of operands does not matter.
    pub commutative: bool,
    /// Whether operands are grouped in the same way whatever the algorithm.
    pub reproducible: bool,
    /// Whether the members have memory that they share.
    pub shared: bool,
    /// Whether operands are contiguous.
    pub dense: bool,
    /// Whether all blocks are known to be equally long everywhere.
    pub equal: bool,
    /// Whether blocks are exchanged in place.
    pub in_place: bool,
}

impl Case {
    /// A call of an operation with `bytes` bytes, of elements of one byte, on `nodes` nodes, contiguous, not in place.
    pub fn new(operation: Operation, ranks: u32, bytes: usize, nodes: u32) -> Self {
        let total = match operation {
            Operation::Gather
            | Operation::Scatter
            | Operation::Allgather
            | Operation::Alltoall
            | Operation::ReduceScatter => bytes.saturating_mul(ranks as usize),
            _ => bytes,
        };
        Self {
            ranks,
            nodes,
            contiguous: true,
            bytes,
            total,
            elements: total,
            oversubscribed: false,
            commutative: true,
            reproducible: false,
            shared: nodes == 1 && (2..=MOST_MEMBERS).contains(&ranks),
            dense: true,
            equal: true,
            in_place: false,
        }
    }

    /// Bytes of the vector or of all blocks for each rank, rounded down.
    pub fn share(&self) -> u64 {
        self.total as u64 / u64::from(self.ranks.max(1))
    }

    /// The same without memory that the members share.
    pub const fn without_shared(self) -> Self {
        Self {
            shared: false,
            ..self
        }
    }
}
