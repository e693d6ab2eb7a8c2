// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constructors, which may be watched. All of them come down to two: copies at equal distances, and pieces at displacements.

use crate::bounds::Bounds;
use crate::error::{LayoutError, Result};
use crate::form::{Block, Form};
use crate::form::{Observer, Rule, tell};
use crate::gather::{Gather, equal_runs, extremes};
use crate::layout::Layout;

/// Order of the dimensions of an array in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayOrder {
    /// The last dimension is the fastest (MPI_ORDER_C).
    C,
    /// The first dimension is the fastest (MPI_ORDER_FORTRAN).
    Fortran,
}

/// One dimension of a subarray, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Elements of the whole array in this dimension.
    pub size: usize,
    /// Elements of the subarray.
    pub subsize: usize,
    /// Index of the subarray's first element.
    pub start: usize,
}

/// What a process owns of one dimension of a distributed array: blocks of `length` indices from `start` on, `step` apart,
/// as far as they are below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Indices of the whole array.
    pub size: usize,
    /// First index.
    pub start: usize,
    /// Indices of a block.
    pub length: usize,
    /// Distance of blocks, at least their length.
    pub step: usize,
    /// The index after the last one that may be owned.
    pub end: usize,
}

impl Share {
    /// All of a dimension of `size` indices (MPI_DISTRIBUTE_NONE).
    pub const fn all(size: usize) -> Self {
        Self {
            size,
            start: 0,
            length: size,
            step: size,
            end: size,
        }
    }

    /// One block of `length` indices for each process (MPI_DISTRIBUTE_BLOCK).
    pub fn block(size: usize, length: usize, coordinate: usize) -> Self {
        let start = length.saturating_mul(coordinate).min(size);
        Self {
            size,
            start,
            length,
            step: length,
            end: start.saturating_add(length).min(size),
        }
    }

    /// Blocks of `length` indices for each of `processes` in turn (MPI_DISTRIBUTE_CYCLIC).
    pub const fn cyclic(size: usize, length: usize, processes: usize, coordinate: usize) -> Self {
        Self {
            size,
            start: length.saturating_mul(coordinate),
            length,
            step: length.saturating_mul(processes),
            end: size,
        }
    }
}

fn signed(value: usize) -> Result<i64> {
    i64::try_from(value).map_err(|_| LayoutError::Overflow)
}

fn product(a: i64, b: i64) -> Result<i64> {
    a.checked_mul(b).ok_or(LayoutError::Overflow)
}

fn sum(a: i64, b: i64) -> Result<i64> {
    a.checked_add(b).ok_or(LayoutError::Overflow)
}

fn scaled_size(size: usize, count: usize) -> Result<usize> {
    size.checked_mul(count)
        .filter(|&bytes| i64::try_from(bytes).is_ok())
        .ok_or(LayoutError::Overflow)
}

/// Constructs layouts and tells an observer how their forms become canonical.
pub struct Builder<'o, O: Observer> {
    observer: &'o mut O,
}

impl<'o, O: Observer> Builder<'o, O> {
    /// A builder whose work is watched.
    pub const fn new(observer: &'o mut O) -> Self {
        Self { observer }
    }

    /// As [`Layout::contiguous`].
    ///
    /// # Errors
    /// The same.
    pub fn contiguous(&mut self, count: usize, old: &Layout) -> Result<Layout> {
        self.repeated(count, old.extent(), old)
    }

    /// As [`Layout::vector`].
    ///
    /// # Errors
    /// The same.
    pub fn vector(
        &mut self,
        count: usize,
        length: usize,
        stride: i64,
        old: &Layout,
    ) -> Result<Layout> {
        self.hvector(count, length, product(stride, old.extent())?, old)
    }

    /// As [`Layout::hvector`].
    ///
    /// # Errors
    /// The same.
    pub fn hvector(
        &mut self,
        count: usize,
        length: usize,
        stride: i64,
        old: &Layout,
    ) -> Result<Layout> {
        let mut parts = Parts::of(old);
        self.repeat(length, old.extent(), &mut parts)?;
        self.repeat(count, stride, &mut parts)?;
        parts.finish()
    }

    /// As [`Layout::hindexed`].
    ///
    /// # Errors
    /// The same.
    pub fn hindexed(
        &mut self,
        pieces: impl IntoIterator<Item = (i64, usize)>,
        old: &Layout,
    ) -> Result<Layout> {
        match old.form.single_block() {
            Some(block) if !O::WATCHES => self.runs(pieces.into_iter(), block, old),
            _ => {
                let pieces = pieces.into_iter().map(|(at, length)| (at, length, old));
                self.gathered(pieces)?.finish()
            }
        }
    }

