// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies from one layout to another, without packed bytes in between.
//!
//! Both layouts are read as *patches*: rows of equal runs. Where patches of both sides have runs of one length, rows are copied
//! to rows; otherwise as many of the shorter runs as fit are packed into, or unpacked from, a longer one. Either way a loop
//! made for the width of the run does it. Compound forms are packed and unpacked a few kilobytes at a time. Layouts that are the same are walked once, with the same offsets on both sides.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::copy::{self, Grid, Strided};
use crate::form::{Dimension, FEW, Form, MAX_DIMENSIONS, Nest, Nests};
use crate::layout::Layout;
use crate::list;
use crate::offsets::{Offsets, Part};
use crate::walk::{Odometer, Row, Sink, with_outer};

impl Layout {
    /// Copies the bytes `range` of the packed form of the elements at `from` to the same bytes of the packed form of the
    /// elements of `target` at `to`: what packing and unpacking would do.
    ///
    /// # Safety
    /// All bytes that the elements touched by `range` describe are readable at `from` and writable at `to`, and no byte that
    /// is read is written.
    pub unsafe fn copy(&self, from: *const u8, target: &Self, to: *mut u8, range: Range<usize>) {
        if range.is_empty() || self.size() == 0 || target.size() == 0 {
            return;
        }
        // SAFETY: the caller's promise. Contiguous data are their own packed form.
        unsafe {
            if let Some(start) = target.contiguous_start(2) {
                let at = to.wrapping_offset(start as isize).wrapping_add(range.start);
                return self.pack(from, range, at);
            }
            if let Some(start) = self.contiguous_start(2) {
                let at = from
                    .wrapping_offset(start as isize)
                    .wrapping_add(range.start);
                return target.unpack(to, range, at);
            }
        }
        // Ranges of a few of the parts are not worth a comparison of all of them.
        let are_compared = range.len() >= self.size() || self.form.compares_at_once(&target.form);
        if are_compared && self.extent() == target.extent() && self.form == target.form {
            return self.walk(range, &mut Mirror { from, to });
        }
        let compound = |it: &Self| matches!(it.form, Form::Compound { .. });
        if compound(self) || compound(target) {
            // SAFETY: the caller's promise.
            return unsafe { self.copy_packed(from, target, to, range) };
        }
        let elements = (self.elements(), target.elements());
        let are_few = self.form.is_shallow() && target.form.is_shallow();
        with_outer!(self.form.dimensions(), elements.0, |mine| {
            with_outer!(target.form.dimensions(), elements.1, |theirs| {
                // SAFETY: the caller's promise.
                unsafe {
                    if are_few {
                        let reader = Reader::<FEW>::new(&self.form, mine, range.start);
                        let writer = Reader::new(&target.form, theirs, range.start);
                        between(reader, from, writer, to, range.len());
                    } else {
                        let reader = Reader::<MAX_DIMENSIONS>::new(&self.form, mine, range.start);
                        let writer = Reader::new(&target.form, theirs, range.start);
                        between(reader, from, writer, to, range.len());
                    }
                }
            });
        });
    }

    /// As [`Layout::copy`], through a few packed bytes in the processor's cache.
    ///
    /// # Safety
    /// As for [`Layout::copy`].
    unsafe fn copy_packed(&self, from: *const u8, target: &Self, to: *mut u8, range: Range<usize>) {
        let mut packed = [MaybeUninit::<u8>::uninit(); PACKED_BYTES];
        let packed = packed.as_mut_ptr().cast::<u8>();
        for start in range.clone().step_by(PACKED_BYTES) {
            let part = start..range.end.min(start + PACKED_BYTES);
            // SAFETY: the caller's promise; what is unpacked has just been packed, and there is room for it.
            unsafe {
                self.pack(from, part.clone(), packed);
                target.unpack(to, part, packed);
            }
        }
    }
}

/// Bytes that are packed at once where layouts are too different to be read as patches.
const PACKED_BYTES: usize = 8192;

