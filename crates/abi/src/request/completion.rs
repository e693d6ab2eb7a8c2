// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completing requests (MPI-5.0, section 3.7). An MPI_Request is the engine's request id.

// account: request

use std::sync::atomic::Ordering;

use engine::completion;
use engine::completion::Any;
use engine::p2p::persistent::end_at_once;
use engine::progress::Vci;
use engine::request::RequestId;
use engine::request::Status;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{MPI_ERR_IN_STATUS, MPI_UNDEFINED};
use mpi_abi_sys::types::{MPI_Comm, MPI_Request, MPI_Status};

use super::generalized;
use crate::error::run;
use crate::exposed;
use crate::handle::COMMS;
use crate::state::{active_vci, process, require_process, vci_unlocked};
use crate::status::{store, store_at, store_single};

/// The handle of the communicator that a request belongs to, for its error handler; 0 if unknown.
pub(crate) fn comm_handle(id: RequestId) -> MPI_Comm {
    if let Some((_, handle)) = id.ended_collective() {
        return COMMS.completed(handle);
    }
    let comm = process().and_then(|process| completion::comm_of(process, id));
    comm.map_or(0, |comm| comm.handle.load(Ordering::Relaxed) as usize)
}

fn vci() -> Result<&'static Vci> {
    Ok(require_process()?.vci())
}

/// An array of requests, in place.
///
/// # Safety
/// `requests` points to `count` handles, or is null, or `count` is not positive.
pub(crate) unsafe fn slice<'a>(
    count: i32,
    requests: *mut MPI_Request,
) -> Result<&'a mut [RequestId]> {
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

/// Runs the body of a call on an array of requests; an error of the whole call belongs to the communicator of the first
/// of them that has one.
///
/// # Safety
/// `requests` points to `count` handles, or is null, or `count` is not positive.
pub(crate) unsafe fn run_on_array(
    call: &'static str,
    count: i32,
    requests: *mut MPI_Request,
    body: impl FnOnce(&mut [RequestId]) -> Result<()>,
) -> i32 {
    // SAFETY: the caller's promise.
    let ids = unsafe { slice(count, requests) };
    let mut comm = 0;
    for &id in ids.as_deref().unwrap_or_default() {
        if id == RequestId::NULL {
            continue;
        }
        comm = comm_handle(id);
        if comm != 0 {
            break;
        }
    }
    run(call, comm, || body(ids?))
}

pub(crate) unsafe fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> i32 {
    // SAFETY: the handle is readable and writable (crate head).
    let id = unsafe { &mut *request.cast::<RequestId>() };
    let is_done = if id.is_ended_at() {
        *id = RequestId::NULL;
        true
    } else {
        vci_unlocked().is_some_and(|vci| end_at_once(vci, *id))
    };
    if !is_done {
        return wait_longer(id, status);
    }
    if !status.is_null() {
        store_empty(status);
    }
    0
}

/// Apart, so that a short wait needs no registers.
#[inline(never)]
fn store_empty(status: *mut MPI_Status) {
    store_single(status, Status::EMPTY);
}

/// Waits for a request that is not complete, or whose end takes more work.
#[inline(never)]
fn wait_longer(id: &mut RequestId, status: *mut MPI_Status) -> i32 {
    if let Some(vci) = active_vci()
        && let Some(found) = completion::wait_received(vci, id, "MPI_Wait")
    {
        store_single(status, found);
        return 0;
    }
    let before = *id;
    run("MPI_Wait", comm_handle(before), || {
        let done = completion::wait(vci()?, id, "MPI_Wait")?;
        generalized::complete_one(before, done, status)
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
        let done = completion::test(vci()?, id)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(done.is_some()) };
        match done {
            Some(done) => generalized::complete_one(before, done, status),
            None => Ok(()),
        }
    })
}

/// Lets the generalized requests of an array end whose requests are complete, of which others may have failed.
fn end_all(outcome: Result<()>, remembered: &[RequestId], statuses: *mut MPI_Status) -> Result<()> {
    match outcome {
        Err(error) if error.class() != ErrorClass::ERR_IN_STATUS => Err(error),
        outcome => outcome.and(generalized::complete_all(remembered, statuses)),
    }
}

pub(crate) unsafe fn MPI_Waitall(
    count: i32,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
) -> i32 {
    let call = "MPI_Waitall";
    let body = |ids: &mut [RequestId]| {
        let before = generalized::remember(ids);
        let mut store = |index, status| store_at(statuses, index, status);
        let outcome = completion::wait_all(vci()?, ids, call, &mut store);
        end_all(outcome, &before, statuses)
    };
    // SAFETY: passed on.
    unsafe { run_on_array(call, count, requests, body) }
}

