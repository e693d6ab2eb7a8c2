// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces at displacements, and the simplest form of the whole.

use crate::error::{LayoutError, Result};
use crate::form::{Block, Dimension, Dimensions, Form, Nest};
use crate::form::{Observer, Rule, Silent, tell};
#[cfg(target_arch = "x86_64")]
use crate::isa;
use crate::layout::Layout;
use crate::offsets::Offsets;

/// Most nests of an irregular form; more would take gigabytes.
const MAX_NESTS: usize = 1 << 26;

/// Gathers forms in packing order, joins neighbours, and finds the simplest form of the whole.
pub(crate) struct Gather<'o, O: Observer> {
    /// All pieces, as long as they are runs.
    runs: Vec<Block>,
    /// All pieces, from the first that is more than a run on.
    nests: Vec<Nest>,
    /// The pieces as they came, for an observer.
    asked: Vec<Nest>,
    /// Whether runs were joined, and nests.
    joined: (bool, bool),
    observer: &'o mut O,
}

impl<'o, O: Observer> Gather<'o, O> {
    pub(crate) const fn new(observer: &'o mut O) -> Self {
        Self {
            runs: Vec::new(),
            nests: Vec::new(),
            asked: Vec::new(),
            joined: (false, false),
            observer,
        }
    }

    /// Appends `length` (> 0) elements of `old`, together `size` bytes, at offset `at`.
    pub(crate) fn add_copies(
        &mut self,
        old: &Layout,
        length: usize,
        at: i64,
        size: usize,
    ) -> Result<()> {
        if length == 1 {
            return self.add(&old.form, at, size);
        }
        let mut form = old.form.clone();
        form.told_repeat(length, old.extent(), old.size(), &mut Silent);
        self.add(&form, at, size)
    }

    /// Appends `form`, whose elements have `size` bytes, at offset `at`.
    fn add(&mut self, form: &Form, at: i64, size: usize) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        match form {
            Form::Regular(nest) => self.add_nest(nest, at),
            Form::List {
                offsets,
                bytes,
                dimensions,
            } => repetitions(dimensions, at, |at| {
                for offset in offsets.iter() {
                    let block = Block {
                        offset,
                        bytes: *bytes,
                    };
                    self.add_run(block, at)?;
                }
                Ok(())
            }),
            Form::Irregular {
                nests, dimensions, ..
            } => repetitions(dimensions, at, |at| {
                nests.iter().try_for_each(|nest| self.add_nest(nest, at))
            }),
        }
    }

    fn add_nest(&mut self, nest: &Nest, at: i64) -> Result<()> {
        if nest.dimensions.is_empty() {
            return self.add_run(nest.block, at);
        }
        self.turn_runs_into_nests()?;
        let offset = moved(nest.block, at)?.offset;
        if O::WATCHES {
            self.asked.push(nest.at(offset));
        }
        push(&mut self.nests, nest.at(offset))?;
        self.join_nests();
        Ok(())
    }

    /// Makes room for so many runs, as far as that is likely to be used.
    pub(crate) fn expect_runs(&mut self, count: usize) {
        // Without room now, what is there grows later, or fails then.
        drop(self.runs.try_reserve_exact(count.min(1 << 20)));
    }

    /// Appends a block at offset `at`.
    #[inline(always)]
    pub(crate) fn add_run(&mut self, block: Block, at: i64) -> Result<()> {
        let run = moved(block, at)?;
        if O::WATCHES {
            self.asked.push(run.into_nest());
        }
        let last = if let Some(nest) = self.nests.last_mut() {
            Some(&mut nest.block).filter(|_| nest.dimensions.is_empty())
        } else {
            self.runs.last_mut()
        };
        if let Some(last) = last
            && last.offset.checked_add_unsigned(last.bytes as u64) == Some(run.offset)
        {
            last.bytes += run.bytes;
            self.joined.0 = true;
        } else if self.nests.is_empty() {
            push(&mut self.runs, run)?;
        } else {
            push(&mut self.nests, run.into_nest())?;
            self.join_nests();
        }
        Ok(())
    }

    fn turn_runs_into_nests(&mut self) -> Result<()> {
        if self.nests.is_empty() && !self.runs.is_empty() {
            self.nests = into_nests(std::mem::take(&mut self.runs))?;
        }
        Ok(())
    }

    /// Joins the last nests as long as one continues the other. Runs are joined with nests only, so that what is irregular
    /// stays one list.
    fn join_nests(&mut self) {
        while let [.., before, last] = &mut self.nests[..]
            && let Some(joined) = before.continued_by(last)
        {
            *before = joined;
            self.nests.pop();
            self.joined.1 = true;
        }
    }

    pub(crate) fn finish(mut self) -> Result<Form> {
        let asked = std::mem::take(&mut self.asked);
        if asked.len() > 1 {
            tell(self.observer, Rule::Pieces, || {
                Form::irregular(asked.into_iter())
            });
            let seen = || {
                let runs = self.runs.iter().map(|run| run.into_nest());
                Form::irregular(runs.chain(self.nests.iter().cloned()))
            };
            if self.joined.0 {
                tell(self.observer, Rule::Fold, seen);
            }
            if self.joined.1 {
                tell(self.observer, Rule::Continue, seen);
            }
        }
        if self.nests.is_empty() {
            simplest(self.runs, self.observer)
        } else {
            simplest(self.nests, self.observer)
        }
    }
}

