// SPDX-License-Identifier: MIT OR Apache-2.0
//! Walks through the bytes of elements in packing order, for any range of the packed bytes.
//!
//! A walk meets *rows* (equally long runs at equal distances, which is what a nest has along its innermost dimension), and
//! where it can say more at once: lists of equal runs, records (a few runs repeated), and tiles (rows that lie inside each
//! other). The elements of a message are one more dimension around the form, so that many small elements cost what one big
//! one does.

use std::ops::Range;

use crate::copy::TILE;
use crate::form::{Block, Dimension, FEW, Form, MAX_DIMENSIONS, Members, Nest, Nests};
use crate::layout::Layout;
use crate::offsets::{Offsets, Part};

/// `count` runs of `bytes` bytes, `stride` bytes apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) offset: i64,
    pub(crate) bytes: usize,
    pub(crate) count: usize,
    pub(crate) stride: i64,
}

impl Row {
    pub(crate) const fn run(offset: i64, bytes: usize) -> Self {
        Self {
            offset,
            bytes,
            count: 1,
            stride: 0,
        }
    }
}

/// Receives the parts of a walk, in packing order.
pub(crate) trait Sink {
    /// A row.
    fn row(&mut self, row: Row);

    /// Runs of `bytes` bytes at these offsets from `at`.
    fn list(&mut self, at: i64, runs: Part<'_>, bytes: usize) {
        for offset in runs.iter() {
            self.row(Row::run(at.wrapping_add(offset), bytes));
        }
    }

    /// The runs of a list `count` times.
    fn lists(&mut self, at: i64, runs: Part<'_>, bytes: usize, count: usize, stride: i64) {
        for index in 0..count as i64 {
            self.list(at.wrapping_add(stride.wrapping_mul(index)), runs, bytes);
        }
    }

    /// The runs of `nests`, which have no dimensions, `count` times from `at` on.
    fn records(&mut self, at: i64, nests: &[Nest], count: usize, stride: i64) {
        for index in 0..count as i64 {
            let at = at.wrapping_add(stride.wrapping_mul(index));
            for nest in nests {
                self.row(Row::run(
                    at.wrapping_add(nest.block.offset),
                    nest.block.bytes,
                ));
            }
        }
    }

    /// `rows` rows, `distance` bytes apart.
    fn grid(&mut self, first: Row, rows: usize, distance: i64) {
        for index in 0..rows as i64 {
            let offset = first.offset.wrapping_add(distance.wrapping_mul(index));
            self.row(Row { offset, ..first });
        }
    }

    /// `rows` rows, `distance` bytes apart, less than the runs of a row are.
    fn tile(&mut self, first: Row, rows: usize, distance: i64) {
        self.grid(first, rows, distance);
    }
}

/// Gives some code the dimensions with one more around them, and room `N` for as many.
macro_rules! with_outer {
    ($inner:expr, $outer:expr, |$dimensions:ident| $code:expr) => {{
        let inner: &[Dimension] = $inner;
        if inner.len() < FEW {
            const N: usize = FEW;
            let mut all = [$outer; N];
            all[..inner.len()].copy_from_slice(inner);
            let $dimensions = &all[..=inner.len()];
            $code
        } else {
            const N: usize = MAX_DIMENSIONS;
            let mut all = [$outer; N];
            all[..inner.len()].copy_from_slice(inner);
            let $dimensions = &all[..=inner.len()];
            $code
        }
    }};
}
pub(crate) use with_outer;

impl Layout {
    /// The dimension that the elements of a message form: one extent apart, without end.
    pub const fn elements(&self) -> Dimension {
        Dimension {
            count: usize::MAX,
            stride: self.extent(),
            bytes: self.size(),
        }
    }

    /// Walks through the packed bytes `range` of any number of elements.
    pub(crate) fn walk(&self, range: Range<usize>, sink: &mut impl Sink) {
        if self.size() == 0 || range.is_empty() {
            return;
        }
        match &self.form {
            // One element that is a row, as MPI_Type_vector makes it, needs no position in dimensions.
            Form::Regular(nest) if range == (0..self.size()) && nest.dimensions.len() == 1 => {
                sink.row(Row {
                    offset: nest.block.offset,
                    bytes: nest.block.bytes,
                    count: nest.dimensions[0].count,
                    stride: nest.dimensions[0].stride,
                });
            }
            form => walk_form(form, self.elements(), 0, range, sink),
        }
    }
}

