// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalized requests (MPI-5.0, section 13.2): requests that the program completes, with functions of its own.

use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::call::CallName;
use engine::request::RequestId;
use engine::request::Status;
use engine::{Error, ErrorClass, Result, task};
use mpi_abi_sys::types::{Callback, MPI_Request, MPI_Status};

use crate::error::run;
use crate::state::require_process;
use crate::status::{bytes, store, store_at, store_single};
use crate::sync::AtomicU32;

struct General {
    functions: Functions,
    complete: bool,
    /// MPI_Request_free was called before it was complete: the free function runs when it is.
    freed: bool,
}

/// Those that exist, by their ids; no table while there never was one.
static TABLE: Mutex<Option<HashMap<u64, General>>> = Mutex::new(None);

/// Whether there ever was one: waiting for other requests takes no lock before.
static ANY: AtomicU32 = AtomicU32::new(0);

fn table() -> MutexGuard<'static, Option<HashMap<u64, General>>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(id: RequestId) -> Option<General> {
    if ANY.load(Ordering::Relaxed) == 0 {
        return None;
    }
    table().as_mut()?.remove(&id.0)
}

/// The program's functions for a generalized request, 0 for one that does nothing, as Open MPI takes it. They are copied out
/// of the table: no lock is held while they run.
#[derive(Clone, Copy)]
struct Functions {
    query: Callback,
    free: Callback,
    cancel: Callback,
    state: usize,
}

impl Functions {
    /// The status after the program's query function; its `error` is the function's result.
    fn query(self, status: Status) -> Status {
        if self.query == 0 {
            return Status { error: 0, ..status };
        }
        let mut told = MPI_Status::default();
        store(&raw mut told, status);
        // SAFETY: the user registered a function of this type (MPI_Grequest_start).
        let code = unsafe {
            let query: unsafe extern "C" fn(usize, *mut MPI_Status) -> i32 =
                std::mem::transmute(self.query);
            query(self.state, &raw mut told)
        };
        Status {
            source: told.MPI_SOURCE,
            tag: told.MPI_TAG,
            error: code,
            cancelled: told.MPI_internal[0] != 0,
            bytes: bytes(&told),
        }
    }

    /// Calls the free function, which is the last use of a generalized request; returns the function's result.
    fn free(self) -> i32 {
        if self.free == 0 {
            return 0;
        }
        // SAFETY: the user registered a function of this type (MPI_Grequest_start).
        unsafe {
            let free: unsafe extern "C" fn(usize) -> i32 = std::mem::transmute(self.free);
            free(self.state)
        }
    }

    /// Ends a complete request: returns its status, whose `error` is the result of the free function, or else of the query function.
    fn finish(self, status: Status) -> Status {
        let status = self.query(status);
        match self.free() {
            0 => status,
            error => Status { error, ..status },
        }
    }
}

/// The result of a call from that of its callback.
fn outcome(function: &str, code: i32) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let text = format!("the {function} function of a generalized request returned {code}");
    Err(Error::new(ErrorClass(code), text))
}

/// The requests of an array, if generalized ones may be among them: their ids are gone once they are complete.
pub(crate) fn remember(ids: &[RequestId]) -> Vec<RequestId> {
    let some =
        ANY.load(Ordering::Relaxed) != 0 && table().as_ref().is_some_and(|map| !map.is_empty());
    if some { ids.to_vec() } else { Vec::new() }
}

/// Runs after a request completed: the functions of a generalized request fill in the status and its `error`.
pub(crate) fn complete(id: RequestId, status: Status) -> Status {
    match take(id) {
        Some(general) => general.functions.finish(status),
        None => status,
    }
}

/// As [`complete`], for a call that completes one request and stores its status.
///
/// # Errors
/// The error that a function of the program returned.
pub(crate) fn complete_one(id: RequestId, status: Status, target: *mut MPI_Status) -> Result<()> {
    let status = complete(id, status);
    store_single(target, status);
    outcome("query or free", status.error)
}

/// As [`complete`], for all requests of an array, whose statuses are stored.
///
/// # Errors
/// MPI_ERR_IN_STATUS if a function of the program returned an error.
pub(crate) fn complete_all(remembered: &[RequestId], statuses: *mut MPI_Status) -> Result<()> {
    let mut failed = 0;
    for (index, &id) in remembered.iter().enumerate() {
        if let Some(general) = take(id) {
            let status = general.functions.finish(Status::EMPTY);
            store_at(statuses, index, status);
            failed += i32::from(status.error != 0);
        }
    }
    in_status(failed)
}

