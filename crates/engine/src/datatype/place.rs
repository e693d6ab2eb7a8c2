// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds large objects in place: a datatype has half a kilobyte, and moving it from the stack takes a tenth of the time of
//! making a vector.
//!
//! # Safety
//! [`in_place`] writes the whole object before it treats the memory as one.
#![expect(unsafe_code, reason = "memory becomes an object once it is written")]

use std::sync::Arc;

/// The object that `make` returns, changed by `fill`, in its final place. The caller is the only owner.
#[inline(always)]
pub(super) fn in_place<T>(make: impl FnOnce() -> T, fill: impl FnOnce(&mut T)) -> Arc<T> {
    // `Arc::get_mut` would check for other owners with an atomic exchange.
    let place = Arc::into_raw(Arc::<T>::new_uninit()).cast_mut();
    // SAFETY: this function made the allocation, so it has no other owner, and wrote the whole object above.
    unsafe {
        fill((*place).write(make()));
        Arc::from_raw(place.cast::<T>())
    }
}
