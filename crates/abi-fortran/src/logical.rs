// SPDX-License-Identifier: MIT OR Apache-2.0
//! LOGICALs. The lowest bit is the value with all compilers; `.TRUE.` is stored as 1.

use mpi_abi_sys::constants::MPI_SUCCESS;

/// A LOGICAL for C.
#[inline]
pub(crate) fn given(logical: i32) -> i32 {
    logical & 1
}

/// C's truth as a LOGICAL.
#[inline]
pub(crate) fn taken(truth: i32) -> i32 {
    i32::from(truth != 0)
}

/// An array of LOGICALs for C.
pub(crate) struct Array(Vec<i32>);

impl Array {
    /// # Safety
    /// `logicals` is readable for `length` entries.
    pub(crate) unsafe fn given(logicals: *const i32, length: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(
            (0..length)
                .map(|index| unsafe { given(*logicals.add(index)) })
                .collect(),
        )
    }

    pub(crate) fn as_ptr(&self) -> *const i32 {
        self.0.as_ptr()
    }
}

/// Makes LOGICALs of the truths that a call stored, if it succeeded.
///
/// # Safety
/// `truths` is writable for as many entries as `length` gives.
pub(crate) unsafe fn take_array(code: i32, truths: *mut i32, length: impl FnOnce() -> usize) {
    if code == MPI_SUCCESS {
        for index in 0..length() {
            // SAFETY: the caller's promise.
            unsafe { *truths.add(index) = taken(*truths.add(index)) };
        }
    }
}
