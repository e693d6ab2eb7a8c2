// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offsets of a list of equal runs, in two or four bytes each.
//!
//! Runs come in chunks. A chunk keeps the lowest offset of its runs, and each of them its distance from that, in units of
//! which all distances of the list are multiples (1, 2, 4 or 8 bytes): 16 bits reach half a megabyte of doubles, 31 bits 16
//! gigabytes, and the few lists that are wider within a chunk keep whole offsets. All chunks of a list have one width, so that
//! the offset of any run is found at once. What is kept depends on the offsets alone: equal lists are equal tables, wherever
//! the first run lies.

use std::fmt;
use std::sync::Arc;

use crate::error::{LayoutError, Result};
#[cfg(target_arch = "x86_64")]
use crate::isa;
use crate::visits::visit;

/// Runs with one base.
const CHUNK: usize = 256;

/// The largest unit, as a power of two: what an address takes as a factor.
const MAX_SHIFT: u32 = 3;

/// Offsets in bytes from the base address, in packing order. Copies share a table.
#[derive(Clone)]
pub struct Offsets {
    /// Of the first run; the table is relative to it.
    first: i64,
    table: Arc<Table>,
}

#[derive(PartialEq, Eq)]
struct Table {
    /// The lowest offset of each chunk.
    bases: Vec<i64>,
    /// Distances are in units of two to this power.
    shift: u32,
    distances: Distances,
}

/// Distances of runs from the base of their chunk.
#[derive(PartialEq, Eq)]
enum Distances {
    Short(Vec<u16>),
    /// Below 2^31: signed indices of gathers.
    Long(Vec<u32>),
    /// In bytes. Differences that wrap belong to types that are refused with their bounds.
    Whole(Vec<i64>),
}

/// Distances of neighbouring runs from one base.
#[derive(Clone, Copy)]
pub(crate) enum Near<'a> {
    Short(&'a [u16]),
    Long(&'a [u32]),
    Whole(&'a [i64]),
}

impl Near<'_> {
    pub(crate) const fn len(self) -> usize {
        match self {
            Self::Short(all) => all.len(),
            Self::Long(all) => all.len(),
            Self::Whole(all) => all.len(),
        }
    }
}

/// A distance as it is kept.
pub(crate) trait Distance: Copy {
    /// In bytes.
    fn bytes(self, shift: u32) -> isize;
}

impl Distance for u16 {
    #[inline(always)]
    fn bytes(self, shift: u32) -> isize {
        (usize::from(self) << shift) as isize
    }
}

impl Distance for u32 {
    #[inline(always)]
    fn bytes(self, shift: u32) -> isize {
        ((self as usize) << shift) as isize
    }
}

impl Distance for i64 {
    #[inline(always)]
    fn bytes(self, _: u32) -> isize {
        self as isize
    }
}

impl Offsets {
    /// A table of these offsets.
    ///
    /// # Errors
    /// When it does not fit into memory.
    pub(crate) fn new(all: &[i64]) -> Result<Self> {
        #[cfg(target_arch = "x86_64")]
        if isa::has_avx2() {
            // SAFETY: the processor has AVX2.
            return unsafe { Self::new_avx2(all) };
        }
        Self::new_anywhere(all)
    }

    /// # Safety
    /// The processor has the instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn new_avx2(all: &[i64]) -> Result<Self> {
        Self::new_anywhere(all)
    }

    /// Four times as fast with AVX2, which compares words of 64 bits.
    #[inline(always)]
    fn new_anywhere(all: &[i64]) -> Result<Self> {
        let first = all.first().copied().unwrap_or(0);
        let mut bases = room(all.len().div_ceil(CHUNK))?;
        let (mut bits, mut widest) = (0u64, 0u64);
        for chunk in all.chunks(CHUNK) {
            let (mut low, mut high) = (i64::MAX, i64::MIN);
            for &offset in chunk {
                (low, high) = (low.min(offset), high.max(offset));
                bits |= offset.wrapping_sub(first) as u64;
            }
            bases.push(low.wrapping_sub(first));
            widest = widest.max(high.abs_diff(low));
        }
        let shift = bits.trailing_zeros().min(MAX_SHIFT);
        let table = Table {
            distances: Distances::new(all, first, &bases, widest >> shift, shift)?,
            shift,
            bases,
        };
        Ok(Self {
            first,
            table: Arc::new(table),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.table.distances.near(0, usize::MAX).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset of a run.
    ///
    /// # Panics
    /// When there is no such run.
    pub fn get(&self, index: usize) -> i64 {
        visit(1);
        let table = &self.table;
        let base = self.first.wrapping_add(table.bases[index / CHUNK]);
        let distance = match &table.distances {
            Distances::Short(all) => all[index].bytes(table.shift),
            Distances::Long(all) => all[index].bytes(table.shift),
            Distances::Whole(all) => all[index].bytes(table.shift),
        };
        base.wrapping_add(distance as i64)
    }

    /// All of them, in packing order.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Bytes that each takes, but for eight more every few hundred.
    pub fn bytes_each(&self) -> usize {
        match self.table.distances {
            Distances::Short(_) => size_of::<u16>(),
            Distances::Long(_) => size_of::<u32>(),
            Distances::Whole(_) => size_of::<i64>(),
        }
    }

    /// The same runs `by` bytes further; `None` if that is no place.
    pub(crate) fn moved(&self, by: i64) -> Option<Self> {
        Some(Self {
            first: self.first.checked_add(by)?,
            table: self.table.clone(),
        })
    }

    /// Whether both are the same runs, perhaps at another place.
    pub(crate) fn share_table_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
    }

    /// The runs from `first` on to before `end`.
    pub(crate) const fn part(&self, first: usize, end: usize) -> Part<'_> {
        Part {
            offsets: self,
            first,
            end,
        }
    }

    /// All runs.
    pub(crate) fn whole(&self) -> Part<'_> {
        self.part(0, self.len())
    }
}

