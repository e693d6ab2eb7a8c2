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
    slot: u32,
    /// Number of the persistent request that has started it.
    persistent: Option<u32>,
}

/// What a request of this layer stands for.
pub(super) enum Found {
    /// An operation under way.
    Active(Operation),
    /// Nothing: it is a persistent request that was not started.
    Inactive,
}

impl Operation {
    /// What a request stands for; `None` where it is not one of this layer.
    pub(super) fn find(request: MPI_Request) -> Option<Found> {
        let handle = Handle::of(request)?;
        let endpoint = endpoint::all().get(handle.endpoint)?;
        let (slot, persistent) = match handle.kind {
            Kind::Request => {
                endpoint.comm_of(handle)?;
                (handle.number, None)
            }
            Kind::Persistent => match endpoint.persistent.find(handle)?.active {
                Some(slot) => (slot, Some(handle.number)),
                None => return Some(Found::Inactive),
            },
            Kind::Comm | Kind::Message => return None,
        };
        Some(Found::Active(Self {
            endpoint,
            slot,
            persistent,
        }))
    }

    /// Whether it has ended.
    pub(super) fn is_done(self) -> bool {
        self.endpoint.is_done(self.slot)
    }

    /// Sleeps until it may have ended.
    pub(super) fn sleep(self) {
        self.endpoint.sleep(self.slot);
    }

    /// Takes its end, if it has come; the request that stands for it becomes null, or inactive.
    pub(super) fn poll(self, request: &mut MPI_Request) -> Option<End> {
        let end = self.endpoint.poll(self.slot)?;
        self.completed(request);
        Some(end)
    }

    fn completed(self, request: &mut MPI_Request) {
        match self.persistent {
            Some(number) => self.endpoint.persistent.set_active(number, None),
            None => *request = mpi::MPI_REQUEST_NULL,
        }
    }
}

/// The status of a null request.
pub(super) fn empty() -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: mpi::MPI_ANY_SOURCE,
        MPI_TAG: mpi::MPI_ANY_TAG,
        ..MPI_Status::default()
    }
}

/// Stores the status of a call without an operation.
///
/// # Safety
/// The status is the program's, or null.
unsafe fn store_empty(status: *mut MPI_Status) -> i32 {
    // SAFETY: the caller's promise.
    if let Some(status) = unsafe { status.as_mut() } {
        *status = MPI_Status {
            MPI_ERROR: status.MPI_ERROR,
            ..empty()
        };
    }
    mpi::MPI_SUCCESS
}

/// Ends a call for one request: stores the status, and raises an error.
///
/// # Safety
/// The status is the program's, or null.
unsafe fn finished(name: &CStr, end: &End, status: *mut MPI_Status) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { store(end.status, status) };
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
        match Operation::find(*request) {
            Some(Found::Active(operation)) => {
                let end = operation.endpoint.wait(operation.slot);
                operation.completed(&mut *request);
                finished(c"MPI_Wait", &end, status)
            }
            Some(Found::Inactive) => store_empty(status),
            None => unknown(c"MPI_Wait", mpi::MPI_ERR_REQUEST),
        }
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
        *flag = 1;
        match Operation::find(*request) {
            Some(Found::Active(operation)) => match operation.poll(&mut *request) {
                Some(end) => finished(c"MPI_Test", &end, status),
                None => {
                    *flag = 0;
                    mpi::MPI_SUCCESS
                }
            },
            Some(Found::Inactive) => store_empty(status),
            None => unknown(c"MPI_Test", mpi::MPI_ERR_REQUEST),
        }
    }
}

unsafe extern "C" fn request_free(request: *mut MPI_Request) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        if request.is_null() || !is_ours(*request) {
            return (NEXT.get().MPI_Request_free)(request);
        }
        let Some(found) = Operation::find(*request) else {
            return unknown(c"MPI_Request_free", mpi::MPI_ERR_REQUEST);
        };
        if let Found::Active(operation) = found {
            operation.endpoint.detach(operation.slot);
        }
        if let Some(handle) = Handle::of(*request).filter(|it| it.kind == Kind::Persistent) {
            endpoint::all()[handle.endpoint].persistent.forget(handle);
        }
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
        *flag = 1;
        match Operation::find(request) {
            Some(Found::Active(operation)) => {
                let found = operation.endpoint.peek(operation.slot);
                *flag = i32::from(found.is_some());
                if let (Some(found), Some(status)) = (found, status.as_mut()) {
                    *status = MPI_Status {
                        MPI_ERROR: status.MPI_ERROR,
                        ..found
                    };
                }
                mpi::MPI_SUCCESS
            }
            Some(Found::Inactive) => store_empty(status),
            None => unknown(c"MPI_Request_get_status", mpi::MPI_ERR_REQUEST),
        }
    }
}
