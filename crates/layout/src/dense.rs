// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of 1, 2, 4 and 8 bytes at small distances: a line of memory is loaded whole, and a mask says which of its bytes count.
#![cfg(target_arch = "x86_64")]

use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_compress_epi8,
    _mm512_maskz_expand_epi8, _mm512_storeu_si512,
};

use crate::copy::Strided;
use crate::isa;

/// Bytes that are handled at once.
const LINE: usize = 64;
/// Runs below which it is not worth while.
const LEAST: usize = 128;

/// Whether this is the way for such runs.
fn fits(bytes: usize, widest: usize, stride: isize, count: usize) -> bool {
    let stride = stride as usize;
    bytes.is_power_of_two()
        && bytes <= widest
        && stride > bytes
        && stride <= 8 * bytes.min(4)
        && LINE.is_multiple_of(stride)
        && count >= LEAST
        && isa::has_byte_masks()
}

/// Whether such rows are packed by whole lines.
pub(crate) fn packs(bytes: usize, stride: isize, count: usize) -> bool {
    fits(bytes, 8, stride, count)
}

/// Whether such rows are unpacked by whole lines.
pub(crate) fn unpacks(bytes: usize, stride: isize, count: usize) -> bool {
    fits(bytes, 2, stride, count)
}

/// The bytes of a line that belong to runs.
const fn mask(bytes: usize, stride: usize) -> u64 {
    let run = (1u64 << bytes) - 1;
    let mut mask = 0;
    let mut at = 0;
    while at < LINE {
        mask |= run << at;
        at += stride;
    }
    mask
}

/// Packs most of the runs; the number of runs that are done.
///
/// # Safety
/// As for [`crate::copy::pack_row`].
pub(crate) unsafe fn pack(
    from: Strided,
    target: *mut u8,
    end: *mut u8,
    bytes: usize,
    count: usize,
) -> usize {
    if !packs(bytes, from.stride, count) {
        return 0;
    }
    let stride = from.stride as usize;
    let each = LINE / stride;
    // A line reaches beyond its last run; the last runs are left to others. A whole line is stored each time.
    let lines = (count - 1) / each;
    let room = (end as usize - target as usize).saturating_sub(LINE) / (each * bytes) + 1;
    let lines = lines.min(room);
    // SAFETY: the processor can; lines end before the last run begins, and stores end at `end`.
    unsafe { pack_lines(from.start, target, mask(bytes, stride), each * bytes, lines) };
    lines * each
}

/// # Safety
/// `lines` lines are readable at `from`, and `lines - 1` times `bytes` bytes and a line are writable at `target`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
unsafe fn pack_lines(from: *const u8, target: *mut u8, mask: u64, bytes: usize, lines: usize) {
    for index in 0..lines {
        // SAFETY: the caller's promise.
        unsafe {
            let line: __m512i = _mm512_loadu_si512(from.add(index * LINE).cast());
            let packed = _mm512_maskz_compress_epi8(mask, line);
            _mm512_storeu_si512(target.add(index * bytes).cast(), packed);
        }
    }
}

/// Unpacks most of the runs; the number of runs that are done.
///
/// # Safety
/// As for [`crate::copy::unpack_row`].
pub(crate) unsafe fn unpack(
    source: *const u8,
    end: *const u8,
    to: Strided,
    bytes: usize,
    count: usize,
) -> usize {
    if !unpacks(bytes, to.stride, count) {
        return 0;
    }
    let stride = to.stride as usize;
    let each = LINE / stride;
    let lines = (count - 1) / each;
    let room = (end as usize - source as usize).saturating_sub(LINE) / (each * bytes) + 1;
    let lines = lines.min(room);
    // SAFETY: the processor can; loads end at `end`, and only bytes of runs are stored.
    unsafe { unpack_lines(source, to.start, mask(bytes, stride), each * bytes, lines) };
    lines * each
}

/// # Safety
/// `lines - 1` times `bytes` bytes and a line are readable at `source`; the bytes of the mask are writable in `lines` lines.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
unsafe fn unpack_lines(source: *const u8, to: *mut u8, mask: u64, bytes: usize, lines: usize) {
    for index in 0..lines {
        // SAFETY: the caller's promise; bytes outside the mask are not touched.
        unsafe {
            let packed: __m512i = _mm512_loadu_si512(source.add(index * bytes).cast());
            let line = _mm512_maskz_expand_epi8(mask, packed);
            _mm512_mask_storeu_epi8(to.add(index * LINE).cast(), mask, line);
        }
    }
}
