// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completing requests (MPI-5.0, sections 3.7 and 13.2). An MPI_Request is the engine's request id.
// LONG: every form of completion beside the others, so that their differences show.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use engine::request::{self, Any, Status};
use engine::vci::Vci;
use engine::vci::operations::RequestId;
use engine::{Error, ErrorClass, Result, task};
use mpi_abi_sys::constants::{MPI_ERR_IN_STATUS, MPI_UNDEFINED};
use mpi_abi_sys::types::{Callback, MPI_Comm, MPI_Request, MPI_Status};

use crate::env::{process, require_process};
use crate::error::run;
use crate::status::{store, store_single};

/// The handle of the communicator that a request belongs to, for its error handler; 0 if unknown.
pub(crate) fn comm_handle(id: RequestId) -> MPI_Comm {
    let comm = process().and_then(|process| request::comm_of(process, id));
    comm.map_or(0, |comm| comm.handle.load(Ordering::Relaxed) as usize)
}

fn vci() -> Result<&'static Vci> {
    Ok(require_process()?.vci())
}

/// An array of requests, in place.
///
/// # Safety
/// `requests` points to `count` handles, or `count` is 0.
unsafe fn slice<'a>(count: i32, requests: *mut MPI_Request) -> Result<&'a mut [RequestId]> {
    let length = usize::try_from(count).map_err(|_| {
        Error::argument(ErrorClass::ERR_COUNT, "count", count, "0 or more requests")
    })?;
    if length == 0 {
        return Ok(&mut []);
    }
    if requests.is_null() {
        return Err(Error::argument(
            ErrorClass::ERR_REQUEST,
            "array_of_requests",
            "null",
            "an array of requests",
        ));
    }
    // SAFETY: the caller's promise; a RequestId is a transparent word like an MPI_Request.
    Ok(unsafe { std::slice::from_raw_parts_mut(requests.cast(), length) })
}

/// The communicator handle of the first request of an array, for errors of the whole call.
unsafe fn array_comm(count: i32, requests: *const MPI_Request) -> MPI_Comm {
    (0..count.max(0) as usize)
        // SAFETY: the array has `count` entries (crate head).
        .map(|index| comm_handle(RequestId(unsafe { *requests.add(index) } as u64)))
        .find(|&handle| handle != 0)
        .unwrap_or(0)
}

/// Runs after a request completed: a generalized request's query and free functions.
fn complete_general(id: RequestId, status: Status, target: *mut MPI_Status) -> Status {
    let Some(general) = GENERALIZED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take_if_known(id)
    else {
        return status;
    };
    let mut local = MPI_Status::default();
    let out = if target.is_null() {
        &raw mut local
    } else {
        target
    };
    store(out, status);
    // SAFETY: the user registered functions of these types (MPI_Grequest_start). No lock is held.
    unsafe {
        let query: unsafe extern "C" fn(usize, *mut MPI_Status) -> i32 =
            std::mem::transmute(general.query);
        let free: unsafe extern "C" fn(usize) -> i32 = std::mem::transmute(general.free);
        query(general.state, out);
        free(general.state);
        let bytes = u64::from((*out).MPI_internal[1] as u32)
            | u64::from((*out).MPI_internal[2] as u32) << 32;
        Status {
            source: (*out).MPI_SOURCE,
            tag: (*out).MPI_TAG,
            error: status.error,
            cancelled: (*out).MPI_internal[0] != 0,
            bytes,
        }
    }
}

struct General {
    query: Callback,
    free: Callback,
    cancel: Callback,
    state: usize,
    complete: bool,
}

#[derive(Default)]
struct GeneralTable {
    requests: Option<HashMap<u64, General>>,
}

impl GeneralTable {
    fn take_if_known(&mut self, id: RequestId) -> Option<General> {
        self.requests.as_mut()?.remove(&id.0)
    }
}

static GENERALIZED: Mutex<GeneralTable> = Mutex::new(GeneralTable { requests: None });

