// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statuses of requests that stay as they are (MPI-5.0, section 3.7.6).

use engine::Result;
use engine::completion;
use engine::completion::Any;
use engine::request::RequestId;
use engine::request::Status;
use mpi_abi_sys::constants::MPI_UNDEFINED;
use mpi_abi_sys::types::{MPI_Request, MPI_Status};

use super::completion::{comm_handle, report_any, run_on_array};
use super::generalized;
use crate::error::run;
use crate::state::require_process;
use crate::status::{store, store_at};

pub(crate) unsafe fn MPI_Request_get_status(
    request: MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let id = RequestId(request as u64);
    run("MPI_Request_get_status", comm_handle(id), || {
        let found = completion::peek(require_process()?.vci(), id)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(found.is_some()) };
        if let Some(found) = found {
            store(status, generalized::peek(id, found)?);
        }
        Ok(())
    })
}

/// Those of some requests that are complete and not null with their statuses, and how many are not null.
fn peek_all(ids: &[RequestId]) -> Result<(Vec<(usize, Status)>, usize)> {
    let vci = require_process()?.vci();
    let mut done = Vec::new();
    let mut active = 0;
    for (index, &id) in ids.iter().enumerate() {
        if id == RequestId::NULL {
            continue;
        }
        active += 1;
        if let Some(status) = completion::peek(vci, id)? {
            done.push((index, generalized::peek(id, status)?));
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
    let body = |ids: &mut [RequestId]| {
        let (done, active) = peek_all(ids)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(done.len() == active) };
        if done.len() == active {
            (0..ids.len()).for_each(|index| store_at(statuses, index, Status::EMPTY));
            done.into_iter()
                .for_each(|(index, status)| store_at(statuses, index, status));
        }
        Ok(())
    };
    let call = "MPI_Request_get_status_all";
    // SAFETY: passed on; nothing is written.
    unsafe { run_on_array(call, count, requests.cast_mut(), body) }
}

pub(crate) unsafe fn MPI_Request_get_status_any(
    count: i32,
    requests: *const MPI_Request,
    index: *mut i32,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let body = |ids: &mut [RequestId]| {
        let (done, active) = peek_all(ids)?;
        let found = match done.first() {
            Some(&(position, what)) => Any::Done(position, what),
            None if active == 0 => Any::NoneActive,
            None => Any::NotYet,
        };
        report_any(found, &[], index, Some(flag), status)
    };
    let call = "MPI_Request_get_status_any";
    // SAFETY: passed on; nothing is written.
    unsafe { run_on_array(call, count, requests.cast_mut(), body) }
}

pub(crate) unsafe fn MPI_Request_get_status_some(
    incount: i32,
    requests: *const MPI_Request,
    outcount: *mut i32,
    indices: *mut i32,
    statuses: *mut MPI_Status,
) -> i32 {
    let body = |ids: &mut [RequestId]| {
        let (done, active) = peek_all(ids)?;
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
    };
    let call = "MPI_Request_get_status_some";
    // SAFETY: passed on; nothing is written.
    unsafe { run_on_array(call, incount, requests.cast_mut(), body) }
}
