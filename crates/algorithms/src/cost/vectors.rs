// SPDX-License-Identifier: MIT OR Apache-2.0
//! How vectors of elements are cut between ranks.

use crate::case::Case;

/// A power of two of ranks, into which the others are folded in pairs of neighbours.
pub(super) struct Folded {
    pub(super) ranks: u32,
    pub(super) extra: u32,
}

impl Folded {
    pub(super) const fn new(ranks: u32) -> Self {
        let power = 1 << ranks.ilog2();
        Self {
            ranks: power,
            extra: ranks - power,
        }
    }

    /// The folded rank; `None` for one that hands its operand over.
    pub(super) const fn rank(&self, rank: u32) -> Option<u32> {
        if rank >= 2 * self.extra {
            Some(rank - self.extra)
        } else if rank % 2 == 1 {
            Some(rank / 2)
        } else {
            None
        }
    }

    /// Whether a rank gives the result back to its lower neighbour.
    pub(super) const fn gives_back(&self, rank: u32) -> bool {
        rank < 2 * self.extra && rank % 2 == 1
    }
}

/// Elements that a folded rank holds before each halving, and at the end.
pub(super) fn halves(elements: u64, me: u32, ranks: u32) -> Vec<u64> {
    let mut held = vec![elements];
    let (mut low, mut high, mut bit) = (0, elements, 1);
    while bit < ranks {
        let middle = low + (high - low) / 2;
        if me & bit == 0 {
            high = middle;
        } else {
            low = middle;
        }
        held.push(high - low);
        bit *= 2;
    }
    held
}

/// Bytes of one element of a vector of `bytes` bytes.
pub(super) fn element_bytes(case: &Case) -> u64 {
    (case.total / case.elements.max(1)) as u64
}

/// The bytes of whole elements that a chain of combinations passes on at once.
pub(super) fn segment_bytes(parameter: u64, case: &Case) -> u64 {
    let element = element_bytes(case).max(1);
    (parameter / element).max(1) * element
}

/// Elements of part `index` of a ring.
pub(super) const fn ring_part(elements: u64, index: u64, ranks: u64) -> u64 {
    elements * (index + 1) / ranks - elements * index / ranks
}
