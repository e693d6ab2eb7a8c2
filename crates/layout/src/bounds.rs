// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lower and upper bounds of a type map (MPI-5.0, section 5.1.6 to 5.1.8).
//!
//! A type map without markers spans its data, and its extent is rounded up to the strictest alignment of its basic types.
//! A resized type carries a lower and an upper bound marker; a type map that contains markers spans those and nothing else.

use crate::error::{LayoutError, Result};

/// Where a type map starts and ends, by its data and by its markers. Offsets in bytes from the base address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    data: Option<(i64, i64)>,
    markers: Option<(i64, i64)>,
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
    /// Of `size` bytes at offset 0; a basic type whose `extent` is not what its alignment gives carries markers.
    pub(crate) const fn named(size: usize, extent: usize, alignment: u32) -> Self {
        let natural = size.next_multiple_of(alignment as usize) == extent;
        Self {
            data: if size == 0 {
                None
            } else {
                Some((0, size as i64))
            },
            markers: if natural {
                None
            } else {
                Some((0, extent as i64))
            },
            alignment,
        }
    }

    /// The same data between these markers.
    pub(crate) fn marked(self, lower: i64, upper: i64) -> Self {
        Self {
            markers: Some((lower, upper)),
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
        if let Some(markers) = part.markers {
            widen(&mut self.markers, shifted(markers, at)?);
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
        if let Some(markers) = self.markers {
            self.markers = Some(span(markers)?);
        }
        Ok(())
    }

    /// The lower bound and the extent.
    #[inline]
    pub(crate) fn span(&self) -> Result<(i64, i64)> {
        if let Some((low, high)) = self.markers {
            return Ok((low, high.checked_sub(low).ok_or(LayoutError::Overflow)?));
        }
        let (low, high) = self.data();
        let bytes = high.checked_sub(low).ok_or(LayoutError::Overflow)?;
        Ok((low, self.padded(bytes).ok_or(LayoutError::Overflow)?))
    }

    /// The next multiple of the alignment, found without a division where that is a power of two.
    #[inline]
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
