// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statuses that the layer needs where the program wants none.

use mpi_abi_sys::types::MPI_Status;

/// The program's status, or this one where it wants none (MPI_STATUS_IGNORE is null in the ABI).
pub(super) fn or_own(wanted: *mut MPI_Status, own: &mut MPI_Status) -> *mut MPI_Status {
    if wanted.is_null() { own } else { wanted }
}

/// The program's statuses, or as many of these.
pub(super) fn or_owns(
    wanted: *mut MPI_Status,
    owns: &mut Vec<MPI_Status>,
    count: usize,
) -> *mut MPI_Status {
    if !wanted.is_null() {
        return wanted;
    }
    owns.resize(count, MPI_Status::default());
    owns.as_mut_ptr()
}
