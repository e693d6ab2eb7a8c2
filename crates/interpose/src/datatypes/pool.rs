// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for packed data: blocks of a power of two, kept for the next messages.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicUsize;

/// The smallest block is 2 to the power of this: a cache line, which is also their alignment.
const SMALLEST: u32 = 6;
const CLASSES: usize = (usize::BITS - SMALLEST) as usize;

/// Blocks of each class that nobody uses, as addresses.
static FREE: [Mutex<Vec<usize>>; CLASSES] = [const { Mutex::new(Vec::new()) }; CLASSES];
/// Bytes that are kept in `FREE`.
static KEPT: AtomicUsize = AtomicUsize::new(0);
/// Most of them.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes of all blocks, and the most that there were.
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Sets how many bytes are kept.
pub(super) fn limit(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
}

/// The most bytes that there were at a time.
pub(super) fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Memory of at least so many bytes.
pub(super) struct Temporary {
    address: NonNull<u8>,
    class: u32,
}

// SAFETY: it owns its memory, and nothing about that belongs to a thread.
unsafe impl Send for Temporary {}
// SAFETY: it hands out an address and nothing else.
unsafe impl Sync for Temporary {}

/// The class of the smallest block that has so many bytes, rounded up.
fn class_of(bytes: usize) -> u32 {
    let bits = usize::BITS - bytes.saturating_sub(1).leading_zeros();
    bits.saturating_sub(SMALLEST)
}

fn layout_of(class: u32) -> Layout {
    // SAFETY: both are powers of two, and `class_of` gives none above 2^62.
    unsafe { Layout::from_size_align_unchecked(1 << (class + SMALLEST), 1 << SMALLEST) }
}

impl Temporary {
    /// Memory of at least so many bytes, if there is as much.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let class = class_of(bytes);
        let free = FREE[class as usize].lock().ok();
        if let Some(address) = free.and_then(|mut free| free.pop()) {
            KEPT.fetch_sub(layout_of(class).size(), Relaxed);
            let address = std::ptr::with_exposed_provenance_mut(address);
            if let Some(address) = NonNull::new(address) {
                return Some(Self { address, class });
            }
        }
        let layout = layout_of(class);
        // SAFETY: a size that is not 0.
        let address = NonNull::new(unsafe { alloc(layout) })?;
        let all = ALLOCATED.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(all, Relaxed);
        Some(Self { address, class })
    }

    /// Where it begins.
    pub(super) fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let layout = layout_of(self.class);
        let kept = KEPT.fetch_add(layout.size(), Relaxed) + layout.size();
        if kept <= LIMIT.load(Relaxed)
            && let Ok(mut free) = FREE[self.class as usize].lock()
        {
            free.push(self.address.as_ptr().expose_provenance());
            return;
        }
        KEPT.fetch_sub(layout.size(), Relaxed);
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: allocated with this layout, and nobody else has it.
        unsafe { dealloc(self.address.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::{Temporary, class_of, layout_of, peak};

    #[test]
    fn blocks_are_rounded_up() {
        let size = |bytes| layout_of(class_of(bytes)).size();
        assert_eq!(
            [0, 1, 64, 65, 128, 4097].map(size),
            [64, 64, 64, 128, 128, 8192]
        );
    }

    /// The exchange of halos of TEMPI's unit test: the blocks of an iteration serve all iterations.
    #[test]
    fn blocks_serve_again() {
        let sizes = [(16, 2 << 20), (192, 32 << 10), (128, 256)];
        for _ in 0..100 {
            let all = sizes.iter().flat_map(|&(number, bytes)| {
                (0..number).filter_map(move |_| Temporary::new(bytes))
            });
            let all: Vec<Temporary> = all.collect();
            assert_eq!(all.len(), 336);
        }
        assert_eq!(peak(), 16 * (2 << 20) + 192 * (32 << 10) + 128 * 256);
    }
}