    /// As [`Layout::equal_blocks`].
    ///
    /// # Errors
    /// The same.
    pub fn equal_blocks(
        &mut self,
        length: usize,
        places: impl ExactSizeIterator<Item = i64> + Clone,
        unit: i64,
        old: &Layout,
    ) -> Result<Layout> {
        let is_dense = length == 1 || i64::try_from(old.size()) == Ok(old.extent());
        let (low, high) = extremes(places.clone());
        // What lies between the ends in units does so in bytes.
        let ends = if length == 0 || places.len() < 2 {
            Some((0, 0))
        } else {
            low.checked_mul(unit).zip(high.checked_mul(unit))
        };
        let (first, last) = ends.ok_or(LayoutError::Overflow)?;
        let block = old.form.single_block();
        if let Some(block) = block
            && places.len() > 1
            && length > 0
            && is_dense
            && !O::WATCHES
        {
            let (bytes, far) = check_repeat(old, length, old.extent())?;
            let run = Block { bytes, ..block };
            let mut bounds = Bounds::EMPTY;
            for end in [first.min(last), sum(first.max(last), far)?] {
                bounds.add(old.bounds(), end)?;
            }
            let size = scaled_size(bytes, places.len())?;
            if let Some(form) = equal_runs(places.clone(), unit, run)? {
                return Layout::from_parts(form, size, bounds);
            }
        }
        let scaled = |at: i64| at.checked_mul(unit).ok_or(LayoutError::Overflow);
        if places.clone().any(|at| scaled(at).is_err()) {
            return Err(LayoutError::Overflow);
        }
        self.hindexed(places.map(|at| (at.wrapping_mul(unit), length)), old)
    }

    /// As [`Self::structure`] for copies of one layout that is one run of bytes: bounds are looked at once, and most pieces
    /// are runs again.
    fn runs(
        &mut self,
        pieces: impl Iterator<Item = (i64, usize)>,
        block: Block,
        old: &Layout,
    ) -> Result<Layout> {
        let expected = pieces.size_hint().0;
        let mut pieces = pieces.filter(|&(_, length)| length > 0);
        let Some(first) = pieces.next() else {
            return Layout::from_parts(Form::EMPTY, 0, Bounds::EMPTY);
        };
        let Some(second) = pieces.next() else {
            return self.placed(first.0, first.1, old)?.finish();
        };
        let is_dense = i64::try_from(old.size()) == Ok(old.extent());
        let mut gather = Gather::new(self.observer);
        gather.expect_runs(expected);
        let (mut elements, mut low, mut high) = (0usize, i64::MAX, i64::MIN);
        let (mut next, mut after) = (Some(first), Some(second));
        while let Some((at, length)) = next {
            next = after.take().or_else(|| pieces.next());
            elements = elements.checked_add(length).ok_or(LayoutError::Overflow)?;
            (low, high) = (low.min(at), high.max(at));
            if length == 1 {
                gather.add_run(block, at)?;
                continue;
            }
            let (bytes, far) = check_repeat(old, length, old.extent())?;
            let last = sum(at, far)?;
            (low, high) = (low.min(last), high.max(last));
            if is_dense {
                gather.add_run(Block { bytes, ..block }, at)?;
            } else {
                gather.add_copies(old, length, at, bytes)?;
            }
        }
        let mut bounds = Bounds::EMPTY;
        bounds.add(old.bounds(), low)?;
        bounds.add(old.bounds(), high)?;
        let size = scaled_size(old.size(), elements)?;
        Layout::from_parts(gather.finish()?, size, bounds)
    }

    /// As [`Layout::structure`].
    ///
    /// # Errors
    /// The same.
    pub fn structure<'a>(
        &mut self,
        pieces: impl IntoIterator<Item = (i64, usize, &'a Layout)>,
    ) -> Result<Layout> {
        let mut parts = self.gathered(pieces.into_iter())?;
        parts.bounds.pad()?;
        parts.finish()
    }

    /// As [`Layout::subarray`].
    ///
    /// # Errors
    /// The same.
    pub fn subarray(
        &mut self,
        slices: &[Slice],
        order: ArrayOrder,
        old: &Layout,
    ) -> Result<Layout> {
        let (mut stride, mut start) = (old.extent(), 0i64);
        let mut inner = Parts::of(old);
        for slice in inner_first(slices, order) {
            self.repeat(slice.subsize, stride, &mut inner)?;
            start = sum(start, product(signed(slice.start)?, stride)?)?;
            stride = product(stride, signed(slice.size)?)?;
        }
        self.shift(start, &mut inner)?;
        inner.finish()?.into_resized(0, stride)
    }

    /// As [`Layout::darray`].
    ///
    /// # Errors
    /// The same.
    pub fn darray(&mut self, shares: &[Share], order: ArrayOrder, old: &Layout) -> Result<Layout> {
        let (mut stride, mut inner) = (old.extent(), old.clone());
        for share in inner_first(shares, order) {
            inner = self.spread(share, stride, &inner)?;
            stride = product(stride, signed(share.size)?)?;
        }
        inner.into_resized(0, stride)
    }

    /// As [`Layout::repeated`].
    ///
    /// # Errors
    /// The same.
    pub fn repeated(&mut self, count: usize, stride: i64, old: &Layout) -> Result<Layout> {
        let mut parts = Parts::of(old);
        self.repeat(count, stride, &mut parts)?;
        parts.finish()
    }

