// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between laid-out memory and packed bytes, for any range of the packed bytes.
//!
//! Everything works on *rows*: equally long runs at equal distances, which is what a nest has along its innermost
//! dimension. The elements of a message are one more dimension around the form, so that many small elements cost what one
//! big one does.

use std::ops::Range;

use crate::form::{Block, Dimension, Form, MAX_DIMENSIONS, Nest};
use crate::layout::Layout;

/// `count` runs of `bytes` bytes, `stride` bytes apart.
#[derive(Clone, Copy, Debug)]
struct Row {
    offset: i64,
    bytes: usize,
    count: usize,
    stride: i64,
}

impl Layout {
    /// Packs the bytes `range` of the packed form of the elements at `base` into `target`.
    ///
    /// # Safety
    /// All bytes that the elements touched by `range` describe relative to `base` are readable, and `target` is writable
    /// for the length of `range` and does not overlap them.
    pub unsafe fn pack(&self, base: *const u8, range: Range<usize>, mut target: *mut u8) {
        self.for_each_row(range, &mut |row: Row| {
            // SAFETY: the row is part of the elements the caller vouches for; `target` advances by what was written.
            unsafe {
                let first = base.wrapping_offset(row.offset as isize);
                copy_row(first, row.stride, target, row.bytes as i64, row);
                target = target.add(row.bytes * row.count);
            }
        });
    }

    /// Unpacks `source` into the bytes `range` of the packed form of the elements at `base`.
    ///
    /// # Safety
    /// As for [`Layout::pack`], with the memory at `base` writable and `source` readable.
    pub unsafe fn unpack(&self, base: *mut u8, range: Range<usize>, mut source: *const u8) {
        self.for_each_row(range, &mut |row: Row| {
            // SAFETY: the row is part of the elements the caller vouches for; `source` advances by what was read.
            unsafe {
                let first = base.wrapping_offset(row.offset as isize);
                copy_row(source, row.bytes as i64, first, row.stride, row);
                source = source.add(row.bytes * row.count);
            }
        });
    }

    /// Calls `action` with the offset and length of each contiguous run in the packed bytes `range`, in packing order.
    pub fn for_each_run(&self, range: Range<usize>, mut action: impl FnMut(i64, usize)) {
        self.for_each_row(range, &mut |row: Row| {
            for index in 0..row.count as i64 {
                action(row.offset + row.stride * index, row.bytes);
            }
        });
    }

    fn for_each_row(&self, range: Range<usize>, action: &mut impl FnMut(Row)) {
        if self.size() == 0 || range.is_empty() {
            return;
        }
        let elements = Dimension {
            count: usize::MAX,
            stride: self.extent(),
            bytes: self.size(),
        };
        match &self.form {
            Form::Regular(nest) if nest.dimensions.len() < FEW => {
                walk_elements::<FEW>(nest, elements, range, action);
            }
            Form::Regular(nest) => walk_elements::<MAX_DIMENSIONS>(nest, elements, range, action),
            Form::Irregular {
                nests,
                packed_before,
                dimensions,
            } => {
                let nests = Nests {
                    nests,
                    packed_before,
                };
                if dimensions.len() < FEW {
                    nests.walk::<FEW>(dimensions, elements, range, action);
                } else {
                    nests.walk::<MAX_DIMENSIONS>(dimensions, elements, range, action);
                }
            }
        }
    }
}

/// The dimensions that nearly all types stay below: a position among so few is cheap to set up.
const FEW: usize = 4;

/// The rows of a nest that is repeated once per element.
fn walk_elements<const N: usize>(
    nest: &Nest,
    elements: Dimension,
    range: Range<usize>,
    action: &mut impl FnMut(Row),
) {
    let mut dimensions = [elements; N];
    let inner = nest.dimensions.len();
    dimensions[..inner].copy_from_slice(&nest.dimensions);
    walk::<N>(nest.block, &dimensions[..=inner], range, action);
}

/// The nests of an irregular form.
struct Nests<'a> {
    nests: &'a [Nest],
    packed_before: &'a [usize],
}

impl Nests<'_> {
    fn walk<const N: usize>(
        &self,
        outer: &[Dimension],
        elements: Dimension,
        range: Range<usize>,
        action: &mut impl FnMut(Row),
    ) {
        let mut dimensions = [elements; N];
        dimensions[..outer.len()].copy_from_slice(outer);
        let mut odometer = Odometer::<N>::new(&dimensions[..=outer.len()]);
        let mut within = odometer.seek(range.start);
        let mut remaining = range.len();
        let mut index = self.packed_before.partition_point(|&start| start <= within) - 1;
        within -= self.packed_before[index];
        while remaining > 0 {
            let nest = &self.nests[index];
            let bytes = (nest.bytes() - within).min(remaining);
            nest_rows(nest, odometer.offset, within..within + bytes, action);
            remaining -= bytes;
            within = 0;
            index += 1;
            if index == self.nests.len() {
                index = 0;
                odometer.advance(1);
            }
        }
    }
}

