// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lower and upper bounds of a type map (MPI-5.0, section 5.1.6 to 5.1.8).
//!
//! A type map without markers spans its parts with their own padding, and a struct is padded until its extent is a multiple
//! of the strictest alignment of its basic types. Where every displacement is a multiple of the alignments, this is the
//! standard's formula; decision 0014 has the reason for the other cases.
//! A resized type carries a lower and an upper bound marker; a type map that contains markers spans those and nothing else.

use crate::error::{LayoutError, Result};

/// Where a type map starts and ends. Offsets in bytes from the base address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    data: Option<(i64, i64)>,
    /// From the lower to the upper bound: between markers, or else the data with padding.
    span: Option<(i64, i64)>,
    has_markers: bool,
    alignment: u32,
}

fn widen(span: &mut Option<(i64, i64)>, (low, high): (i64, i64)) {
    *span = Some(span.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
}

fn shifted((low, high): (i64, i64), by: i64) -> Result<(i64, i64)> {
    match (low.checked_add(by), high.checked_add(by)) {
        (Some(low), Some(high)) => Ok((low, high)),
        _ => Err(LayoutError::Overflow),
    }
}

impl Bounds {
    /// Of a type map without entries.
    pub(crate) const EMPTY: Self = Self {
        data: None,
        span: None,
        has_markers: false,
        alignment: 0,
    };

    /// Of `size` bytes at offset 0; a basic type whose `extent` is not what its alignment gives carries markers.
    pub(crate) const fn named(size: usize, extent: usize, alignment: u32) -> Self {
        let natural = size.next_multiple_of(alignment as usize) == extent;
        let is_empty = size == 0 && natural;
        Self {
            data: if size == 0 {
                None
            } else {
                Some((0, size as i64))
            },
            span: if is_empty {
                None
            } else {
                Some((0, extent as i64))
            },
            has_markers: !natural,
            alignment,
        }
    }

    /// The same data between these markers.
    pub(crate) fn marked(self, lower: i64, upper: i64) -> Self {
        Self {
            span: Some((lower, upper)),
            has_markers: true,
            ..self
        }
    }

    /// Takes in the type map `part` at offset `at`.
    #[inline]
    pub(crate) fn add(&mut self, part: &Self, at: i64) -> Result<()> {
        if let Some(data) = part.data {
            widen(&mut self.data, shifted(data, at)?);
            self.alignment = self.alignment.max(part.alignment);
        }
        let Some(span) = part.span else {
            return Ok(());
        };
        let span = shifted(span, at)?;
        match (self.has_markers, part.has_markers) {
            (true, false) => {}
            (false, true) => (self.span, self.has_markers) = (Some(span), true),
            _ => widen(&mut self.span, span),
        }
        Ok(())
    }

    /// Pads a struct at its end, unless it has markers.
    pub(crate) fn pad(&mut self) -> Result<()> {
        if let (Some((low, high)), false) = (self.span, self.has_markers) {
            let bytes = high.checked_sub(low).and_then(|bytes| self.padded(bytes));
            let high = bytes.and_then(|bytes| low.checked_add(bytes));
            self.span = Some((low, high.ok_or(LayoutError::Overflow)?));
        }
        Ok(())
    }

    /// Takes in the same type map once more, `far` bytes further.
    #[inline]
    pub(crate) fn stretch(&mut self, far: i64) -> Result<()> {
        let stretch = |(low, high): (i64, i64)| {
            let further = shifted((low, high), far)?;
            Ok((low.min(further.0), high.max(further.1)))
        };
        self.change(stretch)
    }

    /// Moves everything.
    #[inline]
    pub(crate) fn shift(&mut self, by: i64) -> Result<()> {
        self.change(|span| shifted(span, by))
    }

    #[inline(always)]
    fn change(&mut self, span: impl Fn((i64, i64)) -> Result<(i64, i64)>) -> Result<()> {
        match self.data {
            Some(data) => self.data = Some(span(data)?),
            None => self.alignment = 0,
        }
        if let Some(bounds) = self.span {
            self.span = Some(span(bounds)?);
        }
        Ok(())
    }

    /// The lower bound and the extent.
    #[inline]
    pub(crate) fn lower_and_extent(&self) -> Result<(i64, i64)> {
        let (low, high) = self.span.unwrap_or_default();
        Ok((low, high.checked_sub(low).ok_or(LayoutError::Overflow)?))
    }

    /// The next multiple of the alignment, found without a division where that is a power of two.
    fn padded(&self, bytes: i64) -> Option<i64> {
        let (bytes, alignment) = (u64::try_from(bytes).ok()?, u64::from(self.alignment.max(1)));
        let padded = if alignment & (alignment - 1) == 0 {
            bytes.checked_add(alignment - 1)? & !(alignment - 1)
        } else {
            bytes.checked_next_multiple_of(alignment)?
        };
        i64::try_from(padded).ok()
    }

    /// The first byte of the data and the one after the last.
    pub(crate) const fn data(&self) -> (i64, i64) {
        match self.data {
            Some(span) => span,
            None => (0, 0),
        }
    }
}