pub(crate) unsafe fn MPI_Testall(
    count: i32,
    requests: *mut MPI_Request,
    flag: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let body = |ids: &mut [RequestId]| {
        let before = generalized::remember(ids);
        let mut store = |index, status| store_at(statuses, index, status);
        let tested = completion::test_all(vci()?, ids, &mut store);
        let done = match &tested {
            Ok(done) => *done,
            // Then all requests are complete, and their statuses tell which of them failed.
            Err(error) => error.class() == ErrorClass::ERR_IN_STATUS,
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(done) };
        if done {
            return end_all(tested.map(drop), &before, statuses);
        }
        tested.map(drop)
    };
    // SAFETY: passed on.
    unsafe { run_on_array("MPI_Testall", count, requests, body) }
}

/// Stores the outcome of one of several requests.
///
/// # Errors
/// The error of the operation, or of the functions of a generalized request.
pub(crate) fn report_any(
    found: Any,
    before: &[RequestId],
    index: *mut i32,
    flag: Option<*mut i32>,
    status: *mut MPI_Status,
) -> Result<()> {
    let (position, done) = match &found {
        Any::Done(position, _) | Any::Failed(position, _) => (*position as i32, true),
        Any::NoneActive => (MPI_UNDEFINED, true),
        Any::NotYet => (MPI_UNDEFINED, false),
    };
    // SAFETY: the results are writable (crate head).
    unsafe {
        *index = position;
        if let Some(flag) = flag {
            *flag = i32::from(done);
        }
    }
    match found {
        Any::Done(position, what) => {
            let id = before.get(position).copied().unwrap_or(RequestId::NULL);
            generalized::complete_one(id, what, status)
        }
        Any::Failed(_, error) => Err(error),
        // The empty status has MPI_SUCCESS as its error (MPI-5.0, section 3.7.3).
        Any::NoneActive => {
            store(status, Status::EMPTY);
            Ok(())
        }
        Any::NotYet => Ok(()),
    }
}

pub(crate) unsafe fn MPI_Waitany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let call = "MPI_Waitany";
    let body = |ids: &mut [RequestId]| {
        let before = generalized::remember(ids);
        let found = completion::wait_any(vci()?, ids, call)?;
        report_any(found, &before, index, None, status)
    };
    // SAFETY: passed on.
    unsafe { run_on_array(call, count, requests, body) }
}

pub(crate) unsafe fn MPI_Testany(
    count: i32,
    requests: *mut MPI_Request,
    index: *mut i32,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let body = |ids: &mut [RequestId]| {
        let before = generalized::remember(ids);
        let found = completion::test_any(vci()?, ids)?;
        report_any(found, &before, index, Some(flag), status)
    };
    // SAFETY: passed on.
    unsafe { run_on_array("MPI_Testany", count, requests, body) }
}

unsafe fn some(
    call: &'static str,
    (incount, requests): (i32, *mut MPI_Request),
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
    waits: bool,
) -> i32 {
    let body = |ids: &mut [RequestId]| {
        let before = generalized::remember(ids);
        let mut done = 0usize;
        let outcome = completion::complete_some(vci()?, ids, call, waits, &mut |index, status| {
            // SAFETY: the array has `incount` entries (crate head).
            unsafe { *indices.add(done) = index as i32 };
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
        if before.is_empty() {
            return outcome.map(drop);
        }
        // SAFETY: the first entries were stored above.
        let indices = unsafe { std::slice::from_raw_parts(indices, done) };
        let ended: Vec<RequestId> = indices
            .iter()
            .map(|&index| before[index as usize])
            .collect();
        end_all(outcome.map(drop), &ended, statuses)
    };
    // SAFETY: passed on.
    unsafe { run_on_array(call, incount, requests, body) }
}

pub(crate) unsafe fn MPI_Waitsome(
    incount: i32,
    requests: *mut MPI_Request,
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let array = (incount, requests);
    // SAFETY: passed on.
    unsafe { some("MPI_Waitsome", array, outcount, indices, statuses, true) }
}

pub(crate) unsafe fn MPI_Testsome(
    incount: i32,
    requests: *mut MPI_Request,
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let array = (incount, requests);
    // SAFETY: passed on.
    unsafe { some("MPI_Testsome", array, outcount, indices, statuses, false) }
}

pub(crate) unsafe fn MPI_Request_free(request: *mut MPI_Request) -> i32 {
    // SAFETY: the handle is readable and writable (crate head).
    let id = unsafe { &mut *request.cast::<RequestId>() };
    let before = *id;
    run("MPI_Request_free", comm_handle(before), || {
        completion::free(vci()?, id)?;
        exposed::forget_request(before);
        generalized::free(before)
    })
}

pub(crate) unsafe fn MPI_Cancel(request: *mut MPI_Request) -> i32 {
    // SAFETY: the handle is readable (crate head).
    let id = RequestId(unsafe { *request } as u64);
    run("MPI_Cancel", comm_handle(id), || {
        if generalized::cancel(id)? {
            return Ok(());
        }
        completion::cancel(vci()?, id)
    })
}

/// MPI_ERR_IN_STATUS is the class that array calls return; named here so that a reader finds it.
const _: () = assert!(ErrorClass::ERR_IN_STATUS.0 == MPI_ERR_IN_STATUS);
