// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of many bytes that lie together.

use std::ptr;

/// Bytes from which on a copy is worth the start of a string move.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LONG: usize = 4 << 10;
/// Bytes beyond which it is left to the C library, which knows when to go past the caches.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const VERY_LONG: usize = 256 << 10;
/// A string move whose target begins less than this behind its source, as places in a page, is slow on some processors.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const BEHIND: usize = 64;
#[cfg(all(target_arch = "x86_64", not(miri)))]
const PAGE: usize = 4 << 10;
/// Bytes of a cache line.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LINE: usize = 64;

/// Copies `bytes` bytes, which may overlap, from `source` to `target`, of which another core may have used either.
///
/// A string move takes lines that it writes whole without fetching what they held. Stores of vectors fetch them first, and
/// into memory that another core has just read that takes three times as long (128 KiB one way: 43 GB/s and 27). The C
/// library does the one or the other, depending on its version.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes.
#[inline]
pub unsafe fn copy_bytes(source: *const u8, target: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if (LONG..=VERY_LONG).contains(&bytes)
        && std::arch::is_x86_feature_detected!("ermsb")
        && is_straight(source as usize, target as usize, bytes)
    {
        // SAFETY: the caller's promise; the two do not overlap, by the condition above, and the direction flag is clear
        // wherever compiled code runs.
        unsafe {
            std::arch::asm!(
                "rep movsb",
                inout("rcx") bytes => _,
                inout("rsi") source => _,
                inout("rdi") target => _,
                options(nostack, preserves_flags),
            );
        }
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { ptr::copy(source, target, bytes) };
}

/// Whether a string move is right and fast: no overlap, and not just behind in a page.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const fn is_straight(source: usize, target: usize, bytes: usize) -> bool {
    let behind = target.wrapping_sub(source);
    let is_apart = behind >= bytes && source.wrapping_sub(target) >= bytes;
    is_apart && !matches!(behind % PAGE, 1..BEHIND)
}

/// Copies bytes past the caches, where the processor can: a line that is written whole is not read first. [`settle`] orders them before what
/// is written later.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes; they do not overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub unsafe fn copy_past_caches(source: *const u8, target: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    const PART: usize = size_of::<__m128i>();

    let head = target.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    // SAFETY: `head`, whole lines and the rest are `bytes` bytes together; the lines of the target are aligned; every processor of this
    // architecture has these instructions.
    unsafe {
        std::ptr::copy_nonoverlapping(source, target, head);
        let (from, to) = (source.add(head), target.add(head));
        for line in 0..lines {
            let (from, to) = (from.add(line * LINE), to.add(line * LINE));
            let parts: [__m128i; LINE / PART] =
                std::array::from_fn(|part| _mm_loadu_si128(from.add(part * PART).cast()));
            for (part, value) in parts.into_iter().enumerate() {
                _mm_stream_si128(to.add(part * PART).cast(), value);
            }
        }
        let done = lines * LINE;
        std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - head - done);
    }
}

/// The same on other processors.
///
/// # Safety
/// As above.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub unsafe fn copy_past_caches(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
}

/// Orders what [`copy_past_caches`] wrote before all that this core writes from now on.
#[inline]
pub fn settle() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every processor of this architecture has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::{copy_bytes, copy_past_caches};

    #[test]
    fn all_lengths_and_distances_are_copied_and_nothing_beside_them() {
        let numbered = |at: usize| (at * 31 % 251) as u8;
        // The interpreter takes minutes for the long ones, and moves no strings.
        let longest = if cfg!(miri) { 4097 } else { 262_145 };
        let lengths = [0, 1, 63, 4095, 4096, 4097, 65536, 262_144, 262_145];
        for bytes in lengths.into_iter().filter(|&bytes| bytes <= longest) {
            let source: Vec<u8> = (0..bytes).map(numbered).collect();
            for shift in [0, 1, 63, 64, 4000] {
                let mut target = vec![0xaa; bytes + shift + 1];
                // SAFETY: both are as long as said.
                unsafe { copy_bytes(source.as_ptr(), target.as_mut_ptr().add(shift), bytes) };
                assert_eq!(target[shift..shift + bytes], source);
                assert!(target[..shift].iter().all(|&byte| byte == 0xaa));
                assert_eq!(target[shift + bytes], 0xaa);
            }
        }
    }

    #[test]
    fn what_overlaps_is_moved() {
        const BYTES: usize = 10_000;
        for (from, to) in [(0, 100), (100, 0), (0, 9_999), (7, 7)] {
            let mut memory: Vec<u8> = (0..2 * BYTES).map(|at| (at % 241) as u8).collect();
            let expected = memory[from..from + BYTES].to_vec();
            let base = memory.as_mut_ptr();
            // SAFETY: both lie inside the memory.
            unsafe { copy_bytes(base.add(from), base.add(to), BYTES) };
            assert_eq!(memory[to..to + BYTES], expected);
        }
    }

    #[test]
    fn what_goes_past_the_caches_arrives_wherever_it_begins_and_ends() {
        let source: Vec<u8> = (0..700_u32).map(|index| (index * 7 % 251) as u8).collect();
        for skip in 0..70 {
            for bytes in [0, 1, 15, 63, 64, 65, 128, 200, 500] {
                let mut target = vec![0xee_u8; 700];
                // SAFETY: both have room for `skip + bytes` bytes.
                unsafe {
                    copy_past_caches(
                        source.as_ptr().add(skip / 3),
                        target.as_mut_ptr().add(skip),
                        bytes,
                    );
                }
                assert_eq!(
                    target[skip..skip + bytes],
                    source[skip / 3..skip / 3 + bytes]
                );
                assert!(
                    target[..skip]
                        .iter()
                        .chain(&target[skip + bytes..])
                        .all(|&byte| byte == 0xee)
                );
            }
        }
    }
}
