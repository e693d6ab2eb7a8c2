// SPDX-License-Identifier: MIT OR Apache-2.0
//! A type map, and what is asked of it.

use crate::bounds::Bounds;
use crate::error::{LayoutError, Result};
use crate::form::{Block, Form};

/// A type map: which bytes belong to an element, in packing order, and how far elements are apart. Immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) form: Form,
    size: usize,
    lower_bound: i64,
    extent: i64,
    bounds: Bounds,
}

impl Layout {
    /// A basic type of `size` bytes whose elements lie `extent` bytes apart and are aligned to their size.
    pub const fn named(size: usize, extent: usize) -> Self {
        Self::aligned(size, extent, if extent == 0 { 1 } else { extent as u32 })
    }

    /// A basic type of `size` bytes whose elements lie `extent` bytes apart, with this alignment (a power of two).
    pub const fn aligned(size: usize, extent: usize, alignment: u32) -> Self {
        Self {
            form: Form::run(size),
            size,
            lower_bound: 0,
            extent: extent as i64,
            bounds: Bounds::named(size, extent, alignment),
        }
    }

    /// The canonical form: which bytes, in packing order, without bounds.
    pub const fn form(&self) -> &Form {
        &self.form
    }

    /// Packed size of an element in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Distance of consecutive elements in bytes.
    pub const fn extent(&self) -> i64 {
        self.extent
    }

    /// Lower bound in bytes.
    pub const fn lower_bound(&self) -> i64 {
        self.lower_bound
    }

    /// Offset of the first byte that holds data.
    pub const fn true_lower_bound(&self) -> i64 {
        self.bounds.data().0
    }

    /// Span of the bytes that hold data.
    pub const fn true_extent(&self) -> i64 {
        self.bounds.data().1 - self.bounds.data().0
    }

    /// Offset of the data when `count` elements are one contiguous run of bytes, else `None`.
    pub fn contiguous_start(&self, count: usize) -> Option<i64> {
        if self.size == 0 || count == 0 {
            return Some(0);
        }
        self.form
            .single_block()
            .filter(|_| count == 1 || self.extent == self.size as i64)
            .map(|block| block.offset)
    }

    /// Whether any number of elements is one contiguous run of bytes that starts at the base address.
    pub fn is_contiguous(&self) -> bool {
        self.contiguous_start(2) == Some(0)
    }

    /// Contiguous runs of one element, in packing order.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        self.for_each_run(0..self.size, |offset, bytes| {
            blocks.push(Block { offset, bytes });
        });
        blocks
    }

    /// The bytes that `count` elements span: offset of the first from the base address, and their number. `None` when
    /// that exceeds the address space.
    pub fn span(&self, count: usize) -> Option<(i64, usize)> {
        if count == 0 || self.size == 0 {
            return Some((0, 0));
        }
        let far = self.extent.checked_mul(i64::try_from(count - 1).ok()?)?;
        let bytes = self.true_extent().checked_add(far.checked_abs()?)?;
        let first = self.true_lower_bound().checked_add(far.min(0))?;
        Some((first, usize::try_from(bytes).ok()?))
    }

    /// The same bytes with other bounds (MPI_Type_create_resized).
    ///
    /// # Errors
    /// When the upper bound exceeds 63 bits.
    #[inline]
    pub fn resized(&self, lower_bound: i64, extent: i64) -> Result<Self> {
        self.clone().into_resized(lower_bound, extent)
    }

    /// As [`Self::resized`], of a layout that is not used otherwise.
    #[inline]
    pub(crate) fn into_resized(self, lower_bound: i64, extent: i64) -> Result<Self> {
        let upper_bound = lower_bound
            .checked_add(extent)
            .ok_or(LayoutError::Overflow)?;
        Ok(Self {
            lower_bound,
            extent,
            bounds: self.bounds.marked(lower_bound, upper_bound),
            ..self
        })
    }

    /// A layout of these parts, whose bounds are looked at here.
    #[inline]
    pub(crate) fn from_parts(form: Form, size: usize, bounds: Bounds) -> Result<Self> {
        let (lower_bound, extent) = bounds.lower_and_extent()?;
        let (low, high) = bounds.data();
        high.checked_sub(low).ok_or(LayoutError::Overflow)?;
        Ok(Self {
            form,
            size,
            lower_bound,
            extent,
            bounds,
        })
    }

    pub(crate) const fn bounds(&self) -> &Bounds {
        &self.bounds
    }
}