impl PartialEq for Offsets {
    fn eq(&self, other: &Self) -> bool {
        let are_equal = || {
            visit(self.len());
            self.table == other.table
        };
        self.first == other.first && (self.share_table_with(other) || are_equal())
    }
}

impl Eq for Offsets {}

impl fmt::Debug for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Distances {
    /// Of offsets from the bases of their chunks, which are relative to `first`; none is more than `widest` units.
    #[inline(always)]
    fn new(all: &[i64], first: i64, bases: &[i64], widest: u64, shift: u32) -> Result<Self> {
        let bases = || bases.iter().map(|base| base.wrapping_add(first));
        Ok(if widest <= u64::from(u16::MAX) {
            Self::Short(from_bases(all, bases(), |bytes| {
                (bytes as u64 >> shift) as u16
            })?)
        } else if widest <= u64::from(u32::MAX >> 1) {
            Self::Long(from_bases(all, bases(), |bytes| {
                (bytes as u64 >> shift) as u32
            })?)
        } else {
            Self::Whole(from_bases(all, bases(), |bytes| bytes)?)
        })
    }

    /// Those from `first` on to before `end`, as far as there are.
    fn near(&self, first: usize, end: usize) -> Near<'_> {
        match self {
            Self::Short(all) => Near::Short(&all[first..end.min(all.len())]),
            Self::Long(all) => Near::Long(&all[first..end.min(all.len())]),
            Self::Whole(all) => Near::Whole(&all[first..end.min(all.len())]),
        }
    }
}

/// The distance of each offset from the base of its chunk, as it is kept.
#[inline(always)]
fn from_bases<D>(
    all: &[i64],
    bases: impl Iterator<Item = i64>,
    keep: impl Fn(i64) -> D,
) -> Result<Vec<D>> {
    let mut kept = room(all.len())?;
    for (chunk, base) in all.chunks(CHUNK).zip(bases) {
        kept.extend(chunk.iter().map(|offset| keep(offset.wrapping_sub(base))));
    }
    Ok(kept)
}

fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(count) {
        Ok(()) => Ok(room),
        Err(_) => Err(LayoutError::TooManyBlocks),
    }
}

/// Some neighbouring runs of a list.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    offsets: &'a Offsets,
    first: usize,
    end: usize,
}

impl<'a> Part<'a> {
    pub(crate) const fn len(&self) -> usize {
        self.end - self.first
    }

    /// What distances are multiples of, as a power of two.
    pub(crate) fn shift(&self) -> u32 {
        self.offsets.table.shift
    }

    /// The runs that have one base each: its offset, and their distances from it.
    pub(crate) fn chunks(self) -> impl Iterator<Item = (i64, Near<'a>)> {
        let (table, mut next) = (&*self.offsets.table, self.first);
        std::iter::from_fn(move || {
            if next >= self.end {
                return None;
            }
            let (here, chunk) = (next, next / CHUNK);
            next = self.end.min((chunk + 1) * CHUNK);
            visit(next - here);
            let base = self.offsets.first.wrapping_add(table.bases[chunk]);
            Some((base, table.distances.near(here, next)))
        })
    }

