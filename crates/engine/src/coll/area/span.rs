// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spans: contiguous memory of programs.
#![expect(unsafe_code, reason = "addresses that are known not to be null")]

use std::ptr::NonNull;

use crate::p2p::Memory;

/// Contiguous memory that a member sends or receives in a collective.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    base: NonNull<u8>,
    pub(in crate::coll) bytes: usize,
}

impl Span {
    /// `bytes` bytes at `base`; `None` at the address null.
    #[inline(always)]
    pub fn new(base: *mut u8, bytes: usize) -> Option<Self> {
        NonNull::new(base).map(|base| Self { base, bytes })
    }

    /// `bytes` bytes at an address.
    ///
    /// # Safety
    /// The address is not null.
    #[inline(always)]
    pub const unsafe fn at(base: *mut u8, bytes: usize) -> Self {
        // SAFETY: not null (caller).
        let base = unsafe { NonNull::new_unchecked(base) };
        Self { base, bytes }
    }

    /// As many bytes at another address.
    ///
    /// # Safety
    /// The address is not null.
    #[inline(always)]
    pub const unsafe fn also_at(self, base: *mut u8) -> Self {
        // SAFETY: not null (caller).
        unsafe { Self::at(base, self.bytes) }
    }

    /// As many bytes for each of `ranks` ranks; `None` if one rank has 4 GiB or more.
    #[inline(always)]
    pub const fn times(self, ranks: u32) -> Option<Self> {
        if self.bytes >> 32 != 0 {
            return None;
        }
        let bytes = self.bytes * ranks as usize;
        Some(Self { bytes, ..self })
    }

    /// Whether two spans share a byte.
    #[inline(always)]
    pub fn overlaps(self, other: Self) -> bool {
        let after = (other.base.as_ptr() as usize).wrapping_sub(self.base.as_ptr() as usize);
        // From the end of one to the start of the other there is room, seen from either side.
        let room = self.bytes.wrapping_add(other.bytes).wrapping_neg();
        after.wrapping_sub(self.bytes) > room && self.overlaps_closely(other)
    }

    #[cold]
    #[inline(never)]
    const fn overlaps_closely(self, other: Self) -> bool {
        // An empty one may lie anywhere.
        self.bytes > 0 && other.bytes > 0
    }

    /// As memory.
    pub const fn memory(self) -> Memory<'static> {
        Memory::contiguous(self.base(), self.bytes)
    }

    #[inline(always)]
    pub(in crate::coll) const fn base(self) -> *mut u8 {
        self.base.as_ptr()
    }

    #[inline(always)]
    pub(in crate::coll) const fn bytes(self) -> usize {
        self.bytes
    }
}

impl Memory<'_> {
    /// The memory as a span, if it is contiguous.
    #[inline(always)]
    pub fn span(&self) -> Option<Span> {
        match self.layout {
            None => Span::new(self.base, self.bytes),
            Some(_) => None,
        }
    }
}
