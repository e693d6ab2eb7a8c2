// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces at displacements, and the simplest form of the whole.

use crate::error::{LayoutError, Result};
use crate::form::{Block, Dimension, Form, Nest};
use crate::layout::Layout;
use crate::observe::{Observer, Rule, Silent, tell};

/// Most nests of an irregular form; more would take gigabytes.
const MAX_NESTS: usize = 1 << 26;

/// Gathers forms in packing order, joins neighbours, and finds the simplest form of the whole.
pub(crate) struct Gather<'o, O: Observer> {
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
        let form = old
            .form
            .repeated(length, old.extent(), old.size(), &mut Silent);
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
                for &offset in offsets {
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

    fn add_run(&mut self, block: Block, at: i64) -> Result<()> {
        let run = Nest {
            block,
            dimensions: Vec::new(),
        };
        self.add_nest(&run, at)
    }

    fn add_nest(&mut self, nest: &Nest, at: i64) -> Result<()> {
        let offset = at
            .checked_add(nest.block.offset)
            .ok_or(LayoutError::Overflow)?;
        let bytes = nest.block.bytes;
        if O::WATCHES {
            self.asked.push(nest.at(offset));
        }
        if let Some(last) = self.nests.last_mut()
            && nest.dimensions.is_empty()
            && last.dimensions.is_empty()
            && last.block.offset + last.block.bytes as i64 == offset
        {
            last.block.bytes += bytes;
            self.joined.0 = true;
            return Ok(());
        }
        if self.nests.len() >= MAX_NESTS {
            return Err(LayoutError::TooManyBlocks);
        }
        self.nests
            .try_reserve(1)
            .map_err(|_| LayoutError::TooManyBlocks)?;
        self.nests.push(nest.at(offset));
        self.join_nests();
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

    pub(crate) fn finish(mut self) -> Form {
        let asked = std::mem::take(&mut self.asked);
        if asked.len() > 1 {
            tell(self.observer, Rule::Pieces, || Form::irregular(asked));
            let seen = || Form::irregular(self.nests.clone());
            if self.joined.0 {
                tell(self.observer, Rule::Fold, seen);
            }
            if self.joined.1 {
                tell(self.observer, Rule::Continue, seen);
            }
        }
        let Some(first) = self.nests.first() else {
            return Form::EMPTY;
        };
        let bytes = first.block.bytes;
        let are_equal = self
            .nests
            .iter()
            .all(|nest| nest.block.bytes == bytes && nest.dimensions == first.dimensions);
        let are_equal_runs = are_equal && first.dimensions.is_empty();
        if are_equal && let Some(steps) = steps(&self.nests) {
            let mut nest = self.nests.swap_remove(0);
            for &(count, stride) in &steps {
                nest.repeat(count, stride);
            }
            if !steps.is_empty() {
                tell(self.observer, Rule::Regular, || Form::Regular(nest.clone()));
            }
            return Form::Regular(nest);
        }
        let patterns = patterns(&mut self.nests, are_equal);
        let mut form = if are_equal_runs {
            Form::List {
                offsets: self.nests.iter().map(|nest| nest.block.offset).collect(),
                bytes,
                dimensions: Vec::new(),
            }
        } else {
            self.nests.shrink_to_fit();
            Form::irregular(self.nests)
        };
        for outer in &patterns {
            form.repeat(*outer);
        }
        if !patterns.is_empty() {
            tell(self.observer, Rule::Regular, || form.clone());
        } else if are_equal_runs {
            tell(self.observer, Rule::List, || form.clone());
        }
        form
    }
}

impl Nest {
    fn at(&self, offset: i64) -> Self {
        Self {
            block: Block {
                offset,
                bytes: self.block.bytes,
            },
            dimensions: self.dimensions.clone(),
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
            _ => (nest.dimensions == inner).then_some(1),
        };
        let (mine, theirs) = (count(self)?, count(next)?);
        let end = i64::try_from(mine).ok()?.checked_mul(outer.stride)?;
        if self.block.offset.checked_add(end) != Some(next.block.offset) {
            return None;
        }
        let mut joined = self.clone();
        joined.dimensions = deep.dimensions.clone();
        joined.dimensions.last_mut()?.count = mine + theirs;
        Some(joined)
    }
}

/// The dimensions (counts and strides, innermost first) along which the nests' offsets are regular, if they are.
fn steps(nests: &[Nest]) -> Option<Vec<(usize, i64)>> {
    let offset = |index: usize| nests[index].block.offset;
    let mut steps = Vec::new();
    // Every `unit`-th nest starts a repetition of what has been found.
    let mut unit = 1;
    while unit < nests.len() {
        let stride = offset(unit).checked_sub(offset(0))?;
        let follows =
            |index: &usize| offset(*index).checked_sub(offset(*index - unit)) == Some(stride);
        let more = (1..nests.len() / unit)
            .map(|step| step * unit)
            .take_while(follows);
        let count = more.count() + 1;
        let whole = unit * count;
        let is_regular = nests.len().is_multiple_of(whole)
            && (unit..nests.len())
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

/// Leaves the shortest pattern of which the nests are repetitions at equal distances, and gives the dimensions along which
/// it is repeated, innermost first.
fn patterns(nests: &mut Vec<Nest>, are_alike: bool) -> Vec<Dimension> {
    let mut dimensions = Vec::new();
    while let Some(period) = period(nests, are_alike) {
        dimensions.push(Dimension {
            count: nests.len() / period,
            // Offsets so far apart that this wraps are refused with the bounds.
            stride: nests[period]
                .block
                .offset
                .wrapping_sub(nests[0].block.offset),
            bytes: nests[..period].iter().map(Nest::bytes).sum(),
        });
        nests.truncate(period);
    }
    dimensions.reverse();
    dimensions
}

/// The length of the shortest pattern, if there is one. Only divisors of the number of nests can be, and what is irregular
/// differs from its copy after few of them.
fn period(nests: &[Nest], are_alike: bool) -> Option<usize> {
    let repeats = |period: &usize| {
        // Distances that wrap belong to types that are refused with their bounds.
        let distance = |index: usize| {
            let before = nests[index - period].block.offset;
            nests[index].block.offset.wrapping_sub(before)
        };
        let is_like_before = |index: usize| {
            let (this, before) = (&nests[index], &nests[index - period]);
            are_alike
                || this.block.bytes == before.block.bytes && this.dimensions == before.dimensions
        };
        let stride = distance(*period);
        (*period..nests.len()).all(|index| distance(index) == stride && is_like_before(index))
    };
    divisors(nests.len()).find(repeats)
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
