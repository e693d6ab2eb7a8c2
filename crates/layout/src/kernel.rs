// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between laid-out memory and packed bytes, for any range of the packed bytes.

use std::ops::Range;

use crate::copy::{self, Grid, Strided};
#[cfg(target_arch = "x86_64")]
use crate::dense;
use crate::form::Nest;
use crate::layout::Layout;
use crate::list;
use crate::offsets::Part;
use crate::walk::{Row, Sink};

impl Layout {
    /// Packs the bytes `range` of the packed form of the elements at `base` into `target`.
    ///
    /// # Safety
    /// All bytes that the elements touched by `range` describe relative to `base` are readable, and `target` is writable
    /// for the length of `range` and does not overlap them.
    pub unsafe fn pack(&self, base: *const u8, range: Range<usize>, target: *mut u8) {
        let length = range.len();
        // SAFETY: the end of what the caller promises.
        let end = unsafe { target.add(length) };
        self.walk(range, &mut Packer { base, target, end });
    }

    /// Unpacks `source` into the bytes `range` of the packed form of the elements at `base`.
    ///
    /// # Safety
    /// As for [`Layout::pack`], with the memory at `base` writable and `source` readable.
    pub unsafe fn unpack(&self, base: *mut u8, range: Range<usize>, source: *const u8) {
        let length = range.len();
        // SAFETY: the end of what the caller promises.
        let end = unsafe { source.add(length) };
        self.walk(range, &mut Unpacker { base, source, end });
    }

    /// Calls `action` with the offset and length of each contiguous run in the packed bytes `range`, in packing order.
    pub fn for_each_run(&self, range: Range<usize>, action: impl FnMut(i64, usize)) {
        self.walk(range, &mut Runs(action));
    }
}

/// Rows like `first`, `distances` bytes apart.
const fn grid(first: Row, rows: usize, distances: (isize, isize)) -> Grid {
    Grid {
        bytes: first.bytes,
        count: first.count,
        rows,
        distances,
    }
}

struct Runs<F>(F);

impl<F: FnMut(i64, usize)> Sink for Runs<F> {
    fn row(&mut self, row: Row) {
        for index in 0..row.count as i64 {
            (self.0)(row.offset + row.stride * index, row.bytes);
        }
    }
}

/// Invariant: the walk meets `end - target` bytes more, all readable at `base` (Layout::pack).
struct Packer {
    base: *const u8,
    target: *mut u8,
    end: *mut u8,
}

impl Packer {
    const fn at(&self, offset: i64) -> *const u8 {
        self.base.wrapping_offset(offset as isize)
    }
}

impl Sink for Packer {
    fn row(&mut self, row: Row) {
        let from = Strided {
            start: self.at(row.offset).cast_mut(),
            stride: row.stride as isize,
        };
        // SAFETY: the invariant; `target` advances by what was written.
        unsafe {
            copy::pack_row(from, self.target, self.end, row.bytes, row.count);
            self.target = self.target.add(row.bytes * row.count);
        }
    }

    fn list(&mut self, at: i64, runs: Part<'_>, bytes: usize) {
        // SAFETY: as for a row.
        unsafe {
            list::pack(self.at(at), runs, self.target, bytes);
            self.target = self.target.add(bytes * runs.len());
        }
    }

