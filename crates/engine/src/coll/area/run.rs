// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of bytes that programs give.
#![expect(unsafe_code, reason = "addresses that are known not to be null")]

use std::ptr::NonNull;

use crate::p2p::Memory;

/// What a member gives to or takes from a collective: a run of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    base: NonNull<u8>,
    pub(in crate::coll) bytes: usize,
}

impl Run {
    /// `bytes` bytes at `base`; `None` at the address null.
    #[inline(always)]
    pub fn new(base: *mut u8, bytes: usize) -> Option<Self> {
        NonNull::new(base).map(|base| Self { base, bytes })
    }

    /// `bytes` bytes at an address that is not null.
    ///
    /// # Safety
    /// That.
    #[inline(always)]
    pub const unsafe fn at(base: *mut u8, bytes: usize) -> Self {
        // SAFETY: the caller's promise.
        let base = unsafe { NonNull::new_unchecked(base) };
        Self { base, bytes }
    }

    /// As many bytes at another address that is not null.
    ///
    /// # Safety
    /// That.
    #[inline(always)]
    pub const unsafe fn also_at(self, base: *mut u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::at(base, self.bytes) }
    }

    /// As many bytes for each of so many ranks; `None` where these are too many to say so at once.
    #[inline(always)]
    pub const fn times(self, ranks: u32) -> Option<Self> {
        if self.bytes >> 32 != 0 {
            return None;
        }
        let bytes = self.bytes * ranks as usize;
        Some(Self { bytes, ..self })
    }

    /// Whether two runs share a byte.
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
    /// The memory as a run of bytes, if it is one.
    #[inline(always)]
    pub fn run(&self) -> Option<Run> {
        match self.layout {
            None => Run::new(self.base, self.bytes),
            Some(_) => None,
        }
    }
}