pub(crate) unsafe fn MPI_Grequest_start(
    query_fn: Callback,
    free_fn: Callback,
    cancel_fn: Callback,
    extra_state: *mut core::ffi::c_void,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Grequest_start", 0, || {
        let id = task::new_request(require_process()?.itself())?;
        let general = General {
            query: query_fn,
            free: free_fn,
            cancel: cancel_fn,
            state: extra_state as usize,
            complete: false,
        };
        let mut table = GENERALIZED.lock().unwrap_or_else(PoisonError::into_inner);
        table.requests.get_or_insert_default().insert(id.0, general);
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) fn MPI_Grequest_complete(request: MPI_Request) -> i32 {
    run("MPI_Grequest_complete", 0, || {
        let id = RequestId(request as u64);
        if let Some(requests) = &mut GENERALIZED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .requests
            && let Some(general) = requests.get_mut(&id.0)
        {
            general.complete = true;
        }
        task::complete_request(vci()?, id)
    })
}

pub(crate) unsafe fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> i32 {
    // SAFETY: the handle is readable and writable (crate head).
    let id = unsafe { &mut *request.cast::<RequestId>() };
    if *id == RequestId::SENT {
        *id = RequestId::NULL;
        store_single(status, Status::EMPTY);
        return 0;
    }
    let before = *id;
    run("MPI_Wait", comm_handle(before), || {
        let done = request::wait(vci()?, id, "MPI_Wait")?;
        store_single(status, complete_general(before, done, status));
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Test(
    request: *mut MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: the handle is readable and writable (crate head).
    let id = unsafe { &mut *request.cast::<RequestId>() };
    let before = *id;
    run("MPI_Test", comm_handle(before), || {
        let done = request::test(vci()?, id)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(done.is_some()) };
        if let Some(done) = done {
            store_single(status, complete_general(before, done, status));
        }
        Ok(())
    })
}

/// Stores the status of entry `index` of an array, or nothing for MPI_STATUSES_IGNORE.
fn store_at(statuses: *mut MPI_Status, index: usize, status: Status) {
    if !statuses.is_null() {
        store(statuses.wrapping_add(index), status);
    }
}

pub(crate) unsafe fn MPI_Waitall(
    count: i32,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    run(
        "MPI_Waitall",
        unsafe { array_comm(count, requests) },
        || {
            // SAFETY: passed on.
            let ids = unsafe { slice(count, requests) }?;
            let before: Vec<RequestId> = if has_general() {
                ids.to_vec()
            } else {
                Vec::new()
            };
            request::wait_all(vci()?, ids, "MPI_Waitall", &mut |index, status| {
                store_at(statuses, index, status)
            })?;
            finish_general(&before, statuses);
            Ok(())
        },
    )
}

fn has_general() -> bool {
    GENERALIZED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .requests
        .as_ref()
        .is_some_and(|map| !map.is_empty())
}

fn finish_general(before: &[RequestId], statuses: *mut MPI_Status) {
    for (index, &id) in before.iter().enumerate() {
        let target = if statuses.is_null() {
            statuses
        } else {
            statuses.wrapping_add(index)
        };
        complete_general(id, Status::EMPTY, target);
    }
}

pub(crate) unsafe fn MPI_Testall(
    count: i32,
    requests: *mut MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    run(
        "MPI_Testall",
        unsafe { array_comm(count, requests) },
        || {
            // SAFETY: passed on.
            let ids = unsafe { slice(count, requests) }?;
            let before: Vec<RequestId> = if has_general() {
                ids.to_vec()
            } else {
                Vec::new()
            };
            let done = request::test_all(vci()?, ids, &mut |index, status| {
                store_at(statuses, index, status)
            })?;
            // SAFETY: the result is writable (crate head).
            unsafe { *flag = i32::from(done) };
            if done {
                finish_general(&before, statuses);
            }
            Ok(())
        },
    )
}

fn report_any(
    found: Any,
    before: &[RequestId],
    index: *mut i32,
    flag: Option<*mut i32>,
    status: *mut MPI_Status,
) {
    let (position, done, what) = match found {
        Any::Done(position, what) => {
            let what = before
                .get(position)
                .map_or(what, |&id| complete_general(id, what, status));
            (position as i32, true, Some(what))
        }
        Any::NoneActive => (MPI_UNDEFINED, true, Some(Status::EMPTY)),
        Any::NotYet => (MPI_UNDEFINED, false, None),
    };
    // SAFETY: the results are writable (crate head).
    unsafe {
        *index = position;
        if let Some(flag) = flag {
            *flag = i32::from(done);
        }
    }
    match what {
        // The empty status has MPI_SUCCESS as its error (MPI-5.0, section 3.7.3).
        Some(what) if position == MPI_UNDEFINED => store(status, what),
        Some(what) => store_single(status, what),
        None => {}
    }
}

pub(crate) unsafe fn MPI_Waitany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    run(
        "MPI_Waitany",
        unsafe { array_comm(count, requests) },
        || {
            // SAFETY: passed on.
            let ids = unsafe { slice(count, requests) }?;
            let before: Vec<RequestId> = if has_general() {
                ids.to_vec()
            } else {
                Vec::new()
            };
            report_any(
                request::wait_any(vci()?, ids, "MPI_Waitany")?,
                &before,
                index,
                None,
                status,
            );
            Ok(())
        },
    )
}

pub(crate) unsafe fn MPI_Testany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    run(
        "MPI_Testany",
        unsafe { array_comm(count, requests) },
        || {
            // SAFETY: passed on.
            let ids = unsafe { slice(count, requests) }?;
            let before: Vec<RequestId> = if has_general() {
                ids.to_vec()
            } else {
                Vec::new()
            };
            report_any(
                request::test_any(vci()?, ids)?,
                &before,
                index,
                Some(flag),
                status,
            );
            Ok(())
        },
    )
}

