// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalized requests (MPI-5.0, section 13.2): requests that the program completes, with functions of its own.

use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::call::CallName;
use engine::request::Status;
use engine::vci::operations::RequestId;
use engine::{Error, ErrorClass, Result, task};
use mpi_abi_sys::types::{Callback, MPI_Request, MPI_Status};

use crate::env::require_process;
use crate::error::run;
use crate::status::store;
use crate::sync::AtomicU32;

struct General {
    query: Callback,
    free: Callback,
    cancel: Callback,
    state: usize,
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

impl General {
    /// Calls the program's free function, the last thing that happens to a generalized request.
    fn free(self) {
        // SAFETY: the user registered a function of this type (MPI_Grequest_start). No lock is held.
        unsafe {
            let free: unsafe extern "C" fn(usize) -> i32 = std::mem::transmute(self.free);
            free(self.state);
        }
    }
}

/// The requests of an array, if generalized ones may be among them: their ids are gone once they are complete.
pub(crate) fn remember(ids: &[RequestId]) -> Vec<RequestId> {
    let some =
        ANY.load(Ordering::Relaxed) != 0 && table().as_ref().is_some_and(|map| !map.is_empty());
    if some { ids.to_vec() } else { Vec::new() }
}

/// Runs after a request completed: a generalized one's query and free functions say its status.
pub(crate) fn complete(id: RequestId, status: Status, target: *mut MPI_Status) -> Status {
    let Some(general) = take(id) else {
        return status;
    };
    let mut local = MPI_Status::default();
    let out = if target.is_null() {
        &raw mut local
    } else {
        target
    };
    store(out, status);
    // SAFETY: the user registered a function of this type (MPI_Grequest_start). No lock is held.
    unsafe {
        let query: unsafe extern "C" fn(usize, *mut MPI_Status) -> i32 =
            std::mem::transmute(general.query);
        query(general.state, out);
    }
    general.free();
    // SAFETY: `out` is the local status or the program's (crate head).
    let out = unsafe { &*out };
    let bytes = u64::from(out.MPI_internal[1] as u32) | u64::from(out.MPI_internal[2] as u32) << 32;
    Status {
        source: out.MPI_SOURCE,
        tag: out.MPI_TAG,
        error: status.error,
        cancelled: out.MPI_internal[0] != 0,
        bytes,
    }
}

/// [`complete`] for all requests of an array.
pub(crate) fn complete_all(remembered: &[RequestId], statuses: *mut MPI_Status) {
    for (index, &id) in remembered.iter().enumerate() {
        let target = if statuses.is_null() {
            statuses
        } else {
            statuses.wrapping_add(index)
        };
        complete(id, Status::EMPTY, target);
    }
}

/// MPI_Request_free was called: what the program keeps for a generalized request is freed now, or when that is complete.
pub(crate) fn free(id: RequestId) {
    if ANY.load(Ordering::Relaxed) == 0 {
        return;
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
    if done && let Some(general) = take(id) {
        general.free();
    }
}

/// Whether the request was a generalized one, whose cancel function was called.
pub(crate) fn cancel(id: RequestId) -> bool {
    let known = table().as_ref().and_then(|map| {
        let general = map.get(&id.0)?;
        Some((general.cancel, general.state, general.complete))
    });
    let Some((cancel, state, complete)) = known else {
        return false;
    };
    // SAFETY: the user registered a function of this type (MPI_Grequest_start). No lock is held.
    unsafe {
        let cancel: unsafe extern "C" fn(usize, i32) -> i32 = std::mem::transmute(cancel);
        cancel(state, i32::from(complete));
    }
    true
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
        let general = General {
            query: query_fn,
            free: free_fn,
            cancel: cancel_fn,
            state: extra_state as usize,
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
        if freed && let Some(general) = take(id) {
            general.free();
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
