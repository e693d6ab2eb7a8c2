// SPDX-License-Identifier: MIT OR Apache-2.0
//! Index types, which the compiler keeps apart.

use fabric::board::MOST_VCIS;

/// A VCI of a process. The same number at another process is the VCI that it talks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct VciIndex(u8);

impl VciIndex {
    /// The VCI of MPI_COMM_WORLD, and of all that asks for no other.
    pub const FIRST: Self = Self(0);
    /// Number of bits that hold one.
    pub(crate) const BITS: u32 = MOST_VCIS.trailing_zeros();

    /// The VCI with this number, if a process may have as many.
    pub const fn new(index: u32) -> Option<Self> {
        if index < MOST_VCIS as u32 {
            Some(Self(index as u8))
        } else {
            None
        }
    }

    /// Its number.
    #[inline(always)]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The number that the low bits of a word hold.
    #[inline(always)]
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self((bits % MOST_VCIS as u32) as u8)
    }
}