/// Copies as many of the shorter runs as fit, or rows to rows, until `remaining` bytes are done.
///
/// # Safety
/// As for [`Layout::copy`].
unsafe fn between<const N: usize>(
    mut reader: Reader<'_, N>,
    from: *const u8,
    mut writer: Reader<'_, N>,
    to: *mut u8,
    mut remaining: usize,
) {
    while remaining > 0 {
        let (source, target) = (reader.patch(remaining), writer.patch(remaining));
        let start = (
            from.wrapping_offset(source.row.offset as isize).cast_mut(),
            to.wrapping_offset(target.row.offset as isize),
        );
        let strided = |start, row: Row| Strided {
            start,
            stride: row.stride as isize,
        };
        let rows = (strided(start.0, source.row), strided(start.1, target.row));
        let (widths, counts) = (
            (source.row.bytes, target.row.bytes),
            (source.row.count, target.row.count),
        );
        // SAFETY: the caller's promise; patches hold at most what remains, and what is copied lies in both.
        let done = unsafe {
            if widths.0 == widths.1 {
                let mut grid = Grid::row(widths.0, counts.0.min(counts.1));
                if counts.0 == counts.1 {
                    grid.rows = source.rows.min(target.rows);
                    grid.distances = (source.distance as isize, target.distance as isize);
                }
                copy::copy_grid(rows.0, rows.1, grid);
                grid.bytes * grid.count * grid.rows
            } else if widths.0 < widths.1 {
                let grid = source.inside(widths.1, |distance| (distance, 0));
                let bytes = grid.bytes * grid.count * grid.rows;
                copy::pack_grid(rows.0, start.1, start.1.add(bytes), grid);
                bytes
            } else {
                let grid = target.inside(widths.0, |distance| (0, distance));
                let bytes = grid.bytes * grid.count * grid.rows;
                copy::unpack_grid(start.0, start.0.add(bytes), rows.1, grid);
                bytes
            }
        };
        remaining -= done;
        if remaining > 0 {
            reader.advance(done);
            writer.advance(done);
        }
    }
}

/// Rows of equal runs that lie ahead.
#[derive(Clone, Copy)]
struct Patch {
    row: Row,
    /// Rows of as many runs, `distance` bytes apart.
    rows: usize,
    distance: i64,
}

impl Patch {
    /// As many of the runs as fit into one of `room` bytes, in whole rows if a row fits.
    fn inside(&self, room: usize, distances: impl Fn(isize) -> (isize, isize)) -> Grid {
        let runs = room / self.row.bytes;
        let rows = (runs / self.row.count).min(self.rows);
        let mut grid = Grid::row(self.row.bytes, self.row.count.min(runs));
        if rows > 1 {
            grid.rows = rows;
            grid.distances = distances(self.distance as isize);
        }
        grid
    }
}

/// A position in the packed bytes of elements, from which patches are read.
struct Reader<'a, const N: usize> {
    pieces: Pieces<'a>,
    /// Of the dimensions around the pieces.
    outer: Odometer<'a, N>,
    /// The piece, where there are several.
    index: usize,
    /// Inside the piece.
    inner: Odometer<'a, N>,
    /// Offset and bytes of the piece's first run.
    block: (i64, usize),
    /// Bytes of the run that lie behind.
    skip: usize,
}