    /// Pieces of `(displacement in bytes, elements, layout)`, without padding at the end.
    fn gathered<'a>(
        &mut self,
        pieces: impl Iterator<Item = (i64, usize, &'a Layout)>,
    ) -> Result<Parts> {
        let expected = pieces.size_hint().0;
        let mut pieces = pieces.filter(|&(_, length, _)| length > 0).peekable();
        let Some((at, length, old)) = pieces.next() else {
            return Ok(Parts::EMPTY);
        };
        if pieces.peek().is_none() {
            return self.placed(at, length, old);
        }
        let (mut bounds, mut size) = (Bounds::EMPTY, 0usize);
        let mut gather = Gather::new(self.observer);
        gather.expect_runs(expected);
        for (at, length, old) in std::iter::once((at, length, old)).chain(pieces) {
            let (part_size, far) = check_repeat(old, length, old.extent())?;
            bounds.add(old.bounds(), at)?;
            bounds.add(old.bounds(), sum(at, far)?)?;
            size = size
                .checked_add(part_size)
                .filter(|&bytes| i64::try_from(bytes).is_ok())
                .ok_or(LayoutError::Overflow)?;
            gather.add_copies(old, length, at, part_size)?;
        }
        let form = gather.finish()?;
        Ok(Parts { form, size, bounds })
    }

    /// `count` copies of what there is, `stride` bytes apart.
    fn repeat(&mut self, count: usize, stride: i64, parts: &mut Parts) -> Result<()> {
        if count == 1 && !O::WATCHES {
            return Ok(());
        }
        if count == 0 {
            *parts = Parts::EMPTY;
            return Ok(());
        }
        let far = product(signed(count - 1)?, stride)?;
        let size = scaled_size(parts.size, count)?;
        parts.bounds.stretch(far)?;
        parts
            .form
            .told_repeat(count, stride, parts.size, self.observer);
        parts.size = size;
        Ok(())
    }

    /// `inner` at every index of a share, `stride` bytes per index.
    fn spread(&mut self, share: &Share, stride: i64, inner: &Layout) -> Result<Layout> {
        let span = share.end.saturating_sub(share.start);
        let step = share.step.max(1);
        let whole = (span + step).saturating_sub(share.length) / step;
        let last = span.saturating_sub(whole * step).min(share.length);
        let block = self.repeated(share.length, stride, inner)?;
        let blocks = self.repeated(whole, product(signed(step)?, stride)?, &block)?;
        let start = product(signed(share.start)?, stride)?;
        if last == 0 {
            return self.placed(start, 1, &blocks)?.finish();
        }
        let rest = self.repeated(last, stride, inner)?;
        let rest_at = product(signed(share.start + whole * step)?, stride)?;
        let pieces = [(start, 1, &blocks), (rest_at, 1, &rest)];
        self.gathered(pieces.into_iter())?.finish()
    }

    /// `length` elements of a layout, `at` bytes further; bounds too.
    fn placed(&mut self, at: i64, length: usize, old: &Layout) -> Result<Parts> {
        let mut parts = Parts::of(old);
        self.repeat(length, old.extent(), &mut parts)?;
        self.shift(at, &mut parts)?;
        Ok(parts)
    }

    /// Moves what there is `by` bytes further.
    fn shift(&mut self, by: i64, parts: &mut Parts) -> Result<()> {
        parts.bounds.shift(by)?;
        if by != 0 && parts.size != 0 {
            parts.form.shift(by).ok_or(LayoutError::Overflow)?;
            tell(self.observer, Rule::Elide, || parts.form.clone());
        }
        Ok(())
    }
}

/// A layout under construction: its lower bound and extent follow from its bounds in the end.
struct Parts {
    form: Form,
    size: usize,
    bounds: Bounds,
}

impl Parts {
    const EMPTY: Self = Self {
        form: Form::EMPTY,
        size: 0,
        bounds: Bounds::EMPTY,
    };

    #[inline]
    fn of(layout: &Layout) -> Self {
        Self {
            form: layout.form.clone(),
            size: layout.size(),
            bounds: *layout.bounds(),
        }
    }

    #[inline]
    fn finish(self) -> Result<Layout> {
        Layout::from_parts(self.form, self.size, self.bounds)
    }
}

/// The dimensions of an array, the fastest first.
fn inner_first<T>(dimensions: &[T], order: ArrayOrder) -> impl Iterator<Item = &T> {
    let last = dimensions.len().saturating_sub(1);
    (0..dimensions.len()).map(move |step| match order {
        ArrayOrder::C => &dimensions[last - step],
        ArrayOrder::Fortran => &dimensions[step],
    })
}

/// The packed size of `count` (> 0) copies, and the offset of the last one.
fn check_repeat(old: &Layout, count: usize, stride: i64) -> Result<(usize, i64)> {
    let far = product(signed(count - 1)?, stride)?;
    Ok((scaled_size(old.size(), count)?, far))
}