/// What repeats or does not.
trait Place: Sized {
    fn offset(&self) -> i64;

    /// Whether it is the same at another place.
    fn is_like(&self, other: &Self) -> bool;
}

/// The parts that are gathered: runs, or nests.
trait Piece: Place {
    /// Whether a piece is one run.
    const IS_RUN: bool;

    fn into_nest(self) -> Nest;
}

/// The offset of one of equal runs.
impl Place for i64 {
    fn offset(&self) -> i64 {
        *self
    }

    fn is_like(&self, _: &Self) -> bool {
        true
    }
}

impl Place for Block {
    fn offset(&self) -> i64 {
        self.offset
    }

    fn is_like(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Piece for Block {
    const IS_RUN: bool = true;

    fn into_nest(self) -> Nest {
        Nest {
            block: self,
            dimensions: Dimensions::NONE,
            packed_before: 0,
        }
    }
}

impl Place for Nest {
    fn offset(&self) -> i64 {
        self.block.offset
    }

    fn is_like(&self, other: &Self) -> bool {
        self.block.bytes == other.block.bytes && self.dimensions == other.dimensions
    }
}

impl Piece for Nest {
    const IS_RUN: bool = false;

    fn into_nest(self) -> Nest {
        self
    }
}

fn moved(block: Block, by: i64) -> Result<Block> {
    let offset = by.checked_add(block.offset).ok_or(LayoutError::Overflow)?;
    Ok(Block { offset, ..block })
}

#[inline(always)]
fn push<P>(pieces: &mut Vec<P>, piece: P) -> Result<()> {
    if pieces.len() == pieces.capacity() {
        grow(pieces)?;
    }
    pieces.push(piece);
    Ok(())
}

#[cold]
fn grow<P>(pieces: &mut Vec<P>) -> Result<()> {
    if pieces.len() >= MAX_NESTS {
        return Err(LayoutError::TooManyBlocks);
    }
    let more = pieces.len().max(4).min(MAX_NESTS - pieces.len());
    pieces
        .try_reserve_exact(more)
        .map_err(|_| LayoutError::TooManyBlocks)
}

fn into_nests<P: Piece>(pieces: Vec<P>) -> Result<Vec<Nest>> {
    let mut nests = Vec::new();
    nests
        .try_reserve_exact(pieces.len())
        .map_err(|_| LayoutError::TooManyBlocks)?;
    nests.extend(pieces.into_iter().map(Piece::into_nest));
    Ok(nests)
}

/// The lowest and the highest of some numbers.
pub(crate) fn extremes(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    #[cfg(target_arch = "x86_64")]
    if isa::has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { extremes_avx2(numbers) };
    }
    extremes_anywhere(numbers)
}

/// # Safety
/// The processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn extremes_avx2(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    extremes_anywhere(numbers)
}

#[inline(always)]
fn extremes_anywhere(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    numbers.fold((i64::MAX, i64::MIN), |(low, high), number| {
        (low.min(number), high.max(number))
    })
}

/// The offsets of runs at places in units of so many bytes, and whether any two neighbours touch.
fn offsets_of(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<(Vec<i64>, bool)> {
    #[cfg(target_arch = "x86_64")]
    if isa::has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { offsets_avx2(places, unit, run) };
    }
    offsets_anywhere(places, unit, run)
}

/// # Safety
/// The processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn offsets_avx2(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<(Vec<i64>, bool)> {
    offsets_anywhere(places, unit, run)
}

