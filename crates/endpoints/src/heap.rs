// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bytes of an endpoint's heap are in use: the program's side keeps this, in its own memory.
//!
//! First fit, so that the pages at the beginning are used again and again. In front, each slot has a cache line of its own for short
//! data.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::area::{HEAP_BYTES, SLOTS};

/// Blocks are whole cache lines.
const LINE: u64 = 64;

/// The bytes of a slot.
pub const fn of_slot(slot: u32) -> Range<u64> {
    let at = slot as u64 * LINE;
    at..at + LINE
}

/// The free blocks of a heap.
pub struct Heap {
    /// Beginning and bytes of each; no two touch.
    free: BTreeMap<u64, u64>,
}

/// Bytes of the block for so many bytes.
fn block(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(LINE)
}

impl Heap {
    /// The heap of an endpoint, behind the bytes of the slots.
    pub fn behind_slots() -> Self {
        Self::new(SLOTS as u64 * LINE..HEAP_BYTES as u64)
    }

    /// A heap of these bytes, all of them free.
    fn new(bytes: Range<u64>) -> Self {
        let free = BTreeMap::from([(bytes.start, bytes.end - bytes.start)]);
        Self { free }
    }

    /// A block of so many bytes; `None` where there is none.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let bytes = block(bytes)?;
        let (&at, &length) = self.free.iter().find(|&(_, &length)| length >= bytes)?;
        self.free.remove(&at);
        if length > bytes {
            self.free.insert(at + bytes, length - bytes);
        }
        Some(at)
    }

    /// Gives back a block of so many bytes.
    pub fn release(&mut self, at: u64, bytes: u64) {
        let Some(mut length) = block(bytes) else {
            return;
        };
        let mut at = at;
        if let Some(next) = self.free.remove(&(at + length)) {
            length += next;
        }
        if let Some((&before, &bytes)) = self.free.range(..at).next_back()
            && before + bytes == at
        {
            (at, length) = (before, length + bytes);
        }
        self.free.insert(at, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_and_grow_together() {
        let mut heap = Heap::new(0..1024);
        let blocks: Vec<u64> = (0..16).filter_map(|_| heap.allocate(64)).collect();
        assert_eq!(blocks.len(), 16);
        assert_eq!(heap.allocate(1), None);
        for at in [3, 1, 2, 15, 0].map(|at| blocks[at]) {
            heap.release(at, 64);
        }
        assert_eq!(heap.allocate(200), Some(0));
        assert_eq!(heap.allocate(65), None);
        heap.release(0, 200);
        for &at in &blocks[4..15] {
            heap.release(at, 1);
        }
        assert_eq!(heap.allocate(1024), Some(0));
        assert_eq!(heap.allocate(u64::MAX), None);
    }

    #[test]
    fn slots_have_bytes_in_front_of_all_blocks() {
        let first = Heap::behind_slots().allocate(1);
        assert_eq!(first, Some(of_slot(SLOTS as u32 - 1).end));
        assert_eq!(of_slot(1), 64..128);
    }
}
