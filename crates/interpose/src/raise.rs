// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors that this library raises on communicators of the MPI library.

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use crate::output::say;
use crate::table::REAL;

/// Describes an error in a line, and does with its class what the error handler of the communicator says.
///
/// The predefined handlers are not called: libraries describe what a class of the ABI is among their own codes, which is another error.
///
/// # Safety
/// A communicator of the MPI library, which is initialised.
pub(crate) unsafe fn raise(comm: MPI_Comm, class: i32, why: &str) {
    say(why);
    let library = REAL.get();
    let mut handler = mpi::MPI_ERRHANDLER_NULL;
    // SAFETY: the caller's promise. The handler of the program gets a code.
    unsafe {
        let code = (library.MPI_Comm_get_errhandler)(comm, &raw mut handler);
        match handler {
            _ if code != mpi::MPI_SUCCESS => {}
            mpi::MPI_ERRORS_RETURN => {}
            mpi::MPI_ERRORS_ARE_FATAL => {
                (library.MPI_Abort)(mpi::MPI_COMM_WORLD, class);
            }
            mpi::MPI_ERRORS_ABORT => {
                (library.MPI_Abort)(comm, class);
            }
            _ => {
                (library.MPI_Comm_call_errhandler)(comm, class);
                (library.MPI_Errhandler_free)(&raw mut handler);
            }
        }
    }
}
