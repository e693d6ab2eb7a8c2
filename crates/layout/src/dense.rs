// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short runs at small distances: a line of memory is loaded whole, and a mask says which of its bytes count.
//!
//! Runs that repeat every few bytes look the same again after a few lines, so the masks of those lines are made once. Packing
//! compresses what each mask selects and stores a whole line of it, of which the next one overwrites the end. Unpacking
//! expands as many packed bytes, and stores only the bytes of the mask: what lies between runs belongs to others, who may be
//! writing it.
#![cfg(target_arch = "x86_64")]

use std::arch::asm;
use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_compress_epi8,
    _mm512_maskz_expand_epi8, _mm512_storeu_si512,
};

use crate::form::{Block, Nest};
use crate::isa;

/// Bytes that are handled at once.
const LINE: usize = 64;
/// Most lines after which a pattern begins again.
const MOST_LINES: usize = 32;
/// Lines below which it is not worth while to make masks.
const LEAST_LINES: usize = 8;
/// Runs from which on others are as fast.
const LONG_RUN: usize = 16;
/// Longest distance of runs: two of them in a line.
const FAR: usize = LINE / 2;

/// Which bytes of some lines belong to runs.
pub(crate) struct Pattern {
    masks: [u64; MOST_LINES],
    /// After so many lines it begins again.
    lines: usize,
    /// Bytes of memory, and of runs, from one repetition to the next.
    unit: usize,
    unit_packed: usize,
    /// Where the last run of a repetition ends.
    end: usize,
}

/// Whether rows of such runs are copied this way.
pub(crate) fn fits_row(bytes: usize, stride: i64, count: usize) -> bool {
    let Ok(stride) = usize::try_from(stride) else {
        return false;
    };
    bytes < LONG_RUN
        && stride > bytes
        && stride <= FAR
        && fits(stride, count)
        && isa::has_byte_masks()
}

/// Whether repetitions of such records are copied this way: their runs lie in the order of memory, none inside the next
/// repetition, and as close that handling each costs more.
pub(crate) fn fits_records(nests: &[Nest], stride: i64, count: usize) -> bool {
    let Ok(stride) = usize::try_from(stride) else {
        return false;
    };
    if !fits(stride, count) || nests.len() * LINE < stride || !isa::has_byte_masks() {
        return false;
    }
    let first = nests[0].block.offset;
    let mut end = first;
    for nest in nests {
        let block = nest.block;
        if block.offset < end {
            return false;
        }
        // Blocks of a type lie within 63 bits.
        end = block.offset + block.bytes as i64;
    }
    end.abs_diff(first) <= stride as u64
}

/// Whether units of so many bytes repeat after few lines, and fill enough of them.
fn fits(unit: usize, count: usize) -> bool {
    unit > 0
        && lines_of(unit) <= MOST_LINES
        && count
            .checked_mul(unit)
            .is_some_and(|bytes| bytes >= LEAST_LINES * LINE)
}

/// Lines after which units of so many bytes begin with a line again.
const fn lines_of(unit: usize) -> usize {
    let shift = unit.trailing_zeros();
    let line = LINE.trailing_zeros();
    unit >> if shift < line { shift } else { line }
}

impl Pattern {
    /// Of runs of `bytes` bytes, if [`fits_row`].
    pub(crate) fn row(bytes: usize, stride: i64) -> Self {
        let run = Block { offset: 0, bytes };
        Self::new(std::iter::once(run), stride as usize)
    }

    /// Of records, from the first byte of the first run on, if [`fits_records`].
    pub(crate) fn records(nests: &[Nest], stride: i64) -> Self {
        let first = nests[0].block.offset;
        let from_first = |nest: &Nest| Block {
            offset: nest.block.offset - first,
            ..nest.block
        };
        Self::new(nests.iter().map(from_first), stride as usize)
    }

    fn new(runs: impl Iterator<Item = Block> + Clone, unit: usize) -> Self {
        let lines = lines_of(unit);
        let mut masks = [0; MOST_LINES];
        let (mut unit_packed, mut end) = (0, 0);
        for run in runs.clone() {
            unit_packed += run.bytes;
            end = run.offset as usize + run.bytes;
        }
        for start in (0..lines * LINE).step_by(unit) {
            for run in runs.clone() {
                select(&mut masks, start + run.offset as usize, run.bytes);
            }
        }
        Self {
            masks,
            lines,
            unit,
            unit_packed,
            end,
        }
    }

    /// The whole lines of memory in `count` repetitions: what lies behind the last run is not touched.
    const fn lines_in(&self, count: usize) -> usize {
        ((count - 1) * self.unit + self.end) / LINE
    }

    /// The repetitions that end in so many lines, and their packed bytes.
    const fn in_lines(&self, lines: usize) -> (usize, usize) {
        let units = lines * LINE / self.unit;
        (units, units * self.unit_packed)
    }