unsafe fn some(
    call: &'static str,
    incount: i32,
    requests: *mut MPI_Request,
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
    waits: bool,
) -> i32 {
    // SAFETY: passed on.
    run(call, unsafe { array_comm(incount, requests) }, || {
        // SAFETY: passed on.
        let ids = unsafe { slice(incount, requests) }?;
        let before: Vec<RequestId> = if has_general() {
            ids.to_vec()
        } else {
            Vec::new()
        };
        let mut done = 0usize;
        let outcome = request::complete_some(vci()?, ids, call, waits, &mut |index, status| {
            // SAFETY: the arrays have `incount` entries (crate head).
            unsafe { *indices.add(done) = index as i32 };
            let target = if statuses.is_null() {
                statuses
            } else {
                statuses.wrapping_add(done)
            };
            let status = before
                .get(index)
                .map_or(status, |&id| complete_general(id, status, target));
            store_at(statuses, done, status);
            done += 1;
        });
        // SAFETY: the result is writable (crate head).
        unsafe {
            *outcount = if matches!(outcome, Ok(None)) {
                MPI_UNDEFINED
            } else {
                done as i32
            }
        };
        outcome.map(drop)
    })
}

pub(crate) unsafe fn MPI_Waitsome(
    incount: i32,
    requests: *mut MPI_Request,
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    unsafe {
        some(
            "MPI_Waitsome",
            incount,
            requests,
            outcount,
            indices,
            statuses,
            true,
        )
    }
}

pub(crate) unsafe fn MPI_Testsome(
    incount: i32,
    requests: *mut MPI_Request,
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    unsafe {
        some(
            "MPI_Testsome",
            incount,
            requests,
            outcount,
            indices,
            statuses,
            false,
        )
    }
}

/// Statuses of an array of requests without freeing them: (index, status) of those that are complete and not null.
unsafe fn peek_array(
    count: i32,
    requests: *const MPI_Request,
) -> Result<(Vec<(usize, Status)>, usize)> {
    // SAFETY: passed on; nothing is written.
    let ids = unsafe { slice(count, requests.cast_mut()) }?;
    let mut done = Vec::new();
    let mut active = 0;
    for (index, &id) in ids.iter().enumerate() {
        if id == RequestId::NULL {
            continue;
        }
        active += 1;
        if let Some(status) = request::peek(vci()?, id)? {
            done.push((index, status));
        }
    }
    Ok((done, active))
}