    /// The offset of each run.
    pub(crate) fn iter(self) -> impl Iterator<Item = i64> {
        (self.first..self.end).map(|index| self.offsets.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a table, compares all that it says with the offsets, and gives the bytes of each.
    fn check(all: &[i64]) -> usize {
        let offsets = Offsets::new(all).unwrap();
        assert_eq!(offsets.len(), all.len());
        assert!(offsets.iter().eq(all.iter().copied()));
        let ends = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, all.len() - 1, all.len()];
        let ends = ends.map(|end| end.min(all.len()));
        for (first, end) in ends.iter().flat_map(|&a| ends.map(|b| (a, b))) {
            if first > end {
                continue;
            }
            let part = offsets.part(first, end);
            let mut found = Vec::new();
            for (base, near) in part.chunks() {
                let at = |bytes: isize| base.wrapping_add(bytes as i64);
                match near {
                    Near::Short(all) => {
                        found.extend(all.iter().map(|it| at(it.bytes(part.shift()))))
                    }
                    Near::Long(all) => {
                        found.extend(all.iter().map(|it| at(it.bytes(part.shift()))))
                    }
                    Near::Whole(all) => {
                        found.extend(all.iter().map(|it| at(it.bytes(part.shift()))))
                    }
                }
            }
            assert_eq!(found, all[first..end]);
            assert!(part.iter().eq(found));
        }
        let by = -1_000_003;
        let moved = offsets.moved(by).unwrap();
        assert!(moved.iter().eq(all.iter().map(|at| at + by)));
        let there: Vec<i64> = all.iter().map(|at| at + by).collect();
        assert_eq!(moved, Offsets::new(&there).unwrap());
        assert_ne!(moved, offsets);
        offsets.bytes_each()
    }

    /// Offsets in units of so many bytes, less than `span` units apart, in no order.
    fn spread(count: usize, unit: i64, span: i64) -> Vec<i64> {
        let mut random = 7u64;
        (0..count)
            .map(|_| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) as i64 % span * unit - 5 * unit
            })
            .collect()
    }

    #[test]
    fn a_table_is_as_narrow_as_its_chunks_allow() {
        for count in [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3] {
            assert_eq!(check(&spread(count, 8, 1 << 16)), 2, "{count}");
            assert_eq!(check(&spread(count, 1, 1 << 16)), 2, "{count}");
        }
        assert_eq!(check(&spread(1000, 1, 1 << 20)), 4);
        assert_eq!(check(&spread(1000, 8, 1 << 31)), 4);
        // The unit is not more than what addresses take.
        assert_eq!(check(&spread(1000, 16, 1 << 31)), 8);
        assert_eq!(check(&spread(1000, 2, 1 << 31)), 4);
        assert_eq!(check(&spread(1000, 1 << 31, 1 << 31)), 8);
    }

    #[test]
    fn lists_may_span_more_than_their_chunks() {
        let far: Vec<i64> = (0..2000).map(|at: i64| at * at * 8192).collect();
        assert_eq!(check(&far), 4);
        let backwards: Vec<i64> = far.iter().rev().copied().collect();
        assert_eq!(check(&backwards), 4);
        let chunks: Vec<i64> = (0..4000).map(|at: i64| at * 24 + (at >> 8 << 40)).collect();
        assert_eq!(check(&chunks), 2);
        assert_eq!(check(&[i64::MIN / 2, i64::MAX / 2, 0]), 8);
    }

    #[test]
    fn the_edges_of_each_width() {
        let edge = |last: i64| check(&[0, last]);
        assert_eq!((edge(65_535), edge(65_537)), (2, 4));
        assert_eq!((edge(65_535 * 8), edge(65_536 * 8)), (2, 4));
        let long = i64::from(i32::MAX);
        assert_eq!((edge(long), edge(long + 2)), (4, 8));
        assert_eq!((edge(long * 8), edge(long * 8 + 8)), (4, 8));
        assert_eq!((edge(-long * 8), edge(-long * 8 - 8)), (4, 8));
    }

    #[test]
    fn places_that_are_none_are_refused() {
        let offsets = Offsets::new(&[5, 9, 30]).unwrap();
        assert!(offsets.moved(i64::MAX).is_none());
        assert!(Offsets::new(&[]).unwrap().is_empty());
    }
}
