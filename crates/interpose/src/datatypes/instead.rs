// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to data of a call that are not packed here.

use std::fmt::Display;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::{counts, device, own, route};
use crate::raise::raise;

/// Why data of a call are not packed here.
#[derive(Debug)]
pub(super) enum Instead {
    /// The library packs them.
    Library,
    /// Nobody can. The error was raised, and this is the code of the call.
    Error(i32),
}

/// Data in the memory of a GPU that this layer cannot pack: a library that takes such memory gets them, and for another one the call fails.
pub(super) fn refused(why: &dyn Display, comm: MPI_Comm) -> Instead {
    if route::is_device_memory_taken() {
        counts::add(&counts::DEVICE, 1);
        device::report(why);
        return Instead::Library;
    }
    Instead::Error(raised(why, comm))
}

/// Raises an error on the communicator of a call whose buffer is in the memory of a GPU; the code of the call.
pub(super) fn raised(why: &dyn Display, comm: MPI_Comm) -> i32 {
    let why = format!("datatypes: the buffer is in the memory of a GPU: {why}");
    // That of a message is assumed, which a program with sessions alone does not have.
    if comm != mpi::MPI_COMM_WORLD || own::is_world() {
        // SAFETY: a communicator that the library has.
        unsafe { raise(comm, mpi::MPI_ERR_BUFFER, &why) };
    }
    mpi::MPI_ERR_BUFFER
}
