// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of calls on endpoint communicators.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::comm::Comm;
use super::endpoint;
use super::handle::{Handle, Kind};
use crate::output::say;
use crate::table::REAL;

/// The name of a function of the table.
macro_rules! named {
    ($name:ident) => {
        match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        }
    };
}
pub(super) use named;

/// The text of the library for an error class.
fn text(class: i32) -> String {
    let mut text = [0u8; mpi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: a text with the room that the ABI asks for.
    let code =
        unsafe { (REAL.get().MPI_Error_string)(class, text.as_mut_ptr().cast(), &raw mut length) };
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    match code {
        mpi::MPI_SUCCESS => text.to_string_lossy().into_owned(),
        _ => format!("error class {class}"),
    }
}

/// Raises an error on an endpoint communicator: gives its class, or ends the job.
pub(super) fn raise(comm: &Comm, name: &CStr, class: i32) -> i32 {
    raise_with(comm, name, class, &text(class))
}

fn raise_with(comm: &Comm, name: &CStr, class: i32, why: &str) -> i32 {
    if comm.handler.load(Relaxed) != mpi::MPI_ERRORS_RETURN {
        let (name, rank) = (name.to_string_lossy(), comm.rank);
        end(&format!("{name} at endpoint rank {rank}: {why}"), class);
    }
    class
}

/// An error of a handle that nothing is known of: those of MPI_COMM_SELF are raised there (MPI-5.0, section 9.3).
pub(super) fn unknown(name: &CStr, class: i32) -> i32 {
    let name = name.to_string_lossy();
    let why = format!("{name}: the handle was freed, or never was one of an endpoint");
    // SAFETY: MPI is initialised where there are such handles.
    unsafe { crate::raise::raise(mpi::MPI_COMM_SELF, class, &why) };
    class
}

/// A function that the layer does not have for endpoints.
pub(super) fn refuse(name: &CStr, handle: usize) -> i32 {
    let class = mpi::MPI_ERR_UNSUPPORTED_OPERATION;
    let Some(comm) = comm_of(handle) else {
        return unknown(name, class);
    };
    raise_with(&comm, name, class, "not supported for endpoints")
}

/// The communicator of a handle, or of the operation of a request or a message.
fn comm_of(handle: usize) -> Option<Arc<Comm>> {
    let parts = Handle::of(handle)?;
    let endpoint = endpoint::all().get(parts.endpoint)?;
    match parts.kind {
        Kind::Comm => Comm::find(handle),
        Kind::Request | Kind::Message => endpoint.comm_of(parts),
        Kind::Persistent => endpoint.persistent.find(parts).map(|it| it.comm),
    }
}

/// Ends the job with a line.
pub(super) fn end(why: &str, class: i32) -> ! {
    say(&format!("endpoints: {why}"));
    // SAFETY: ends the job.
    unsafe { (REAL.get().MPI_Abort)(mpi::MPI_COMM_WORLD as MPI_Comm, class) };
    crate::output::end("endpoints: MPI_Abort has returned")
}