    /// Packs most of `count` repetitions from `from` on to `target`, whose room ends at `end`. How many repetitions are
    /// packed, and their packed bytes; what comes behind them in the target may have been written.
    ///
    /// # Safety
    /// The repetitions are readable, and `target` is writable up to `end`. The pattern [fits](fits_row).
    pub(crate) unsafe fn pack(
        &self,
        from: *const u8,
        target: *mut u8,
        end: *mut u8,
        count: usize,
    ) -> (usize, usize) {
        let room = end as usize - target as usize;
        // SAFETY: the processor can (it fits); lines end before the last run does, and stores end in the room.
        let lines = unsafe { self.pack_lines(from, target, room, self.lines_in(count)) };
        self.in_lines(lines)
    }

    /// Unpacks most of `count` repetitions to `to` and on, from `source`, which ends at `end`. How many repetitions are
    /// unpacked, and their packed bytes.
    ///
    /// # Safety
    /// The repetitions are writable, and `source` is readable up to `end`. The pattern [fits](fits_row).
    pub(crate) unsafe fn unpack(
        &self,
        source: *const u8,
        end: *const u8,
        to: *mut u8,
        count: usize,
    ) -> (usize, usize) {
        let room = end as usize - source as usize;
        // SAFETY: the processor can (it fits); loads end in the room, and only bytes of runs are stored.
        let lines = unsafe { self.unpack_lines(source, room, to, self.lines_in(count)) };
        self.in_lines(lines)
    }

    /// Packs `lines` lines as far as there is room for whole ones; how many that were.
    ///
    /// # Safety
    /// The lines are readable at `from`, and `room` bytes are writable at `target`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    unsafe fn pack_lines(
        &self,
        from: *const u8,
        target: *mut u8,
        room: usize,
        lines: usize,
    ) -> usize {
        self.for_lines(lines, room, |line, at, mask| {
            // SAFETY: the caller's promise; there is room.
            unsafe {
                let whole: __m512i = _mm512_loadu_si512(from.add(line * LINE).cast());
                let packed = _mm512_maskz_compress_epi8(mask, whole);
                _mm512_storeu_si512(target.add(at).cast(), packed);
            }
        })
    }

    /// Unpacks `lines` lines as far as there is room for whole ones; how many that were.
    ///
    /// # Safety
    /// `room` bytes are readable at `source`; the bytes of the masks are writable in the lines.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    unsafe fn unpack_lines(
        &self,
        source: *const u8,
        room: usize,
        to: *mut u8,
        lines: usize,
    ) -> usize {
        self.for_lines(lines, room, |line, at, mask| {
            // SAFETY: the caller's promise; there is room, and bytes outside the mask are not touched.
            unsafe {
                let packed = in_register(_mm512_loadu_si512(source.add(at).cast()));
                let whole = _mm512_maskz_expand_epi8(mask, packed);
                _mm512_mask_storeu_epi8(to.add(line * LINE).cast(), mask, whole);
            }
        })
    }

    /// Calls `action` with each of `lines` lines, the place of its packed bytes, and its mask, as long as a whole line at that
    /// place lies in `room`; how many that were.
    #[inline(always)]
    fn for_lines(&self, lines: usize, room: usize, action: impl Fn(usize, usize, u64)) -> usize {
        let Some(room) = room.checked_sub(LINE) else {
            return 0;
        };
        if self.lines == 1 {
            let (mask, each) = (self.masks[0], self.masks[0].count_ones() as usize);
            let lines = lines.min(room / each + 1);
            for line in 0..lines {
                action(line, line * each, mask);
            }
            return lines;
        }
        let masks = &self.masks[..self.lines];
        let round = self.lines * LINE / self.unit * self.unit_packed;
        let (mut line, mut at) = (0, 0);
        for _ in 0..(lines / self.lines).min(room / round) {
            for &mask in masks {
                action(line, at, mask);
                line += 1;
                at += mask.count_ones() as usize;
            }
        }
        for &mask in masks.iter().take(lines - line) {
            if at > room {
                break;
            }
            action(line, at, mask);
            line += 1;
            at += mask.count_ones() as usize;
        }
        line
    }
}

/// Adds the bytes of a run, as far as they lie in lines that are there.
fn select(masks: &mut [u64], start: usize, bytes: usize) {
    let (mut at, end) = (start, start + bytes);
    while at < end {
        let (line, first) = (at / LINE, at % LINE);
        let here = (LINE - first).min(end - at);
        masks[line] |= (u64::MAX >> (LINE - here)) << first;
        at += here;
    }
}

/// The same value, which the compiler takes for loaded: expanding from memory takes more than twice as long on AMD's
/// processors, and it would join the two.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_register(value: __m512i) -> __m512i {
    let mut value = value;
    // SAFETY: no instruction at all.
    unsafe {
        asm!("/* {0} */", inout(zmm_reg) value, options(pure, nomem, nostack, preserves_flags));
    }
    value
}
