// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random layouts, and what packing them gives.

use std::ops::Range;

use layout::{ArrayOrder, Layout, Slice};

/// Numbers that look random.
pub(crate) struct Numbers {
    state: u64,
    /// Lengths and distances are multiples of 16.
    is_coarse: bool,
}

impl Numbers {
    pub(crate) const fn new(state: u64) -> Self {
        Self {
            state,
            is_coarse: false,
        }
    }

    const fn least(&self) -> usize {
        if self.is_coarse { 16 } else { 1 }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.state >> 33) as usize % limit
    }

    /// Part of `0..length`, often all of it.
    pub(crate) fn range(&mut self, length: usize) -> Range<usize> {
        if length == 0 || self.below(3) == 0 {
            return 0..length;
        }
        let start = self.below(length);
        start..start + 1 + self.below(length - start)
    }

    fn basic(&mut self) -> Layout {
        let size = [1i64, 2, 4, 8, 16, 12, 24, 16, 32][self.below(9)];
        let size = up(size, self.least() as i64) as usize;
        Layout::contiguous(size, &Layout::named(1, 1)).expect("a few bytes")
    }

    /// A layout whose bytes do not lie on each other, so that unpacking gives one result.
    pub(crate) fn layout(&mut self) -> Layout {
        self.is_coarse = self.below(4) == 0;
        let mut layout = self.basic();
        for _ in 0..self.below(4) {
            layout = self.around(&layout);
        }
        layout
    }

    /// Something made of copies of a layout that do not touch each other's bytes.
    fn around(&mut self, old: &Layout) -> Layout {
        let span = old.true_extent().max(1);
        // Distances with and without common powers of two.
        let grain = [1, 2, 4, 8, 16][self.below(5)].max(self.least() as i64);
        let gap = |numbers: &mut Self| up(span + numbers.below(40) as i64, grain);
        let made = match self.below(6) {
            0 => {
                let (count, stride) = (1 + self.below(9), gap(self));
                Layout::hvector(count, 1, stride, old)
            }
            1 => Layout::hvector(1 + self.below(9), 1, -gap(self), old),
            2 => {
                let (mut at, pieces) = (self.below(64) as i64, 1 + self.below(12));
                let offsets: Vec<i64> = (0..pieces)
                    .map(|_| {
                        at += gap(self);
                        at
                    })
                    .collect();
                Layout::hindexed(offsets.into_iter().map(|at| (at, 1)), old)
            }
            3 => {
                let parts: Vec<Layout> = (0..1 + self.below(3)).map(|_| self.basic()).collect();
                let mut at = gap(self) - old.true_lower_bound();
                let mut pieces = vec![(at, 1, old)];
                at += old.true_lower_bound() + span;
                for part in &parts {
                    at = up(at + self.below(9) as i64, grain);
                    pieces.push((at, 1, part));
                    at += part.true_extent();
                }
                Layout::structure(pieces)
            }
            4 => {
                let element = old
                    .resized(old.true_lower_bound(), gap(self))
                    .expect("small");
                let slices: Vec<Slice> = (0..1 + self.below(3))
                    .map(|_| {
                        let size = 1 + self.below(6);
                        let subsize = 1 + self.below(size);
                        let start = self.below(size - subsize + 1);
                        Slice {
                            size,
                            subsize,
                            start,
                        }
                    })
                    .collect();
                Layout::subarray(&slices, ArrayOrder::C, &element)
            }
            _ => {
                let (lines, columns) = (2 + self.below(6), 2 + self.below(6));
                let stride = gap(self);
                let line = Layout::repeated(lines, stride * columns as i64, old);
                line.and_then(|line| Layout::repeated(columns, stride, &line))
            }
        };
        let made = made.expect("a small layout");
        // Elements of a message lie beside each other, too.
        let extent = made.true_extent() + self.below(3) as i64 * grain;
        made.resized(made.true_lower_bound(), extent)
            .expect("small")
    }
}

/// The next multiple.
fn up(value: i64, of: i64) -> i64 {
    value + (-value).rem_euclid(of)
}

/// A byte that depends on its place.
pub(crate) fn pattern(place: usize) -> u8 {
    (place.wrapping_mul(2_654_435_761) >> 7) as u8
}

/// `range` of the packed bytes of elements at `base` in `memory`, by the processor's kernels, which have tests of their own.
pub(crate) fn packed(layout: &Layout, memory: &[u8], base: i64, range: Range<usize>) -> Vec<u8> {
    let mut target = vec![0; range.len()];
    let base = memory.as_ptr().wrapping_offset(base as isize);
    // SAFETY: the caller's memory covers the layout's span.
    unsafe { layout.pack(base, range, target.as_mut_ptr()) };
    target
}

/// `source` unpacked into `range` of elements at `base` in `memory`.
pub(crate) fn unpack(
    layout: &Layout,
    memory: &mut [u8],
    base: i64,
    range: Range<usize>,
    source: &[u8],
) {
    let base = memory.as_mut_ptr().wrapping_offset(base as isize);
    // SAFETY: the caller's memory covers the layout's span.
    unsafe { layout.unpack(base, range, source.as_ptr()) };
}
