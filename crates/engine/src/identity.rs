// SPDX-License-Identifier: MIT OR Apache-2.0
//! Index types, which the compiler keeps apart: those of the fabric, and ranks of communicators.

use std::fmt;

pub(crate) use fabric::identity::{LinkIndex, MOST_VCIS, PeerIndex, VciIndex};

/// A rank that a communicator addresses: of its group, or of the remote group of an intercommunicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Rank(u32);

impl Rank {
    /// The rank with this number.
    #[inline(always)]
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[inline(always)]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// Its number as programs see it.
    #[inline(always)]
    pub(crate) const fn to_mpi(self) -> i32 {
        self.0.cast_signed()
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
