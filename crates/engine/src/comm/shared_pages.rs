// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the node segment that a process takes and gives back: the segment only grows, so pages are kept for the next use.
#![expect(unsafe_code, reason = "memory is an address")]

use std::collections::BTreeMap;
use std::sync::PoisonError;

use fabric::board::PAGE_BYTES;
use sys::sync::MutexGuard;
use sys::{limits, memory};

use super::process::Process;
use crate::errors::{Error, ErrorClass, Result};

/// Free ranges of the segment: length by offset, in bytes. No two of them touch.
#[derive(Debug, Default)]
pub(super) struct FreePages(BTreeMap<u64, u64>);

impl FreePages {
    /// Takes a range out of the shortest one that is long enough.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let fitting = self.0.iter().filter(|(_, free)| **free >= bytes);
        let (&offset, &free) = fitting.min_by_key(|(_, free)| **free)?;
        self.0.remove(&offset);
        if free > bytes {
            self.0.insert(offset + bytes, free - bytes);
        }
        Some(offset)
    }

    /// Keeps a range, joined with its neighbours.
    pub(super) fn give(&mut self, mut offset: u64, mut bytes: u64) {
        if let Some((&before, &free)) = self.0.range(..offset).next_back()
            && before + free == offset
        {
            self.0.remove(&before);
            (offset, bytes) = (before, free + bytes);
        }
        if let Some(after) = self.0.remove(&(offset + bytes)) {
            bytes += after;
        }
        self.0.insert(offset, bytes);
    }
}

impl Process {
    /// Memory that every rank of the node can read directly.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM when the segment is full; [`Self::refuse_forked_child`].
    pub fn allocate_shared(&self, bytes: usize) -> Result<*mut u8> {
        self.refuse_forked_child()?;
        let taken = || {
            let rounded = bytes.max(1).checked_next_multiple_of(PAGE_BYTES)?;
            let kept = self.free_pages().take(rounded as u64);
            let offset = kept.or_else(|| self.node().allocate(rounded as u64).ok())?;
            Some((self.node().address(offset, rounded as u64)?, rounded))
        };
        let (base, rounded) = taken().ok_or_else(|| {
            let limits = limits::of_shared_memory();
            let text = format!("no room for {bytes} bytes in the node segment{limits}");
            Error::new(ErrorClass::ERR_NO_MEM, text)
        })?;
        // SAFETY: whole pages of the segment, allocated just now. The segment is left out of core
        // dumps, but the program's own data belong into them.
        unsafe { memory::set_dumped(base, rounded, true) };
        Ok(base.as_ptr())
    }

    /// Gives back memory of [`Self::allocate_shared`]; false when it is none.
    ///
    /// # Safety
    /// `address` comes from `allocate_shared(bytes)` and nobody uses the memory any more.
    pub unsafe fn release_shared(&self, address: *mut u8, bytes: usize) -> bool {
        if self.is_forked_child() {
            // The parent still has it.
            return true;
        }
        let rounded = bytes.max(1).next_multiple_of(PAGE_BYTES);
        match (
            self.node().offset_of(address, rounded),
            std::ptr::NonNull::new(address),
        ) {
            // SAFETY: page-aligned pages of the segment (allocate_shared); nobody needs them (caller).
            (Some(offset), Some(base)) => unsafe {
                memory::set_dumped(base, rounded, false);
                let is_discarded = memory::discard_shared(base, rounded).is_ok();
                // Memory is handed out zeroed.
                if is_discarded {
                    self.free_pages().give(offset, rounded as u64);
                }
                is_discarded
            },
            _ => false,
        }
    }

    fn free_pages(&self) -> MutexGuard<'_, FreePages> {
        self.free_pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_become_one_range() {
        let mut pages = FreePages::default();
        for offset in [4096, 12288, 8192, 40960] {
            pages.give(offset, 4096);
        }
        assert_eq!(pages.0, BTreeMap::from([(4096, 12288), (40960, 4096)]));
        assert_eq!(pages.take(4096), Some(40960));
        assert_eq!(pages.take(8192), Some(4096));
        assert_eq!(pages.take(8192), None);
        assert_eq!(pages.take(4096), Some(12288));
        assert!(pages.0.is_empty());
    }

    proptest! {
        /// What is taken is never handed out twice, and nothing is lost.
        #[test]
        fn ranges_in_use_are_disjoint(steps in proptest::collection::vec((any::<bool>(), 1..6u64), 1..80)) {
            let (mut pages, mut top, mut used) = (FreePages::default(), 0, Vec::<(u64, u64)>::new());
            for (takes, size) in steps {
                if takes || used.is_empty() {
                    let offset = pages.take(size).unwrap_or_else(|| {
                        top += size;
                        top - size
                    });
                    prop_assert!(used.iter().all(|&(o, s)| offset + size <= o || o + s <= offset));
                    used.push((offset, size));
                } else {
                    let (offset, size) = used.swap_remove(size as usize % used.len());
                    pages.give(offset, size);
                }
                let held: u64 = used.iter().map(|(_, size)| size).sum();
                prop_assert_eq!(held + pages.0.values().sum::<u64>(), top);
            }
        }
    }
}