#[inline(always)]
fn offsets_anywhere(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<(Vec<i64>, bool)> {
    let mut offsets: Vec<i64> = Vec::new();
    offsets
        .try_reserve_exact(places.len())
        .map_err(|_| LayoutError::TooManyBlocks)?;
    offsets.extend(places.map(|at| at.wrapping_mul(unit).wrapping_add(run.offset)));
    // Without a way out in the middle, so that several are compared at once.
    let touch = |pair: &[i64; 2]| pair[1].wrapping_sub(pair[0]) == run.bytes as i64;
    let touching = offsets.array_windows().filter(|pair| touch(pair)).count();
    Ok((offsets, touching > 0))
}

/// The simplest form of more than one equal run at places in units of so many bytes, which are below 63 bits; `None` if runs
/// touch, so that they are not equal in the end.
pub(crate) fn equal_runs(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<Option<Form>> {
    if places.len() > MAX_NESTS {
        return Err(LayoutError::TooManyBlocks);
    }
    let (mut offsets, touch) = offsets_of(places, unit, run)?;
    if touch {
        return Ok(None);
    }
    if let Some(steps) = steps(&offsets) {
        let first = Block {
            offset: offsets[0],
            ..run
        };
        let mut nest = first.into_nest();
        for &(count, stride) in &steps {
            nest.repeat(count, stride);
        }
        return Ok(Some(Form::Regular(nest)));
    }
    let patterns = patterns(&mut offsets);
    repeated_list(&offsets, run.bytes, &patterns).map(Some)
}

/// Equal runs, along dimensions (counts and strides).
fn repeated_list(offsets: &[i64], bytes: usize, patterns: &[(usize, i64)]) -> Result<Form> {
    let list = Form::List {
        offsets: Offsets::new(offsets)?,
        bytes,
        dimensions: Dimensions::NONE,
    };
    Ok(along(list, patterns))
}

/// A form along dimensions (counts and strides).
fn along(mut form: Form, patterns: &[(usize, i64)]) -> Form {
    let mut bytes = form.bytes();
    for &(count, stride) in patterns {
        form.repeat(Dimension {
            count,
            stride,
            bytes,
        });
        bytes *= count;
    }
    form
}

/// The simplest form of pieces in packing order.
fn simplest<P: Piece>(mut pieces: Vec<P>, observer: &mut impl Observer) -> Result<Form> {
    let Some(first) = pieces.first() else {
        return Ok(Form::EMPTY);
    };
    let are_equal = pieces.iter().all(|piece| piece.is_like(first));
    if are_equal && let Some(steps) = steps(&pieces) {
        let mut nest = pieces.swap_remove(0).into_nest();
        for &(count, stride) in &steps {
            nest.repeat(count, stride);
        }
        if !steps.is_empty() {
            tell(observer, Rule::Regular, || Form::Regular(nest.clone()));
        }
        return Ok(Form::Regular(nest));
    }
    let patterns = patterns(&mut pieces);
    let are_equal_runs = are_equal && P::IS_RUN;
    let form = if are_equal_runs {
        let offsets: Vec<i64> = pieces.iter().map(Place::offset).collect();
        let run = pieces.swap_remove(0).into_nest().block;
        repeated_list(&offsets, run.bytes, &patterns)?
    } else {
        along(
            Form::irregular(pieces.into_iter().map(Piece::into_nest)),
            &patterns,
        )
    };
    if !patterns.is_empty() {
        tell(observer, Rule::Regular, || form.clone());
    } else if are_equal_runs {
        tell(observer, Rule::List, || form.clone());
    }
    Ok(form)
}

impl Nest {
    fn at(&self, offset: i64) -> Self {
        Self {
            block: Block {
                offset,
                bytes: self.block.bytes,
            },
            dimensions: self.dimensions.clone(),
            packed_before: 0,
        }
    }

    /// This nest and the next as one, where the next is more of what is repeated along the outermost dimension of either.
    fn continued_by(&self, next: &Self) -> Option<Self> {
        if self.block.bytes != next.block.bytes {
            return None;
        }
        let deep = if self.dimensions.len() < next.dimensions.len() {
            next
        } else {
            self
        };
        let (outer, inner) = deep.dimensions.split_last()?;
        // How many repetitions along that dimension a nest is.
        let count = |nest: &Self| match nest.dimensions.split_last() {
            Some((mine, rest))
                if rest == inner && (mine.stride, mine.bytes) == (outer.stride, outer.bytes) =>
            {
                Some(mine.count)
            }
            _ => (*nest.dimensions == *inner).then_some(1),
        };
        let (mine, theirs) = (count(self)?, count(next)?);
        let end = i64::try_from(mine).ok()?.checked_mul(outer.stride)?;
        if self.block.offset.checked_add(end) != Some(next.block.offset) {
            return None;
        }
        let mut joined = self.clone();
        joined.dimensions = deep.dimensions.clone();
        joined.dimensions.set_last_count(mine + theirs);
        Some(joined)
    }
}

/// The dimensions (counts and strides, innermost first) along which the offsets of equal pieces are regular, if they are.
fn steps<P: Place>(pieces: &[P]) -> Option<Vec<(usize, i64)>> {
    let offset = |index: usize| pieces[index].offset();
    let mut steps = Vec::new();
    // Every `unit`-th piece starts a repetition of what has been found.
    let mut unit = 1;
    while unit < pieces.len() {
        let stride = offset(unit).checked_sub(offset(0))?;
        let follows =
            |index: &usize| offset(*index).checked_sub(offset(*index - unit)) == Some(stride);
        let more = (1..pieces.len() / unit)
            .map(|step| step * unit)
            .take_while(follows);
        let count = more.count() + 1;
        let whole = unit * count;
        let is_regular = pieces.len().is_multiple_of(whole)
            && (unit..pieces.len())
                .step_by(unit)
                .filter(|index| !index.is_multiple_of(whole))
                .all(|index| follows(&index));
        if !is_regular {
            return None;
        }
        steps.push((count, stride));
        unit = whole;
    }
    Some(steps)
}

/// Leaves the shortest pattern of which the pieces are repetitions at equal distances, and gives the dimensions along which
/// it is repeated: counts and strides, innermost first.
fn patterns<P: Place>(pieces: &mut Vec<P>) -> Vec<(usize, i64)> {
    let mut dimensions = Vec::new();
    while let Some(period) = period(pieces) {
        let stride = distance(pieces, period, period);
        dimensions.push((pieces.len() / period, stride));
        pieces.truncate(period);
    }
    dimensions.reverse();
    dimensions
}

/// Bytes from the piece that is `back` pieces before. Distances that wrap belong to types that are refused with their bounds.
fn distance<P: Place>(pieces: &[P], index: usize, back: usize) -> i64 {
    let before = pieces[index - back].offset();
    pieces[index].offset().wrapping_sub(before)
}

/// The length of the shortest pattern, if there is one. Only divisors of the number of pieces can be, and what is irregular
/// differs from its copy after few of them.
fn period<P: Place>(pieces: &[P]) -> Option<usize> {
    let repeats = |&period: &usize| {
        let stride = distance(pieces, period, period);
        (period..pieces.len()).all(|index| {
            distance(pieces, index, period) == stride
                && pieces[index].is_like(&pieces[index - period])
        })
    };
    divisors(pieces.len()).find(repeats)
}

/// The divisors of a number but for itself, the smallest first.
fn divisors(number: usize) -> impl Iterator<Item = usize> {
    let divides = move |divisor: &usize| number.is_multiple_of(*divisor);
    let root = number.isqrt();
    let small = (1..=root).filter(divides);
    let large = (1..=root).rev().filter(divides);
    small
        .chain(large.map(move |divisor| number / divisor))
        .filter(move |divisor| *divisor < number)
}

/// Calls `action` with the offset of each repetition along dimensions, starting with `at`.
fn repetitions(
    dimensions: &[Dimension],
    at: i64,
    mut action: impl FnMut(i64) -> Result<()>,
) -> Result<()> {
    let copies = dimensions.iter().try_fold(1usize, |product, dimension| {
        product.checked_mul(dimension.count)
    });
    let copies = copies.ok_or(LayoutError::TooManyBlocks)?;
    let mut index = vec![0usize; dimensions.len()];
    for _ in 0..copies {
        let offset = index
            .iter()
            .zip(dimensions)
            .map(|(&i, dimension)| i as i64 * dimension.stride)
            .sum::<i64>();
        action(at.checked_add(offset).ok_or(LayoutError::Overflow)?)?;
        for (i, dimension) in index.iter_mut().zip(dimensions) {
            *i += 1;
            if *i < dimension.count {
                break;
            }
            *i = 0;
        }
    }
    Ok(())
}
