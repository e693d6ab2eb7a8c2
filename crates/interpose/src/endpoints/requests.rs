// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls for one request.

use std::ffi::CStr;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::endpoint::{self, End, Endpoint};
use super::errors::{raise, unknown};
use super::handle::{Handle, Kind, is_ours};
use super::layer::NEXT;
use super::messages::store;
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Wait: wait,
        MPI_Test: test,
        MPI_Request_free: request_free,
        MPI_Request_get_status: get_status,
        ..next
    }
}

/// An operation that a request of this layer stands for.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) endpoint: &'static Endpoint,
    pub(super) slot: u32,
}

impl Operation {
    /// The operation of a request; `None` where it is not of this layer, or not under way.
    pub(super) fn of(request: MPI_Request) -> Option<Self> {
        let handle = Handle::of(request).filter(|handle| handle.kind == Kind::Request)?;
        let endpoint = endpoint::all().get(handle.endpoint)?;
        endpoint.knows(handle).then_some(Self {
            endpoint,
            slot: handle.number,
        })
    }

    /// Takes its end, if it has come.
    pub(super) fn poll(self) -> Option<End> {
        self.endpoint.poll(self.slot)
    }
}

/// Ends a call for one request: stores the status and the null request, and raises an error.
///
/// # Safety
/// The program's arguments.
unsafe fn finished(
    name: &CStr,
    end: &End,
    request: *mut MPI_Request,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        store(end, status);
        *request = mpi::MPI_REQUEST_NULL;
    }
    match end.code {
        mpi::MPI_SUCCESS => end.code,
        class => raise(&end.comm, name, class),
    }
}

unsafe extern "C" fn wait(request: *mut MPI_Request, status: *mut MPI_Status) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        if request.is_null() || !is_ours(*request) {
            return (NEXT.get().MPI_Wait)(request, status);
        }
        let Some(operation) = Operation::of(*request) else {
            return unknown(c"MPI_Wait", mpi::MPI_ERR_REQUEST);
        };
        let end = operation.endpoint.wait(operation.slot);
        finished(c"MPI_Wait", &end, request, status)
    }
}

unsafe extern "C" fn test(
    request: *mut MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        if request.is_null() || !is_ours(*request) {
            return (NEXT.get().MPI_Test)(request, flag, status);
        }
        let Some(operation) = Operation::of(*request) else {
            return unknown(c"MPI_Test", mpi::MPI_ERR_REQUEST);
        };
        let end = operation.poll();
        *flag = i32::from(end.is_some());
        match end {
            Some(end) => finished(c"MPI_Test", &end, request, status),
            None => mpi::MPI_SUCCESS,
        }
    }
}

unsafe extern "C" fn request_free(request: *mut MPI_Request) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        if request.is_null() || !is_ours(*request) {
            return (NEXT.get().MPI_Request_free)(request);
        }
        let Some(operation) = Operation::of(*request) else {
            return unknown(c"MPI_Request_free", mpi::MPI_ERR_REQUEST);
        };
        operation.endpoint.detach(operation.slot);
        *request = mpi::MPI_REQUEST_NULL;
    }
    mpi::MPI_SUCCESS
}

unsafe extern "C" fn get_status(
    request: MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        if !is_ours(request) {
            return (NEXT.get().MPI_Request_get_status)(request, flag, status);
        }
        let Some(operation) = Operation::of(request) else {
            return unknown(c"MPI_Request_get_status", mpi::MPI_ERR_REQUEST);
        };
        let found = operation.endpoint.peek(operation.slot);
        *flag = i32::from(found.is_some());
        if let (Some(found), Some(status)) = (found, status.as_mut()) {
            *status = found;
        }
    }
    mpi::MPI_SUCCESS
}
