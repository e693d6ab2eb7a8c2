// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that are made where they stay: a datatype is half a kilobyte, which takes its time to be moved from the stack.
//!
//! # Safety
//! What is taken for an object has been written as a whole.
#![expect(unsafe_code, reason = "memory becomes an object once it is written")]

use std::sync::Arc;

/// What `make` gives, changed by `fill`, in its place. Nobody else has it yet.
#[inline(always)]
pub(super) fn in_place<T>(make: impl FnOnce() -> T, fill: impl FnOnce(&mut T)) -> Arc<T> {
    // Asking the Arc whether it is the only one would be an exchange, a tenth of the time of making a vector.
    let place = Arc::into_raw(Arc::<T>::new_uninit()).cast_mut();
    // SAFETY: nobody else has it; what is taken for an object was written.
    unsafe {
        fill((*place).write(make()));
        Arc::from_raw(place.cast::<T>())
    }
}
