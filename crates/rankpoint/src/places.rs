// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of elements at the targets of one-sided operations: numbers, or addresses.

use std::fmt;
use std::marker::PhantomData;

use engine::rma::Spot;

/// How operations name places at their target.
pub trait Places: private::Sealed {
    /// What names an element.
    type Of<E>;

    #[doc(hidden)]
    fn spot<E>(place: Self::Of<E>) -> Spot;
}

/// Places at the target are element numbers.
#[derive(Clone, Copy, Debug)]
pub enum ByIndex {}

/// Places at the target are addresses in the target's process.
#[derive(Clone, Copy, Debug)]
pub enum ByAddress {}

impl Places for ByIndex {
    type Of<E> = usize;

    // An index beyond all displacements is a negative one, which the engine refuses.
    #[inline(always)]
    fn spot<E>(index: usize) -> Spot {
        Spot::Displacement(index.cast_signed() as i64)
    }
}

impl Places for ByAddress {
    type Of<E> = Address<E>;

    #[inline(always)]
    fn spot<E>(place: Address<E>) -> Spot {
        Spot::Address(place.bits())
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::ByIndex {}
    impl Sealed for super::ByAddress {}
}

/// The address of an element in the process that owns it. It is a number that ranks send to each other; an operation that is given one
/// outside the window of its target fails.
pub struct Address<E> {
    bits: u64,
    element: PhantomData<fn(E) -> E>,
}

impl<E> Address<E> {
    /// The address that [`Self::bits`] of the owner gave.
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            bits,
            element: PhantomData,
        }
    }

    /// The address as a number, to be sent to other ranks.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// The address of an element `count` elements further on.
    #[must_use]
    pub const fn add(self, count: usize) -> Self {
        let distance = (count as u64).wrapping_mul(size_of::<E>() as u64);
        Self::from_bits(self.bits.wrapping_add(distance))
    }
}

impl<E> Clone for Address<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Address<E> {}

impl<E> fmt::Debug for Address<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({:#x})", self.bits)
    }
}
