// SPDX-License-Identifier: MIT OR Apache-2.0
//! What calls return beside their results: error codes, and indices, which start at 1. A status of 8 INTEGERs is the C status.

use mpi_abi_sys::constants::{MPI_SUCCESS, MPI_UNDEFINED};

/// Stores an error code, unless the program left `ierror` out.
///
/// # Safety
/// `ierror` is null or writable.
#[inline]
pub(crate) unsafe fn set(ierror: *mut i32, code: i32) {
    if !ierror.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *ierror = code };
    }
}

/// An index that starts at 1.
#[inline]
pub(crate) fn from_1(index: i32) -> i32 {
    if index == MPI_UNDEFINED {
        index
    } else {
        index + 1
    }
}

/// Makes `count` indices start at 1.
///
/// # Safety
/// `indices` is writable for them.
pub(crate) unsafe fn count_from_1(indices: *mut i32, count: i32) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise.
        unsafe { *indices.add(index) += 1 };
    }
}

macro_rules! converters {
    ($($name:ident $symbol:literal;)*) => {
        $(
            #[unsafe(export_name = $symbol)]
            unsafe extern "C" fn $name(from: *const [i32; 8], to: *mut [i32; 8], ierror: *mut i32) {
                // SAFETY: both are statuses of the program.
                unsafe {
                    *to = *from;
                    set(ierror, MPI_SUCCESS);
                }
            }
        )*
    };
}

converters! {
    f2f08 "mpi_status_f2f08_";
    f082f "mpi_status_f082f_";
    profiled_f2f08 "pmpi_status_f2f08_";
    profiled_f082f "pmpi_status_f082f_";
}
