// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a message: its address, its packed length, and its layout if it is not contiguous.

use layout::{Layout, SharedLayout};

use super::NamedSignature;

/// The memory of a message: packed length, and the layout if it is not one run of bytes.
#[derive(Clone, Copy)]
pub struct Memory<'a> {
    /// First byte of the data (contiguous), or the base address of the elements.
    pub base: *mut u8,
    /// Packed length in bytes.
    pub bytes: usize,
    /// Layout and number of elements of non-contiguous data.
    pub layout: Option<(&'a SharedLayout, usize)>,
    /// Basic types and number of elements, where they are checked.
    pub types: Option<(&'a NamedSignature, usize)>,
}

impl<'a> Memory<'a> {
    /// One run of bytes.
    #[inline(always)]
    pub const fn contiguous(base: *mut u8, bytes: usize) -> Self {
        Self {
            base,
            bytes,
            layout: None,
            types: None,
        }
    }

    /// The same memory, of these basic types.
    #[must_use]
    pub const fn typed(self, types: Option<(&'a NamedSignature, usize)>) -> Self {
        Self { types, ..self }
    }

    /// `count` elements of a layout at `base`; `None` when their size exceeds the address space.
    pub fn laid_out(base: *mut u8, count: usize, layout: &'a SharedLayout) -> Option<Self> {
        Self::of_elements(base, count, layout, || layout)
    }

    /// As [`Self::laid_out`], of a layout that `shared` gives owners if the memory is not one run of bytes.
    pub fn of_elements(
        base: *mut u8,
        count: usize,
        layout: &Layout,
        shared: impl FnOnce() -> &'a SharedLayout,
    ) -> Option<Self> {
        let bytes = layout
            .size()
            .checked_mul(count)
            .filter(|&bytes| isize::try_from(bytes).is_ok())?;
        Some(match layout.contiguous_start(count) {
            Some(start) => Self {
                base: base.wrapping_offset(start as isize),
                bytes,
                layout: None,
                types: None,
            },
            None => Self {
                base,
                bytes,
                layout: Some((shared(), count)),
                types: None,
            },
        })
    }

    /// Whether two memories share a byte, as far as that is told at once: dense ones by all of their bytes, others by the
    /// first.
    #[inline(always)]
    pub fn overlaps(&self, other: &Memory<'_>) -> bool {
        let after = (other.base as usize).wrapping_sub(self.base as usize);
        let are_dense = self.layout.is_none() && other.layout.is_none();
        if are_dense && after >= self.bytes && after.wrapping_neg() >= other.bytes {
            return false;
        }
        self.overlaps_closely(other)
    }

    #[cold]
    #[inline(never)]
    fn overlaps_closely(&self, other: &Memory<'_>) -> bool {
        // Dense ones come here only if they are near each other.
        let are_near = self.layout.is_none() && other.layout.is_none()
            || self.first_byte() == other.first_byte();
        are_near && self.bytes > 0 && other.bytes > 0
    }

    /// The lowest address of a byte of the data.
    pub fn first_byte(&self) -> usize {
        let span = self.layout.and_then(|(layout, count)| layout.span(count));
        let start = span.map_or(0, |(start, _)| start);
        (self.base as usize).wrapping_add_signed(start as isize)
    }
}
