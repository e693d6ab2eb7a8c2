// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cutting the memory that an operation names at its target into requests.

use std::ops::Range;

use super::wire::{MOST_RUNS, Span};
use crate::datatype::Shape;
use crate::errors::Result;
use crate::rma::granule::Granule;
use crate::rma::target::Place;

/// Most bytes that one request is about, unless they are one run: more would fill up the target's memory.
pub(super) const MOST_BYTES: usize = 256 << 10;
/// Runs of so many bytes have requests of their own, so that their data need no copy.
const LONG_RUN: u64 = 32 << 10;

/// What is in a run: elements of `bytes` packed bytes at a distance of `extent`.
#[derive(Clone, Copy)]
struct Unit {
    bytes: u64,
    extent: u64,
}

/// Bytes as they are.
const BYTES: Unit = Unit {
    bytes: 1,
    extent: 1,
};

/// Collects runs until they fill a request.
struct Cutter<F> {
    runs: Vec<Span>,
    /// The packed bytes that the runs are about.
    range: Range<usize>,
    unit: Unit,
    emit: F,
    outcome: Result<()>,
}

impl<F: FnMut(&[Span], Range<usize>) -> Result<()>> Cutter<F> {
    const fn new(unit: Unit, emit: F) -> Self {
        Self {
            runs: Vec::new(),
            range: 0..0,
            unit,
            emit,
            outcome: Ok(()),
        }
    }

    fn emit(&mut self) {
        if !self.runs.is_empty() && self.outcome.is_ok() {
            self.outcome = (self.emit)(&self.runs, self.range.clone());
        }
        self.runs.clear();
        self.range.start = self.range.end;
    }

    fn append(&mut self, offset: u64, bytes: u64) {
        self.range.end += bytes as usize;
        if let Some(last) = self.runs.last_mut() {
            let after = last.bytes / self.unit.bytes * self.unit.extent;
            if last.offset.wrapping_add(after) == offset {
                last.bytes += bytes;
                return;
            }
        }
        self.runs.push(Span { offset, bytes });
    }

    /// Adds a run that may have a request of its own.
    fn add_whole(&mut self, offset: u64, bytes: u64) {
        if bytes < LONG_RUN {
            return self.add(offset, bytes);
        }
        self.emit();
        self.append(offset, bytes);
        self.emit();
    }

    /// Adds a run, cut between elements where a request is full.
    fn add(&mut self, mut offset: u64, mut bytes: u64) {
        while bytes > 0 {
            let room = (MOST_BYTES - self.range.len()) as u64;
            let fits = bytes.min(room / self.unit.bytes * self.unit.bytes);
            if fits > 0 {
                self.append(offset, fits);
                offset = offset.wrapping_add(fits / self.unit.bytes * self.unit.extent);
                bytes -= fits;
            }
            if bytes > 0 || self.runs.len() == MOST_RUNS {
                self.emit();
            }
        }
    }

    fn finish(mut self) -> Result<()> {
        self.emit();
        self.outcome
    }
}

/// Where the elements' base address is in the target's window.
fn base_of(place: &Place<'_>) -> u64 {
    (place.base as u64).wrapping_sub(place.target.base as u64)
}

/// Calls `emit` for each request with its runs and the packed bytes that they stand for.
pub(super) fn cut(
    place: &Place<'_>,
    mut emit: impl FnMut(&[Span], Range<usize>) -> Result<()>,
) -> Result<()> {
    if place.bytes == 0 {
        return Ok(());
    }
    let base = base_of(place);
    if let Some(start) = place.layout.contiguous_start(place.count) {
        let offset = base.wrapping_add_signed(start);
        let bytes = place.bytes as u64;
        if place.target.granule == Granule::Any {
            return emit(&[Span { offset, bytes }], 0..place.bytes);
        }
        // The target copies all data, so they come in parts.
        let mut cutter = Cutter::new(BYTES, emit);
        cutter.add(offset, bytes);
        return cutter.finish();
    }
    let mut cutter = Cutter::new(BYTES, emit);
    place.layout.for_each_run(0..place.bytes, |offset, bytes| {
        cutter.add_whole(base.wrapping_add_signed(offset), bytes as u64);
    });
    cutter.finish()
}

/// As [`cut`] between elements of a basic type, of which the place consists. A run is the packed length of elements that lie one behind
/// the other.
pub(super) fn cut_elements(
    place: &Place<'_>,
    shape: Shape,
    emit: impl FnMut(&[Span], Range<usize>) -> Result<()>,
) -> Result<()> {
    let (base, size) = (base_of(place), shape.size());
    let unit = Unit {
        bytes: size as u64,
        extent: shape.extent() as u64,
    };
    let mut cutter = Cutter::new(unit, emit);
    if unit.bytes == unit.extent
        && let Some(start) = place.layout.contiguous_start(place.count)
    {
        cutter.add(base.wrapping_add_signed(start), place.bytes as u64);
        return cutter.finish();
    }
    let (mut inside, mut first) = (0, 0);
    place
        .layout
        .for_each_run(0..place.bytes, |mut offset, mut bytes| {
            if inside == 0 && unit.bytes == unit.extent {
                let whole = bytes / size * size;
                cutter.add(base.wrapping_add_signed(offset), whole as u64);
                offset += whole as i64;
                bytes -= whole;
            }
            // Elements with padding come in parts.
            while bytes > 0 {
                if inside == 0 {
                    first = offset;
                }
                let part = bytes.min(size - inside);
                (inside, offset, bytes) = (inside + part, offset + part as i64, bytes - part);
                if inside == size {
                    inside = 0;
                    cutter.add(base.wrapping_add_signed(first), size as u64);
                }
            }
        });
    cutter.finish()
}