    fn records(&mut self, at: i64, nests: &[Nest], count: usize, stride: i64) {
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_mut, reason = "SIMD does some")
        )]
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        if dense::fits_records(nests, stride, count) {
            let pattern = dense::Pattern::records(nests, stride);
            let first = self.at(at.wrapping_add(nests[0].block.offset));
            // SAFETY: as for a row.
            unsafe {
                let packed;
                (done, packed) = pattern.pack(first, self.target, self.end, count);
                self.target = self.target.add(packed);
            }
        }
        for index in done as i64..count as i64 {
            let element = self.at(at.wrapping_add(stride.wrapping_mul(index)));
            for nest in nests {
                // SAFETY: as for a row.
                unsafe {
                    let from = element.wrapping_offset(nest.block.offset as isize);
                    copy::run(from, self.target, nest.block.bytes);
                    self.target = self.target.add(nest.block.bytes);
                }
            }
        }
    }

    fn grid(&mut self, first: Row, rows: usize, distance: i64) {
        let from = Strided {
            start: self.at(first.offset).cast_mut(),
            stride: first.stride as isize,
        };
        // SAFETY: as for a row, row by row.
        unsafe {
            let shape = grid(first, rows, (distance as isize, 0));
            copy::pack_grid(from, self.target, self.end, shape);
            self.target = self.target.add(first.bytes * first.count * rows);
        }
    }

    fn tile(&mut self, first: Row, rows: usize, distance: i64) {
        let row_bytes = first.bytes * first.count;
        let mut done = 0;
        while done < rows {
            let now = copy::TILE.min(rows - done);
            let start = first.offset.wrapping_add(distance * done as i64);
            let from = Strided {
                start: self.at(start).cast_mut(),
                stride: first.stride as isize,
            };
            let to = Strided {
                start: self.target,
                stride: first.bytes as isize,
            };
            let distances = (distance as isize, row_bytes as isize);
            let square = grid(first, now, distances);
            // SAFETY: as for `now` rows, one after the other in the target.
            unsafe {
                copy::tile(from, to, square);
                self.target = self.target.add(row_bytes * now);
            }
            done += now;
        }
    }
}

/// Invariant: the walk meets `end - source` bytes more, all writable at `base` (Layout::unpack).
struct Unpacker {
    base: *mut u8,
    source: *const u8,
    end: *const u8,
}

impl Unpacker {
    const fn at(&self, offset: i64) -> *mut u8 {
        self.base.wrapping_offset(offset as isize)
    }
}

impl Sink for Unpacker {
    fn row(&mut self, row: Row) {
        let to = Strided {
            start: self.at(row.offset),
            stride: row.stride as isize,
        };
        // SAFETY: the invariant; `source` advances by what was read.
        unsafe {
            copy::unpack_row(self.source, self.end, to, row.bytes, row.count);
            self.source = self.source.add(row.bytes * row.count);
        }
    }

    fn list(&mut self, at: i64, runs: Part<'_>, bytes: usize) {
        // SAFETY: as for a row.
        unsafe {
            list::unpack(self.source, self.at(at), runs, bytes);
            self.source = self.source.add(bytes * runs.len());
        }
    }

    fn records(&mut self, at: i64, nests: &[Nest], count: usize, stride: i64) {
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_mut, reason = "SIMD does some")
        )]
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        if dense::fits_records(nests, stride, count) {
            let pattern = dense::Pattern::records(nests, stride);
            let first = self.at(at.wrapping_add(nests[0].block.offset));
            // SAFETY: as for a row.
            unsafe {
                let packed;
                (done, packed) = pattern.unpack(self.source, self.end, first, count);
                self.source = self.source.add(packed);
            }
        }
        for index in done as i64..count as i64 {
            let element = self.at(at.wrapping_add(stride.wrapping_mul(index)));
            for nest in nests {
                // SAFETY: as for a row.
                unsafe {
                    let to = element.wrapping_offset(nest.block.offset as isize);
                    copy::run(self.source, to, nest.block.bytes);
                    self.source = self.source.add(nest.block.bytes);
                }
            }
        }
    }

    fn grid(&mut self, first: Row, rows: usize, distance: i64) {
        let to = Strided {
            start: self.at(first.offset),
            stride: first.stride as isize,
        };
        // SAFETY: as for a row, row by row.
        unsafe {
            let shape = grid(first, rows, (0, distance as isize));
            copy::unpack_grid(self.source, self.end, to, shape);
            self.source = self.source.add(first.bytes * first.count * rows);
        }
    }

    fn tile(&mut self, first: Row, rows: usize, distance: i64) {
        let row_bytes = first.bytes * first.count;
        let mut done = 0;
        while done < rows {
            let now = copy::TILE.min(rows - done);
            let start = first.offset.wrapping_add(distance * done as i64);
            let from = Strided {
                start: self.source.cast_mut(),
                stride: first.bytes as isize,
            };
            let to = Strided {
                start: self.at(start),
                stride: first.stride as isize,
            };
            let distances = (row_bytes as isize, distance as isize);
            let square = grid(first, now, distances);
            // SAFETY: as for `now` rows, one after the other in the source.
            unsafe {
                copy::tile(from, to, square);
                self.source = self.source.add(row_bytes * now);
            }
            done += now;
        }
    }
}
