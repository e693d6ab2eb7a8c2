// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of quantities.

use std::fmt;
use std::marker::PhantomData;

/// A quantity of a domain, with elements of a type.
pub struct Quantity<T> {
    index: usize,
    domain: u64,
    element: PhantomData<fn(T) -> T>,
}

impl<T> Quantity<T> {
    pub(crate) const fn new(index: usize, domain: u64) -> Self {
        Self {
            index,
            domain,
            element: PhantomData,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self.index
    }

    pub(crate) const fn domain(self) -> u64 {
        self.domain
    }
}

impl<T> Clone for Quantity<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Quantity<T> {}

impl<T> fmt::Debug for Quantity<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Quantity({})", self.index)
    }
}