/// The rows of one nest at offset `at`.
fn nest_rows(nest: &Nest, at: i64, range: Range<usize>, action: &mut impl FnMut(Row)) {
    let block = Block {
        offset: at.wrapping_add(nest.block.offset),
        ..nest.block
    };
    if nest.dimensions.is_empty() {
        action(Row {
            offset: block.offset + range.start as i64,
            bytes: range.len(),
            count: 1,
            stride: 0,
        });
    } else if nest.dimensions.len() <= FEW {
        walk::<FEW>(block, &nest.dimensions, range, action);
    } else {
        walk::<MAX_DIMENSIONS>(block, &nest.dimensions, range, action);
    }
}

/// Rows of a block repeated along dimensions (at least one).
fn walk<const N: usize>(
    block: Block,
    dimensions: &[Dimension],
    range: Range<usize>,
    action: &mut impl FnMut(Row),
) {
    let mut odometer = Odometer::<N>::new(dimensions);
    let mut skip = odometer.seek(range.start);
    let mut remaining = range.len();
    let innermost = dimensions[0];
    while remaining > 0 {
        let offset = block.offset.wrapping_add(odometer.offset) + skip as i64;
        let whole = (innermost.count - odometer.index[0]).min(remaining / block.bytes);
        let row = if skip > 0 || whole == 0 {
            Row {
                offset,
                bytes: (block.bytes - skip).min(remaining),
                count: 1,
                stride: 0,
            }
        } else {
            Row {
                offset,
                bytes: block.bytes,
                count: whole,
                stride: innermost.stride,
            }
        };
        action(row);
        remaining -= row.bytes * row.count;
        skip = 0;
        if remaining > 0 {
            odometer.advance(row.count);
        }
    }
}

/// A position in at most `N` nested dimensions. Offsets are sums that may leave 63 bits until a block's own is added.
struct Odometer<'a, const N: usize> {
    dimensions: &'a [Dimension],
    index: [usize; N],
    offset: i64,
}

impl<'a, const N: usize> Odometer<'a, N> {
    fn new(dimensions: &'a [Dimension]) -> Self {
        Self {
            dimensions,
            index: [0; N],
            offset: 0,
        }
    }

    /// Goes to a packed position; gives how many bytes it lies inside the innermost repetition.
    fn seek(&mut self, position: usize) -> usize {
        let mut rest = position;
        for (dimension, index) in self.dimensions.iter().zip(&mut self.index).rev() {
            *index = rest / dimension.bytes;
            rest %= dimension.bytes;
            self.offset = step(self.offset, dimension, *index);
        }
        rest
    }

    /// Goes `steps` repetitions of the innermost dimension further, at most to its end.
    fn advance(&mut self, steps: usize) {
        let mut steps = steps;
        for (dimension, index) in self.dimensions.iter().zip(&mut self.index) {
            *index += steps;
            self.offset = step(self.offset, dimension, steps);
            if *index < dimension.count {
                return;
            }
            self.offset = self
                .offset
                .wrapping_sub(dimension.stride.wrapping_mul(*index as i64));
            *index = 0;
            steps = 1;
        }
    }
}

const fn step(offset: i64, dimension: &Dimension, steps: usize) -> i64 {
    offset.wrapping_add(dimension.stride.wrapping_mul(steps as i64))
}

/// Copies the runs of a row from one stride to another.
///
/// # Safety
/// Every run is readable at `source` and writable at `target`, at their strides, and they do not overlap.
#[inline]
unsafe fn copy_row(
    source: *const u8,
    source_stride: i64,
    target: *mut u8,
    target_stride: i64,
    row: Row,
) {
    // SAFETY: the caller's promise; each arm copies `row.bytes` bytes a run.
    unsafe {
        match row.bytes {
            1 => copy_words::<u8>(source, source_stride, target, target_stride, row.count),
            2 => copy_words::<u16>(source, source_stride, target, target_stride, row.count),
            4 => copy_words::<u32>(source, source_stride, target, target_stride, row.count),
            8 => copy_words::<u64>(source, source_stride, target, target_stride, row.count),
            16 => copy_words::<u128>(source, source_stride, target, target_stride, row.count),
            bytes => {
                for index in 0..row.count as i64 {
                    std::ptr::copy_nonoverlapping(
                        source.wrapping_offset((source_stride * index) as isize),
                        target.wrapping_offset((target_stride * index) as isize),
                        bytes,
                    );
                }
            }
        }
    }
}

/// Copies `count` words from one stride to another.
///
/// # Safety
/// As for [`copy_row`], with runs of the size of `T`.
#[inline(always)]
unsafe fn copy_words<T>(
    source: *const u8,
    source_stride: i64,
    target: *mut u8,
    target_stride: i64,
    count: usize,
) {
    for index in 0..count as i64 {
        let from = source
            .wrapping_offset((source_stride * index) as isize)
            .cast::<T>();
        let to = target
            .wrapping_offset((target_stride * index) as isize)
            .cast::<T>();
        // SAFETY: the caller's promise.
        unsafe { to.write_unaligned(from.read_unaligned()) };
    }
}
