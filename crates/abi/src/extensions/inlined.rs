// SPDX-License-Identifier: MIT OR Apache-2.0
//! What programs need whose sends are compiled into them (`mpi_rankpoint_inline.h`).

// account: function-call

use core::ffi::c_void;
use std::ptr;

use engine::comm::Predefined;
use engine::p2p;
use mpi_abi_sys::types::MPI_Comm;

use super::calls::SendAllOpts;
use super::predefined::place_of;

/// Version of the layout that the header describes. Assertions beside the types pin it.
const VERSION: i32 = 1;

/// The places of communicators with constant handles; null for a version of their layout that is not this library's. May be called at any
/// time.
// MPI functions have these names.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn MPIX_Inline_places(version: i32) -> *const c_void {
    if version == VERSION {
        Predefined::all().as_ptr().cast()
    } else {
        ptr::null()
    }
}

/// Wakes the receiver of a message that the program itself has written; MPI_SUCCESS.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn MPIX_Inline_wake(dest: i32, comm: MPI_Comm) -> i32 {
    match place_of(comm).and_then(Predefined::comm) {
        Some(comm) => p2p::wake::<SendAllOpts>(comm, dest),
        None => 0,
    }
}
