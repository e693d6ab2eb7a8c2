// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel works on.
#![expect(unsafe_code, reason = "views are made of addresses")]

use std::cell::Cell;
use std::ops::Range;

use rankpoint::Plain;

use crate::arrays::Arrays;
use crate::quantity::Quantity;
use crate::view::{Ranges, View, ViewMut};

/// A region of a rank's box, with the present values around it and the next ones in it.
pub struct Step<'a> {
    arrays: &'a Arrays,
    parity: usize,
    /// What the kernel shall write.
    region: Ranges,
    /// What it may read.
    readable: Ranges,
    /// A bit for each quantity whose next values are lent.
    taken: Cell<u64>,
    /// A bit for each quantity whose next values have been lent.
    made: Cell<u64>,
}

impl<'a> Step<'a> {
    /// # Safety
    /// For `'a` nobody writes the current arrays at readable points, and nobody else uses the next arrays in the region.
    pub(crate) const unsafe fn new(
        arrays: &'a Arrays,
        parity: usize,
        region: Ranges,
        readable: Ranges,
    ) -> Self {
        Self {
            arrays,
            parity,
            region,
            readable,
            taken: Cell::new(0),
            made: Cell::new(0),
        }
    }

    /// The points whose next values the kernel calculates, along x, y, z.
    pub fn region(&self) -> [Range<i64>; 3] {
        self.region.clone()
    }

    /// The present values of a quantity: those of the region and as far around it as the radius says.
    ///
    /// # Panics
    /// When the quantity is that of another domain.
    pub fn current<T: Plain>(&self, quantity: Quantity<T>) -> View<'_, T> {
        let array = self.arrays.array(quantity, self.parity);
        // SAFETY: the promise of `new`.
        unsafe { View::new(array, self.readable.clone()) }
    }

    /// The next values of a quantity in the region.
    ///
    /// # Panics
    /// When the quantity is that of another domain, or another view of its next values exists.
    #[track_caller]
    pub fn next<T: Plain>(&self, quantity: Quantity<T>) -> ViewMut<'_, T> {
        let array = self.arrays.array(quantity, 1 - self.parity);
        let bit = 1u64 << quantity.index();
        let taken = self.taken.get();
        assert!(
            taken & bit == 0,
            "the next values of quantity '{}' are lent already",
            self.arrays.fields[quantity.index()].name
        );
        self.taken.set(taken | bit);
        self.made.set(self.made.get() | bit);
        // SAFETY: the promise of `new`, and this is the only view.
        unsafe { ViewMut::new(array, self.region.clone(), Some((&self.taken, bit))) }
    }

    /// Makes the present values of a quantity in the region the next ones, too.
    ///
    /// # Panics
    /// As for [`Self::next`].
    #[track_caller]
    pub fn keep<T: Plain>(&self, quantity: Quantity<T>) {
        let (now, mut next) = (self.current(quantity), self.next(quantity));
        let [xs, ys, zs] = self.region();
        for (z, y) in zs.flat_map(|z| ys.clone().map(move |y| (z, y))) {
            let row = now.row(xs.clone(), y, z);
            next.row_mut(xs.clone(), y, z).copy_from_slice(row);
        }
    }

    /// Checks that the kernel has made next values of all quantities.
    ///
    /// # Panics
    /// When it has not.
    pub(crate) fn check(&self) {
        for (index, field) in self.arrays.fields.iter().enumerate() {
            assert!(
                self.made.get() & (1 << index) != 0,
                "the kernel has made no next values of quantity '{}' (Step::next, Step::keep)",
                field.name
            );
        }
    }
}