/// Rows of a form that `outer` repeats, `at` bytes further.
fn walk_form(form: &Form, outer: Dimension, at: i64, range: Range<usize>, sink: &mut impl Sink) {
    with_outer!(form.dimensions(), outer, |dimensions| {
        let mut odometer = Odometer::<N>::new(dimensions);
        odometer.offset = at;
        match form {
            Form::Regular(nest) => walk_nest(nest.block, odometer, range, sink),
            Form::List { offsets, bytes, .. } => walk_list(offsets, *bytes, odometer, range, sink),
            Form::Irregular { nests, .. } => walk_nests(nests, odometer, range, sink),
            Form::Compound { members, .. } => walk_members(members, odometer, range, sink),
        }
    });
}

/// Rows of members that are repeated along dimensions (at least one).
fn walk_members<const N: usize>(
    members: &Members,
    mut odometer: Odometer<'_, N>,
    range: Range<usize>,
    sink: &mut impl Sink,
) {
    let (mut index, mut within) = members.find(odometer.seek(range.start));
    let mut remaining = range.len();
    while remaining > 0 {
        let member = members.at(index);
        let bytes = (member.bytes - within).min(remaining);
        let once = Dimension {
            count: 1,
            stride: 0,
            bytes: member.bytes,
        };
        let at = odometer.offset.wrapping_add(member.offset);
        walk_form(&member.form, once, at, within..within + bytes, sink);
        remaining -= bytes;
        within = 0;
        index += 1;
        if index == members.count() {
            index = 0;
            odometer.advance(1);
        }
    }
}

/// Rows of nests that are repeated along dimensions (at least one).
fn walk_nests<const N: usize>(
    nests: &Nests,
    mut odometer: Odometer<'_, N>,
    range: Range<usize>,
    sink: &mut impl Sink,
) {
    let (mut index, mut within) = nests.find(odometer.seek(range.start));
    let mut remaining = range.len();
    let innermost = odometer.dimensions[0];
    while remaining > 0 {
        if nests.are_runs() && index == 0 && within == 0 && remaining >= innermost.bytes {
            let whole = (innermost.count - odometer.index[0]).min(remaining / innermost.bytes);
            sink.records(odometer.offset, nests, whole, innermost.stride);
            remaining -= whole * innermost.bytes;
            if remaining > 0 {
                odometer.advance(whole);
            }
            continue;
        }
        let nest = nests.at(index);
        let bytes = (nest.bytes() - within).min(remaining);
        nest_rows(nest, odometer.offset, within..within + bytes, sink);
        remaining -= bytes;
        within = 0;
        index += 1;
        if index == nests.count() {
            index = 0;
            odometer.advance(1);
        }
    }
}

/// The rows of one nest at offset `at`.
fn nest_rows(nest: &Nest, at: i64, range: Range<usize>, sink: &mut impl Sink) {
    let block = Block {
        offset: at.wrapping_add(nest.block.offset),
        ..nest.block
    };
    if nest.dimensions.is_empty() {
        sink.row(Row::run(block.offset + range.start as i64, range.len()));
    } else if nest.dimensions.len() <= FEW {
        walk_nest(block, Odometer::<FEW>::new(&nest.dimensions), range, sink);
    } else {
        let odometer = Odometer::<MAX_DIMENSIONS>::new(&nest.dimensions);
        walk_nest(block, odometer, range, sink);
    }
}

/// Runs of `bytes` bytes at these offsets, repeated along dimensions (at least one).
fn walk_list<const N: usize>(
    offsets: &Offsets,
    bytes: usize,
    mut odometer: Odometer<'_, N>,
    range: Range<usize>,
    sink: &mut impl Sink,
) {
    let within = odometer.seek(range.start);
    let (mut index, mut skip) = (within / bytes, within % bytes);
    let mut remaining = range.len();
    let innermost = odometer.dimensions[0];
    while remaining > 0 {
        if index == 0 && skip == 0 && remaining >= innermost.bytes {
            let whole = (innermost.count - odometer.index[0]).min(remaining / innermost.bytes);
            sink.lists(
                odometer.offset,
                offsets.whole(),
                bytes,
                whole,
                innermost.stride,
            );
            remaining -= whole * innermost.bytes;
            if remaining > 0 {
                odometer.advance(whole);
            }
            continue;
        }
        let whole = (offsets.len() - index).min(remaining / bytes);
        if skip > 0 || whole == 0 {
            let offset = odometer.offset.wrapping_add(offsets.get(index)) + skip as i64;
            let part = (bytes - skip).min(remaining);
            sink.row(Row::run(offset, part));
            remaining -= part;
            index += 1;
            skip = 0;
        } else {
            sink.list(odometer.offset, offsets.part(index, index + whole), bytes);
            remaining -= whole * bytes;
            index += whole;
        }
        if index == offsets.len() {
            index = 0;
            odometer.advance(1);
        }
    }
}

