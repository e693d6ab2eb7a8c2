// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies past the caches.
//!
//! What a collective brings to all ranks of a machine can be more than its caches hold. Each line of it that is written through a cache
//! is first read from memory, and drives out what is still to be read, such as the memory that members share. Written past the
//! caches it costs memory one transfer instead of two, and the rest stays where it is.
#![expect(unsafe_code, reason = "instructions of the processor")]

use std::sync::OnceLock;

use fabric::os;

use super::primitives::Block;

/// Where the system does not tell how large its caches are.
const USUAL_CACHE_BYTES: usize = 32 << 20;
/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// How received data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ThroughCaches,
    PastCaches,
}

impl Way {
    /// For an operation in which the members on this machine give and get so many bytes in all.
    pub(super) fn of(moved_bytes: usize) -> Self {
        static CACHE_BYTES: OnceLock<usize> = OnceLock::new();
        let cache = CACHE_BYTES.get_or_init(|| os::cache_bytes().unwrap_or(USUAL_CACHE_BYTES));
        // Tests go both ways without moving that much.
        if moved_bytes >= if cfg!(test) { 64 << 10 } else { *cache } {
            Self::PastCaches
        } else {
            Self::ThroughCaches
        }
    }

    /// As [`Block::unpack_range`].
    pub(super) fn unpack_range(self, block: &Block, start: usize, source: &[u8]) {
        if self == Self::ThroughCaches {
            return block.unpack_range(start, source);
        }
        let memory = block.memory();
        let bytes = source.len().min(memory.bytes.saturating_sub(start));
        match memory.layout {
            // SAFETY: the block is writable while the collective runs (Block::new), and `source` is memory that the members share.
            None => unsafe { stream(source.as_ptr(), memory.base.add(start), bytes) },
            Some(_) => block.unpack_range(start, source),
        }
    }

    /// Orders what was written past the caches before all that is written from now on.
    pub(super) fn settle(self) {
        #[cfg(target_arch = "x86_64")]
        if self == Self::PastCaches {
            // SAFETY: every processor of this architecture has it.
            unsafe { std::arch::x86_64::_mm_sfence() };
        }
    }
}

/// Copies bytes past the caches, where the processor can.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes; they do not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(source: *const u8, target: *mut u8, bytes: usize) {
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
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_past_the_caches_arrives_wherever_it_begins_and_ends() {
        let source: Vec<u8> = (0..700_u32).map(|index| (index * 7 % 251) as u8).collect();
        for skip in 0..70 {
            for bytes in [0, 1, 15, 63, 64, 65, 128, 200, 500] {
                let mut target = vec![0xee_u8; 700];
                // SAFETY: both have room for `skip + bytes` bytes.
                unsafe {
                    stream(
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
