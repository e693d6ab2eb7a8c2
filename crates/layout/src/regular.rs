// SPDX-License-Identifier: MIT OR Apache-2.0
//! Distances at which pieces repeat, and pieces that continue others.

use crate::form::{Block, Dimensions, Member, Nest};

/// What repeats or does not.
pub(crate) trait Place: Sized {
    fn offset(&self) -> i64;

    /// Whether it is the same at another place.
    fn is_like(&self, other: &Self) -> bool;
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

impl Place for Nest {
    fn offset(&self) -> i64 {
        self.block.offset
    }

    fn is_like(&self, other: &Self) -> bool {
        self.block.bytes == other.block.bytes && self.dimensions == other.dimensions
    }
}

impl Place for Member {
    fn offset(&self) -> i64 {
        self.offset
    }

    fn is_like(&self, other: &Self) -> bool {
        self.form == other.form
    }
}

/// The dimensions (counts and strides, innermost first) along which the offsets of equal pieces are regular, if they are.
pub(crate) fn steps<P: Place>(pieces: &[P]) -> Option<Vec<(usize, i64)>> {
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
pub(crate) fn patterns<P: Place>(pieces: &mut Vec<P>) -> Vec<(usize, i64)> {
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

impl Nest {
    /// This nest and the next as one, where the next is more of what is repeated along the outermost dimension of either.
    pub(crate) fn continued_by(&self, next: &Self) -> Option<Self> {
        if self.block.bytes != next.block.bytes {
            return None;
        }
        let by = next.block.offset.checked_sub(self.block.offset)?;
        Some(Self {
            dimensions: self.dimensions.continued_by(&next.dimensions, by)?,
            ..self.clone()
        })
    }
}

impl Member {
    /// As for nests, where both repeat the same.
    pub(crate) fn continued_by(&self, next: &Self) -> Option<Self> {
        if !self.form.repeats_the_same_as(&next.form) {
            return None;
        }
        let by = next.offset.checked_sub(self.offset)?;
        let (mine, theirs) = (self.form.as_dimensions(), next.form.as_dimensions());
        let mut form = self.form.clone();
        *form.dimensions_mut() = mine.continued_by(theirs, by)?;
        Some(Self::new(self.offset, form))
    }
}

impl Dimensions {
    /// These dimensions, and then those `by` bytes further, as one.
    fn continued_by(&self, next: &Self, by: i64) -> Option<Self> {
        let deep = if self.len() < next.len() { next } else { self };
        let (outer, inner) = deep.split_last()?;
        // How many repetitions along that dimension some are.
        let count = |dimensions: &Self| match dimensions.split_last() {
            Some((mine, rest))
                if rest == inner && (mine.stride, mine.bytes) == (outer.stride, outer.bytes) =>
            {
                Some(mine.count)
            }
            _ => (**dimensions == *inner).then_some(1),
        };
        let (mine, theirs) = (count(self)?, count(next)?);
        let end = i64::try_from(mine).ok()?.checked_mul(outer.stride)?;
        if end != by {
            return None;
        }
        let mut joined = deep.clone();
        joined.set_last_count(mine + theirs);
        Some(joined)
    }
}