pub(crate) unsafe fn MPI_Request_get_status_all(
    count: i32,
    requests: *const MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    run(
        "MPI_Request_get_status_all",
        unsafe { array_comm(count, requests) },
        || {
            // SAFETY: passed on.
            let (done, active) = unsafe { peek_array(count, requests) }?;
            // SAFETY: the result is writable (crate head).
            unsafe { *flag = i32::from(done.len() == active) };
            if done.len() == active {
                (0..count.max(0) as usize)
                    .for_each(|index| store_at(statuses, index, Status::EMPTY));
                done.into_iter()
                    .for_each(|(index, status)| store_at(statuses, index, status));
            }
            Ok(())
        },
    )
}

pub(crate) unsafe fn MPI_Request_get_status_any(
    count: i32,
    requests: *const MPI_Request,
    index: *mut i32,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    run(
        "MPI_Request_get_status_any",
        unsafe { array_comm(count, requests) },
        || {
            // SAFETY: passed on.
            let (done, active) = unsafe { peek_array(count, requests) }?;
            let found = match done.first() {
                Some(&(position, what)) => Any::Done(position, what),
                None if active == 0 => Any::NoneActive,
                None => Any::NotYet,
            };
            report_any(found, &[], index, Some(flag), status);
            Ok(())
        },
    )
}

pub(crate) unsafe fn MPI_Request_get_status_some(
    incount: i32,
    requests: *const MPI_Request,
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    // SAFETY: passed on.
    run(
        "MPI_Request_get_status_some",
        unsafe { array_comm(incount, requests) },
        || {
            // SAFETY: passed on.
            let (done, active) = unsafe { peek_array(incount, requests) }?;
            // SAFETY: the results are writable and the arrays have `incount` entries (crate head).
            unsafe {
                *outcount = if active == 0 {
                    MPI_UNDEFINED
                } else {
                    done.len() as i32
                };
                for (slot, &(index, status)) in done.iter().enumerate() {
                    *indices.add(slot) = index as i32;
                    store_at(statuses, slot, status);
                }
            }
            Ok(())
        },
    )
}

pub(crate) unsafe fn MPI_Request_free(request: *mut MPI_Request) -> i32 {
    // SAFETY: the handle is readable and writable (crate head).
    let id = unsafe { &mut *request.cast::<RequestId>() };
    let before = *id;
    run("MPI_Request_free", comm_handle(before), || {
        request::free(vci()?, id)?;
        let mut table = GENERALIZED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(general) = table.take_if_known(before) {
            drop(table);
            // SAFETY: the user registered a function of this type (MPI_Grequest_start). No lock is held.
            unsafe {
                let free: unsafe extern "C" fn(usize) -> i32 = std::mem::transmute(general.free);
                free(general.state);
            }
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Cancel(request: *mut MPI_Request) -> i32 {
    // SAFETY: the handle is readable (crate head).
    let id = RequestId(unsafe { *request } as u64);
    run("MPI_Cancel", comm_handle(id), || {
        let general = {
            let table = GENERALIZED.lock().unwrap_or_else(PoisonError::into_inner);
            let found = table.requests.as_ref().and_then(|map| map.get(&id.0));
            found.map(|general| (general.cancel, general.state, general.complete))
        };
        match general {
            Some((cancel, state, complete)) => {
                // SAFETY: the user registered a function of this type (MPI_Grequest_start). No lock is held.
                unsafe {
                    let cancel: unsafe extern "C" fn(usize, i32) -> i32 =
                        std::mem::transmute(cancel);
                    cancel(state, i32::from(complete));
                }
                Ok(())
            }
            None => request::cancel(vci()?, id),
        }
    })
}

/// MPI_ERR_IN_STATUS is the class that array calls return; named here so that a reader finds it.
const _: () = assert!(ErrorClass::ERR_IN_STATUS.0 == MPI_ERR_IN_STATUS);
