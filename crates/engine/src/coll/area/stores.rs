// SPDX-License-Identifier: MIT OR Apache-2.0
//! How received data are written: through the caches or past them ([`crate::caches`]).
#![expect(unsafe_code, reason = "copies into memory of programs")]

use crate::caches;
use crate::coll::primitives::Block;

/// How received data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coll) enum Stores {
    ThroughCaches,
    PastCaches,
}

impl Stores {
    /// For an operation in which the members on this node read and write so many bytes in all.
    pub(in crate::coll) fn of(moved_bytes: usize) -> Self {
        if caches::are_exceeded_by(moved_bytes) {
            Self::PastCaches
        } else {
            Self::ThroughCaches
        }
    }

    /// As [`Block::unpack_range`].
    pub(in crate::coll) fn unpack_range(self, block: &Block, start: usize, source: &[u8]) {
        if self == Self::ThroughCaches {
            return block.unpack_range(start, source);
        }
        let memory = block.memory();
        let bytes = source.len().min(memory.bytes.saturating_sub(start));
        match memory.layout {
            // SAFETY: the block is writable while the collective runs (Block::new), and `source` is memory that the members share.
            None => unsafe {
                layout::copy_past_caches(source.as_ptr(), memory.base.add(start), bytes);
            },
            Some(_) => block.unpack_range(start, source),
        }
    }

    /// Orders what was written past the caches before all that is written from now on.
    pub(in crate::coll) fn settle(self) {
        if self == Self::PastCaches {
            layout::settle();
        }
    }
}
