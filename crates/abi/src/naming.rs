// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of calls in errors and in the hang report: bodies serve `int` and large counts alike (MPI-5.0, section 19.2), and
//! say which form the program called. Types decide, so a name is a constant of each form and costs nothing.

use core::ffi::c_void;

/// Types of arguments, of which some are found in large-count forms alone.
pub(crate) trait Wide {
    /// Whether only a form that ends in `_c` has it.
    const WIDE: bool;
}

impl Wide for i32 {
    const WIDE: bool = false;
}

impl Wide for i64 {
    const WIDE: bool = true;
}

/// Addresses, which both forms may have.
impl Wide for isize {
    const WIDE: bool = false;
}

/// Handles.
impl Wide for usize {
    const WIDE: bool = false;
}

impl Wide for c_void {
    const WIDE: bool = false;
}

impl<T: Wide> Wide for *const T {
    const WIDE: bool = T::WIDE;
}

impl<T: Wide> Wide for *mut T {
    const WIDE: bool = T::WIDE;
}

/// A count of either form.
pub(crate) trait Number: Into<i64> + Wide + Copy {}

impl<T: Into<i64> + Wide + Copy> Number for T {}

/// Whether an argument is that of a large-count form.
pub(crate) const fn is_wide<T: Wide>(_: &T) -> bool {
    T::WIDE
}

/// The name of the form that arguments of this type belong to.
pub(crate) const fn called<T: Wide>(call: &'static str, large: &'static str) -> &'static str {
    if T::WIDE { large } else { call }
}

/// The name of a call, with `_c` where one of these arguments is that of a large-count form.
macro_rules! named {
    ($name:expr $(, $argument:expr)*) => {
        if false $(|| $crate::naming::is_wide(&$argument))* {
            concat!($name, "_c")
        } else {
            $name
        }
    };
}
pub(crate) use named;
