// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between a cell and memory, without a call or a loop.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

// account: fabric

use std::hint::cold_path;
use std::ptr::NonNull;

use super::{INJECT_WORDS, PAYLOAD_LINE};
use sys::sync::AtomicU64;
#[cfg(loom)]
use sys::sync::Ordering;

/// Stores `bytes` bytes at `source` into a cell's data.
///
/// # Safety
/// `source` is readable for `bytes` bytes, `bytes <= INJECT_BYTES`, and nobody else touches the cell's data meanwhile.
#[cfg(not(loom))]
#[inline(always)]
pub(super) unsafe fn store_data(
    words: &[AtomicU64; INJECT_WORDS],
    source: *const u8,
    bytes: usize,
) {
    // SAFETY: the caller makes `source` readable for `bytes <= INJECT_BYTES` bytes; atomics may be
    // written through a shared reference, and the caller excludes races.
    unsafe { copy_small(source, words.as_ptr().cast_mut().cast(), bytes) };
}

/// Copies a cell's data to `target`.
///
/// # Safety
/// `target` is writable for `bytes` bytes, `bytes <= INJECT_BYTES`, and the cell is published and not consumed.
#[cfg(not(loom))]
#[inline(always)]
pub(super) unsafe fn load_data(words: &[AtomicU64; INJECT_WORDS], target: *mut u8, bytes: usize) {
    // SAFETY: the caller makes `target` writable for `bytes <= INJECT_BYTES` bytes, and the cell is
    // published and not consumed, so nobody writes it.
    unsafe { copy_small(words.as_ptr().cast(), target, bytes) };
}

/// [`store_data`] for the model checker, which must see every access: word by word.
///
/// # Safety
/// As above.
#[cfg(loom)]
pub(super) unsafe fn store_data(
    words: &[AtomicU64; INJECT_WORDS],
    source: *const u8,
    bytes: usize,
) {
    let mut data = [0u64; INJECT_WORDS];
    // SAFETY: the caller makes `source` readable for `bytes <= INJECT_BYTES` bytes; `data` holds them.
    unsafe { copy_small(source, data.as_mut_ptr().cast(), bytes) };
    for (word, &value) in words.iter().zip(&data).take(bytes.div_ceil(8)) {
        word.store(value, Ordering::Relaxed);
    }
}

/// [`load_data`] for the model checker.
///
/// # Safety
/// As above.
#[cfg(loom)]
pub(super) unsafe fn load_data(words: &[AtomicU64; INJECT_WORDS], target: *mut u8, bytes: usize) {
    let mut data = [0u64; INJECT_WORDS];
    for (value, word) in data.iter_mut().zip(words).take(bytes.div_ceil(8)) {
        *value = word.load(Ordering::Relaxed);
    }
    // SAFETY: the caller makes `target` writable for `bytes <= INJECT_BYTES` bytes; `data` holds them.
    unsafe { copy_small(data.as_ptr().cast(), target, bytes) };
}

/// Copies up to [`super::INJECT_BYTES`] bytes without a call or a loop: two overlapping parts cover any length of their class.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes, `bytes <= INJECT_BYTES`, and they do not overlap.
#[inline(always)]
unsafe fn copy_small(source: *const u8, target: *mut u8, bytes: usize) {
    /// Copies one part at `offset`.
    #[inline(always)]
    unsafe fn part<T: Copy>(source: *const u8, target: *mut u8, offset: usize) {
        // SAFETY: the caller chooses an offset at which a `T` lies inside both memories.
        unsafe {
            target
                .add(offset)
                .cast::<T>()
                .write_unaligned(source.add(offset).cast::<T>().read_unaligned());
        }
    }
    // SAFETY: each part lies inside the `bytes` bytes by the branch in which it stands.
    unsafe {
        // Comparisons, not a match: a jump table costs more than the most frequent lengths need. Doubles and 64-bit integers first:
        // without the hint the compiler would sort the lengths.
        if bytes == 8 {
            part::<u64>(source, target, 0);
            return;
        }
        cold_path();
        if bytes == 4 {
            part::<u32>(source, target, 0);
        } else if bytes == 1 {
            part::<u8>(source, target, 0);
        } else if bytes >= 16 {
            part::<[u64; 2]>(source, target, 0);
            if bytes > 32 {
                part::<[u64; 2]>(source, target, 16);
            }
            part::<[u64; 2]>(source, target, bytes - 16);
        } else if bytes > 8 {
            part::<u64>(source, target, 0);
            part::<u64>(source, target, bytes - 8);
        } else if bytes > 4 {
            part::<u32>(source, target, 0);
            part::<u32>(source, target, bytes - 4);
        } else if bytes != 0 {
            part::<u16>(source, target, 0);
            part::<u8>(source, target, bytes - 1);
        }
    }
}

/// Longest chunk whose lines are demoted, in bytes: each line costs the sender time.
const HANDED_OVER: usize = 512;

/// Tells the processor that another core reads the `bytes` bytes at `target` next. A processor with
/// `cldemote` moves their lines to the cache that the cores share, where the other core finds them
/// sooner; on others the instruction does nothing.
#[inline]
pub fn hand_over(target: NonNull<u8>, bytes: usize) {
    if bytes > HANDED_OVER {
        return;
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut line = 0;
        while line < bytes {
            // SAFETY: a hint; it changes no memory and never faults.
            unsafe {
                std::arch::asm!(
                    "cldemote [{}]",
                    in(reg) target.as_ptr().wrapping_add(line),
                    options(nostack, preserves_flags),
                );
            }
            line += PAYLOAD_LINE as usize;
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = target;
}
