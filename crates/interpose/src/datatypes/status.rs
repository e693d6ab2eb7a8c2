// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statuses of the layer's own, from which the program's are filled: what a call has not written is seen.
//!
//! Some libraries return success when an error handler of the program has returned; then a status is not written, or has a code.

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Status;

/// No rank, and no code.
const UNWRITTEN: i32 = i32::MIN;

/// A status that may not have been written.
pub(super) trait Unwritten {
    /// One that no call has written.
    fn unwritten() -> Self;
    /// Whether a call has written it without an error.
    fn is_written(&self) -> bool;
    /// Copies what a call has written to the program's status, if it wants one.
    ///
    /// # Safety
    /// The program's status, or null (MPI_STATUS_IGNORE).
    unsafe fn copy_to(&self, wanted: *mut MPI_Status);
}

impl Unwritten for MPI_Status {
    fn unwritten() -> Self {
        Self {
            MPI_SOURCE: UNWRITTEN,
            MPI_ERROR: UNWRITTEN,
            ..Self::default()
        }
    }

    fn is_written(&self) -> bool {
        self.MPI_SOURCE != UNWRITTEN && [UNWRITTEN, mpi::MPI_SUCCESS].contains(&self.MPI_ERROR)
    }

    unsafe fn copy_to(&self, wanted: *mut MPI_Status) {
        if wanted.is_null() {
            return;
        }
        // SAFETY: the caller's promise.
        let wanted = unsafe { &mut *wanted };
        if self.MPI_SOURCE != UNWRITTEN {
            *wanted = Self {
                MPI_ERROR: wanted.MPI_ERROR,
                ..*self
            };
        }
        if self.MPI_ERROR != UNWRITTEN {
            wanted.MPI_ERROR = self.MPI_ERROR;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MPI_Status, Unwritten as _};

    #[test]
    fn what_was_not_written_is_not_copied() {
        let mut wanted = MPI_Status {
            MPI_SOURCE: 1,
            MPI_TAG: 2,
            MPI_ERROR: 3,
            MPI_internal: [4; 5],
        };
        let before = wanted;
        let mut own = MPI_Status::unwritten();
        // SAFETY: a status of this test.
        unsafe { own.copy_to(&raw mut wanted) };
        assert!(wanted == before && !own.is_written());
        (own.MPI_SOURCE, own.MPI_TAG) = (5, 6);
        // SAFETY: as above.
        unsafe { own.copy_to(&raw mut wanted) };
        assert!(
            own.is_written() && (wanted.MPI_SOURCE, wanted.MPI_TAG, wanted.MPI_ERROR) == (5, 6, 3)
        );
        own.MPI_ERROR = 7;
        // SAFETY: as above.
        unsafe { own.copy_to(&raw mut wanted) };
        assert!(!own.is_written() && wanted.MPI_ERROR == 7);
    }
}