/// Longest run whose rows are worth a tile.
const TILE_RUN_BYTES: usize = 16;

/// Rows of a block repeated along dimensions (at least one).
fn walk_nest<const N: usize>(
    block: Block,
    mut odometer: Odometer<'_, N>,
    range: Range<usize>,
    sink: &mut impl Sink,
) {
    let dimensions = odometer.dimensions;
    let mut skip = odometer.seek(range.start);
    let mut remaining = range.len();
    let innermost = dimensions[0];
    let outer = dimensions.get(1).copied();
    let are_tiles = outer.is_some_and(|outer| {
        block.bytes <= TILE_RUN_BYTES
            && innermost.count >= TILE
            && outer.stride.unsigned_abs().saturating_mul(4) <= innermost.stride.unsigned_abs()
    });
    while remaining > 0 {
        let offset = block.offset.wrapping_add(odometer.offset) + skip as i64;
        let left = innermost.count - odometer.index[0];
        let whole = left.min(remaining / block.bytes);
        if skip > 0 || whole == 0 {
            let part = (block.bytes - skip).min(remaining);
            sink.row(Row::run(offset, part));
            remaining -= part;
            skip = 0;
            if remaining > 0 {
                odometer.advance(1);
            }
            continue;
        }
        let row = Row {
            offset,
            bytes: block.bytes,
            count: whole,
            stride: innermost.stride,
        };
        if let Some(outer) = outer
            && whole == innermost.count
        {
            let rows = (outer.count - odometer.index[1]).min(remaining / outer.bytes);
            if are_tiles {
                sink.tile(row, rows, outer.stride);
            } else {
                sink.grid(row, rows, outer.stride);
            }
            remaining -= rows * outer.bytes;
            if remaining > 0 {
                odometer.advance_outer(rows);
            }
            continue;
        }
        sink.row(row);
        remaining -= row.bytes * row.count;
        if remaining > 0 {
            odometer.advance(row.count);
        }
    }
}

/// A position in nested dimensions. Offsets are sums that may leave 63 bits until a block's own is added.
pub(crate) struct Odometer<'a, const N: usize> {
    pub(crate) dimensions: &'a [Dimension],
    pub(crate) index: [usize; N],
    pub(crate) offset: i64,
}

impl<'a, const N: usize> Odometer<'a, N> {
    #[inline(always)]
    pub(crate) fn new(dimensions: &'a [Dimension]) -> Self {
        Self {
            dimensions,
            index: [0; N],
            offset: 0,
        }
    }

    /// Goes to a packed position; gives how many bytes it lies inside the innermost repetition.
    pub(crate) fn seek(&mut self, position: usize) -> usize {
        let mut rest = position;
        for (dimension, index) in self.dimensions.iter().zip(&mut self.index).rev() {
            *index = rest / dimension.bytes;
            rest %= dimension.bytes;
            self.offset = step(self.offset, dimension, *index);
        }
        rest
    }

    /// Goes `steps` repetitions of the innermost dimension further, at most to its end; whether that is not the end of all.
    pub(crate) fn advance(&mut self, steps: usize) -> bool {
        self.advance_from(0, steps)
    }

    /// Goes `runs` repetitions of the innermost dimension further: to its end at most, or whole rows.
    pub(crate) fn advance_runs(&mut self, runs: usize) -> bool {
        let row = self.dimensions[0].count;
        if runs <= row {
            self.advance(runs)
        } else {
            self.advance_from(1, runs / row)
        }
    }

    /// Goes `steps` repetitions of the second dimension further, from the start of the innermost.
    fn advance_outer(&mut self, steps: usize) {
        self.advance_from(1, steps);
    }

    fn advance_from(&mut self, first: usize, steps: usize) -> bool {
        let mut steps = steps;
        for (dimension, index) in self.dimensions.iter().zip(&mut self.index).skip(first) {
            *index += steps;
            self.offset = step(self.offset, dimension, steps);
            if *index < dimension.count {
                return true;
            }
            self.offset = self
                .offset
                .wrapping_sub(dimension.stride.wrapping_mul(*index as i64));
            *index = 0;
            steps = 1;
        }
        false
    }
}

const fn step(offset: i64, dimension: &Dimension, steps: usize) -> i64 {
    offset.wrapping_add(dimension.stride.wrapping_mul(steps as i64))
}
