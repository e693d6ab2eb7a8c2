// SPDX-License-Identifier: MIT OR Apache-2.0
//! The claim words of one receiver for one sender.
#![expect(unsafe_code, reason = "claim words lie in memory that two ranks share")]

use std::ptr::NonNull;

use super::ClaimWord;
use crate::node::NodeHandle;

/// Offers that a receiver can have to one sender at once.
pub const MOST_OFFERS: usize = 16;

/// The claim words of one receiver for one sender, in the node segment.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTable {
    words: NonNull<ClaimWord>,
    offset: u64,
}

// SAFETY: all atomics, in a mapping that the segment keeps.
unsafe impl Send for ClaimTable {}
// SAFETY: as for Send.
unsafe impl Sync for ClaimTable {}

impl ClaimTable {
    /// Bytes of a table: whole cache lines.
    pub const BYTES: u64 = (MOST_OFFERS * size_of::<ClaimWord>()) as u64;

    /// The table at an offset, if there can be one. It is used only while the segment is mapped.
    pub fn at(node: &NodeHandle, offset: u64) -> Option<Self> {
        let is_heap = offset >= node.job().heap_offset && offset.is_multiple_of(64);
        let base = node.address(offset, Self::BYTES).filter(|_| is_heap)?;
        let words = base.cast();
        Some(Self { words, offset })
    }

    /// Where it is in the segment.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The word with a number below [`MOST_OFFERS`]; a larger one wraps.
    pub fn word(&self, slot: usize) -> &ClaimWord {
        // SAFETY: `at` found memory of the segment for MOST_OFFERS words, aligned; all atomics, and every value is valid.
        unsafe { self.words.add(slot % MOST_OFFERS).as_ref() }
    }
}

const _: () = assert!(ClaimTable::BYTES.is_multiple_of(64) || cfg!(loom));
