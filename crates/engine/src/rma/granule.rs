// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the memory of a window is accessed by the processes that map it.
//!
//! Programs in C order conflicting accesses (MPI-5.0, section 12.7), so all loads and stores will do. Safe code may forget to, so in
//! windows of the Rust API every access is a relaxed atomic load or store of one size, the window's *granule*: two accesses to a byte are
//! then accesses to the same atomic, and never a data race. All else works on copies of the elements: long messages, reductions that are
//! no instructions of the processor.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use super::transfer::copy_run;
use crate::op::{load_words, store_words};

/// The size of every access to the memory of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Granule {
    /// Whatever is fast: the program orders conflicting accesses.
    Any = 0,
    /// A byte.
    One = 1,
    /// Two bytes.
    Two = 2,
    /// Four bytes.
    Four = 4,
    /// Eight bytes.
    Eight = 8,
}

impl Granule {
    /// The largest one that divides the size and the alignment of elements.
    pub const fn of<E>() -> Self {
        match (size_of::<E>() | align_of::<E>()).trailing_zeros() {
            0 => Self::One,
            1 => Self::Two,
            2 => Self::Four,
            _ => Self::Eight,
        }
    }

    /// The one of so many bytes; [`Self::Any`] if there is none.
    pub(super) const fn from_bytes(bytes: u64) -> Self {
        match bytes {
            1 => Self::One,
            2 => Self::Two,
            4 => Self::Four,
            8 => Self::Eight,
            _ => Self::Any,
        }
    }

    /// Whether an offset, an address or a length is whole granules.
    #[inline(always)]
    pub const fn divides(self, bytes: u64) -> bool {
        bytes & (self as u64).saturating_sub(1) == 0
    }

    /// Copies bytes into the memory of a window.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes` bytes, and nobody writes those at `from` meanwhile. The granule is the window's,
    /// and divides `to` and `bytes`; if it is [`Self::Any`], others access the bytes at `to` only as MPI-5.0, section 12.7, permits.
    #[inline(always)]
    pub unsafe fn store(self, from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise: all accesses to these bytes have the size of the granule.
        unsafe {
            match self {
                Self::Any => copy_run(from, to, bytes),
                Self::One => store_words::<u8>(from, to, bytes),
                Self::Two => store_words::<u16>(from, to, bytes),
                Self::Four => store_words::<u32>(from, to, bytes),
                Self::Eight => store_words::<u64>(from, to, bytes),
            }
        }
    }

    /// Copies bytes out of the memory of a window.
    ///
    /// # Safety
    /// As for [`Self::store`], with `from` and `to` exchanged.
    #[inline(always)]
    pub unsafe fn load(self, from: *mut u8, to: *mut u8, bytes: usize) {
        // SAFETY: as for `store`.
        unsafe {
            match self {
                Self::Any => copy_run(from, to, bytes),
                Self::One => load_words::<u8>(from, to, bytes),
                Self::Two => load_words::<u16>(from, to, bytes),
                Self::Four => load_words::<u32>(from, to, bytes),
                Self::Eight => load_words::<u64>(from, to, bytes),
            }
        }
    }
}
