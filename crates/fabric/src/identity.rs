// SPDX-License-Identifier: MIT OR Apache-2.0
//! Index types, which the compiler keeps apart: processes, their VCIs, and the links of a VCI.

// account: caller

use std::fmt;

/// VCIs that a process may have.
pub const MOST_VCIS: usize = 64;

/// A process of the job: the rank in MPI_COMM_WORLD of those that it started with; processes that are added later follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct PeerIndex(u32);

impl PeerIndex {
    /// The process with this number.
    #[inline(always)]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for PeerIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A VCI of a process. The same number at another process is the VCI that it talks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct VciIndex(u8);

impl VciIndex {
    /// The VCI of MPI_COMM_WORLD, and of all that asks for no other.
    pub const FIRST: Self = Self(0);
    /// Number of bits that hold one.
    pub const BITS: u32 = MOST_VCIS.trailing_zeros();

    /// The VCI with this number, if a process may have as many.
    pub const fn new(index: u32) -> Option<Self> {
        if index < MOST_VCIS as u32 {
            Some(Self(index as u8))
        } else {
            None
        }
    }

    /// All VCIs that a process may have.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..MOST_VCIS as u8).map(Self)
    }

    /// Its number.
    #[inline(always)]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The number that the low bits of a word hold.
    #[inline(always)]
    pub const fn of_bits(bits: u32) -> Self {
        Self((bits % MOST_VCIS as u32) as u8)
    }
}

impl fmt::Display for VciIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The link of a VCI to a VCI of a process, as [`Peers`](crate::peers::Peers) numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct LinkIndex(u32);

impl LinkIndex {
    /// In a receive: any source.
    pub const ANY: Self = Self(u32::MAX);
    /// In an operation with MPI_PROC_NULL: no link.
    pub const NONE: Self = Self(u32::MAX - 1);

    /// The link with this number.
    #[inline(always)]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The process that it leads to, in a job that has room for so many, at least one.
    #[inline(always)]
    pub const fn process(self, capacity: u32) -> PeerIndex {
        PeerIndex(self.0 % capacity)
    }
}
