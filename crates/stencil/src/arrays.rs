// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arrays of a rank.

use rankpoint::Plain;

use crate::area::{Field, Places};
use crate::quantity::Quantity;
use crate::view::Array;

/// The arrays of this rank.
pub(crate) struct Arrays {
    pub(crate) own: *mut u8,
    pub(crate) places: Places,
    pub(crate) fields: Vec<Field>,
    pub(crate) domain: u64,
    /// The point of the first element of each array.
    pub(crate) origin: [i64; 3],
}

impl Arrays {
    /// The array of a quantity.
    ///
    /// # Panics
    /// When the quantity is that of another domain.
    pub(crate) fn array<T: Plain>(&self, quantity: Quantity<T>, parity: usize) -> Array {
        assert_eq!(
            quantity.domain(),
            self.domain,
            "a quantity of another domain"
        );
        let field = &self.fields[quantity.index()];
        let [x, y, _] = self.places.sides;
        debug_assert_eq!(field.bytes, size_of::<T>());
        Array {
            first: self
                .own
                .wrapping_add(self.places.array(quantity.index(), parity)),
            origin: self.origin,
            row: x,
            plane: x * y,
        }
    }
}
