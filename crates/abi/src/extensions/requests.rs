// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of the calls that have them, and the call that completes operations without.

// account: function-call

use engine::completion;
use engine::p2p::CHECKED;
use engine::{Error, ErrorClass};
use mpi_abi_sys::types::{MPI_Comm, MPI_Request};

use super::extension;
use crate::error::{raise, run};
use crate::handle::COMMS;

/// Whether the result of a call is missing.
#[inline(always)]
pub(super) fn is_missing(request: *mut MPI_Request) -> bool {
    CHECKED && request.is_null() // account: argument-checks
}

/// The error of a call whose request has no place.
#[cold]
#[inline(never)]
pub(super) fn refuse_request(call: &'static str, comm: MPI_Comm) -> i32 {
    let expected = "the address of a variable of type MPI_Request";
    let error = Error::argument(ErrorClass::ERR_ARG, "request", "null", expected);
    raise(call, comm, error)
}

extension! {
    /// Waits for all operations without a request that this process has started on a communicator.
    ///
    /// # Safety
    /// None beyond the crate head's.
    MPIX_Comm_waitall PMPIX_Comm_waitall (comm: MPI_Comm) {
        let call = "MPIX_Comm_waitall";
        run(call, comm, || completion::wait_bulk(COMMS.find(comm, "comm")?, call))
    }
}
