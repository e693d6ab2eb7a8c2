// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bytes of an endpoint's heap are in use: the program's side keeps this, in its own memory.
//!
//! First fit, so that the pages at the beginning are used again and again.

use std::collections::BTreeMap;

/// Blocks are whole cache lines.
const LINE: u64 = 64;

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
    /// A heap of so many bytes, all of them free.
    pub fn new(bytes: u64) -> Self {
        let free = BTreeMap::from([(0, bytes)]);
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
        let mut heap = Heap::new(1024);
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
}