/// What the dimensions around are around of.
#[derive(Clone, Copy)]
enum Pieces<'a> {
    /// One run, all of whose dimensions are those around.
    One,
    Nests(&'a Nests),
    Runs(&'a Offsets, usize),
}

impl<'a, const N: usize> Reader<'a, N> {
    fn new(form: &'a Form, dimensions: &'a [Dimension], position: usize) -> Self {
        let mut outer = Odometer::new(dimensions);
        let within = outer.seek(position);
        let mut reader = Self {
            pieces: Pieces::One,
            outer,
            index: 0,
            inner: Odometer::new(&[]),
            block: (0, 0),
            skip: 0,
        };
        match form {
            Form::Regular(nest) => {
                reader.block = (nest.block.offset, nest.block.bytes);
                reader.skip = within;
            }
            Form::List { offsets, bytes, .. } => {
                reader.pieces = Pieces::Runs(offsets, *bytes);
                reader.enter(within / bytes, within % bytes);
            }
            Form::Compound { .. } => unreachable!("Layout::copy packs compound forms"),
            Form::Irregular { nests, .. } => {
                reader.pieces = Pieces::Nests(nests);
                let (index, within) = nests.find(within);
                reader.enter(index, within);
            }
        }
        reader
    }

    /// Goes to a byte of a piece; from the last piece to the first of the next repetition.
    fn enter(&mut self, index: usize, within: usize) {
        self.index = index;
        self.skip = within;
        match self.pieces {
            Pieces::One => {}
            Pieces::Nests(nests) => {
                if self.index == nests.count() {
                    self.index = 0;
                    self.outer.advance(1);
                }
                let nest = nests.at(self.index);
                self.block = (nest.block.offset, nest.block.bytes);
                self.inner = Odometer::new(&nest.dimensions);
                self.skip = self.inner.seek(within);
            }
            Pieces::Runs(offsets, bytes) => {
                if self.index == offsets.len() {
                    self.index = 0;
                    self.outer.advance(1);
                }
                self.block = (offsets.get(self.index), bytes);
            }
        }
    }

    /// The dimensions along which the run here is repeated without a break.
    fn along(&self) -> &Odometer<'a, N> {
        match self.pieces {
            Pieces::One => &self.outer,
            _ => &self.inner,
        }
    }

    /// What lies ahead, at most `most` bytes.
    fn patch(&self, most: usize) -> Patch {
        let (start, bytes) = self.block;
        let offset = self
            .outer
            .offset
            .wrapping_add(self.inner.offset)
            .wrapping_add(start)
            .wrapping_add(self.skip as i64);
        let here = (bytes - self.skip).min(most);
        let mut patch = Patch {
            row: Row::run(offset, here),
            rows: 1,
            distance: 0,
        };
        let along = self.along();
        let Some(first) = along.dimensions.first() else {
            return patch;
        };
        if here < bytes {
            return patch;
        }
        patch.row.count = (first.count - along.index[0]).min(most / bytes);
        patch.row.stride = first.stride;
        if patch.row.count == first.count
            && let Some(second) = along.dimensions.get(1)
        {
            patch.rows = (second.count - along.index[1]).min(most / second.bytes);
            patch.distance = second.stride;
        }
        patch
    }

    /// Goes over `bytes` bytes of the patch that lies ahead.
    fn advance(&mut self, bytes: usize) {
        let whole = self.block.1;
        let along = match self.pieces {
            Pieces::One => &mut self.outer,
            _ => &mut self.inner,
        };
        if self.skip > 0 || bytes < whole {
            self.skip += bytes;
            if self.skip < whole {
                return;
            }
            self.skip = 0;
            if !along.dimensions.is_empty() && along.advance(1) {
                return;
            }
        } else {
            // A patch is left in the middle of a run only where that is the first.
            if !along.dimensions.is_empty() && along.advance_runs(bytes / whole) {
                return;
            }
        }
        if !matches!(self.pieces, Pieces::One) {
            self.enter(self.index + 1, 0);
        }
    }
}

/// Copies what a walk meets to the same offsets from another base.
struct Mirror {
    from: *const u8,
    to: *mut u8,
}

impl Mirror {
    fn strided(&self, offset: i64, stride: i64) -> (Strided, Strided) {
        let at = |base: *mut u8| Strided {
            start: base.wrapping_offset(offset as isize),
            stride: stride as isize,
        };
        (at(self.from.cast_mut()), at(self.to))
    }
}

impl Sink for Mirror {
    fn row(&mut self, row: Row) {
        self.grid(row, 1, 0);
    }

    fn grid(&mut self, first: Row, rows: usize, distance: i64) {
        let (from, to) = self.strided(first.offset, first.stride);
        let grid = Grid {
            rows,
            distances: (distance as isize, distance as isize),
            ..Grid::row(first.bytes, first.count)
        };
        // SAFETY: what a walk of Layout::copy meets is readable and writable.
        unsafe { copy::copy_grid(from, to, grid) };
    }

    fn list(&mut self, at: i64, runs: Part<'_>, bytes: usize) {
        let (from, to) = self.strided(at, 0);
        // SAFETY: as for rows.
        unsafe { list::copy(from.start, to.start, runs, bytes) };
    }

    fn records(&mut self, at: i64, nests: &[Nest], count: usize, stride: i64) {
        for index in 0..count as i64 {
            let at = at.wrapping_add(stride.wrapping_mul(index));
            for nest in nests {
                let (from, to) = self.strided(at.wrapping_add(nest.block.offset), 0);
                // SAFETY: as for rows.
                unsafe { copy::run(from.start, to.start, nest.block.bytes) };
            }
        }
    }
}