/// The outcome of a call of which so many generalized requests failed.
pub(crate) fn in_status(failed: i32) -> Result<()> {
    if failed == 0 {
        return Ok(());
    }
    let text = format!("functions of {failed} generalized requests returned errors");
    Err(Error::new(ErrorClass::ERR_IN_STATUS, text))
}

/// The status of a complete request that stays: a generalized one's query function says it.
///
/// # Errors
/// The error that the query function returned.
pub(crate) fn peek(id: RequestId, status: Status) -> Result<Status> {
    if ANY.load(Ordering::Relaxed) == 0 {
        return Ok(status);
    }
    let functions = {
        let guard = table();
        let general = guard.as_ref().and_then(|map| map.get(&id.0));
        general.map(|general| general.functions)
    };
    let Some(functions) = functions else {
        return Ok(status);
    };
    let status = functions.query(status);
    outcome("query", status.error).map(|()| status)
}

/// MPI_Request_free was called: the free function runs now, or when the generalized request is complete.
///
/// # Errors
/// The error that the free function returned.
pub(crate) fn free(id: RequestId) -> Result<()> {
    if ANY.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    let done = {
        let mut guard = table();
        match guard.as_mut().and_then(|map| map.get_mut(&id.0)) {
            Some(general) => {
                general.freed = true;
                general.complete
            }
            None => false,
        }
    };
    if done {
        return free_now(id);
    }
    Ok(())
}

/// Forgets a request and calls its free function.
fn free_now(id: RequestId) -> Result<()> {
    take(id).map_or(Ok(()), |general| outcome("free", general.functions.free()))
}

/// Whether the request was a generalized one, whose cancel function was called.
///
/// # Errors
/// The error that the cancel function returned.
pub(crate) fn cancel(id: RequestId) -> Result<bool> {
    let known = table().as_ref().and_then(|map| {
        let general = map.get(&id.0)?;
        Some((general.functions, general.complete))
    });
    let Some((functions, complete)) = known else {
        return Ok(false);
    };
    if functions.cancel == 0 {
        return Ok(true);
    }
    // SAFETY: the user registered a function of this type (MPI_Grequest_start). No lock is held.
    let code = unsafe {
        let cancel: unsafe extern "C" fn(usize, i32) -> i32 = std::mem::transmute(functions.cancel);
        cancel(functions.state, i32::from(complete))
    };
    outcome("cancel", code).map(|()| true)
}

pub(crate) unsafe fn MPI_Grequest_start(
    query_fn: Callback,
    free_fn: Callback,
    cancel_fn: Callback,
    extra_state: *mut c_void,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Grequest_start", 0, || {
        let id = task::new_request(require_process()?.itself(), CallName::UNKNOWN)?;
        let functions = Functions {
            query: query_fn,
            free: free_fn,
            cancel: cancel_fn,
            state: extra_state as usize,
        };
        let general = General {
            functions,
            complete: false,
            freed: false,
        };
        ANY.store(1, Ordering::Relaxed);
        table().get_or_insert_default().insert(id.0, general);
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) fn MPI_Grequest_complete(request: MPI_Request) -> i32 {
    run("MPI_Grequest_complete", 0, || {
        let id = RequestId(request as u64);
        let freed = note_complete(id)?;
        task::complete_request(require_process()?.vci(), id)?;
        if freed {
            return free_now(id);
        }
        Ok(())
    })
}

/// Notes that the program has completed a request; whether it has freed it before.
fn note_complete(id: RequestId) -> Result<bool> {
    let wrong = |value: &str| {
        let expected = "a generalized request that is not complete";
        let class = ErrorClass::ERR_REQUEST;
        Err(Error::argument(class, "request", value, expected))
    };
    let mut guard = table();
    match guard.as_mut().and_then(|map| map.get_mut(&id.0)) {
        Some(general) if general.complete => wrong("complete already"),
        Some(general) => {
            general.complete = true;
            Ok(general.freed)
        }
        None if id == RequestId::NULL => wrong("MPI_REQUEST_NULL"),
        None => wrong("no generalized request"),
    }
}
