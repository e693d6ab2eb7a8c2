// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives that promise more than MPI demands, and the call that completes operations without requests.

use core::ffi::c_void;
use std::hint::cold_path;

use engine::completion;
use engine::p2p::{self, CHECKED, Posted, Promises};
use engine::request::RequestId;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_REQUEST_NULL;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::extension;
use super::predefined::{find, place_of};
use super::promises::{All, Global, NoMatch, NoProcNull, NoRequest};
use crate::datatype::arguments::contiguous_bytes;
use crate::error::{raise, run};
use crate::handle::COMMS;
use crate::p2p::decode::{decode_contiguous, decode_target};

/// The receive of a call. The request is stored unless it is null, which it is of calls without one.
#[derive(Clone, Copy)]
struct Receive {
    call: &'static str,
    buf: *mut c_void,
    count: i32,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
}

/// Whether the result of a call is missing.
#[inline(always)]
pub(super) fn is_missing(request: *mut MPI_Request) -> bool {
    CHECKED && request.is_null()
}

/// The error of a call whose request has no place.
#[cold]
#[inline(never)]
pub(super) fn refuse_request(call: &'static str, comm: MPI_Comm) -> i32 {
    let expected = "the address of a variable of type MPI_Request";
    let error = Error::argument(ErrorClass::ERR_ARG, "request", "null", expected);
    raise(call, comm, error)
}

/// Gives the program its request if the call has one, or the null request and the error.
pub(super) unsafe fn hand_out(
    call: &'static str,
    comm: MPI_Comm,
    started: Result<RequestId>,
    request: *mut MPI_Request,
) -> i32 {
    let (handle, code) = match started {
        Ok(id) => (id.0 as usize, 0),
        Err(error) => (MPI_REQUEST_NULL, raise(call, comm, error)),
    };
    if !request.is_null() {
        // SAFETY: the result is writable (crate head).
        unsafe { *request = handle };
    }
    code
}

/// Stores the request of a posted receive, if the call has one.
#[inline(always)]
unsafe fn posted<P: Promises>(id: RequestId, request: *mut MPI_Request) -> i32 {
    if !P::NO_REQUEST {
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
    }
    0
}

/// The first stage of all receives; what it leaves goes to [`rest`].
#[inline(always)]
unsafe fn receive<P: Promises>(receive: Receive) -> i32 {
    let Receive {
        call,
        buf,
        count,
        datatype,
        source,
        tag,
        comm,
        request,
    } = receive;
    // In memory only where it is passed on.
    let all = || Receive {
        call,
        buf,
        count,
        datatype,
        source,
        tag,
        comm,
        request,
    };
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
            return rest::<P>(&all());
        };
        match p2p::post_promised::<P>(object, buf.cast(), bytes, source, tag) {
            Posted::Posted(id) => posted::<P>(id, request),
            _ => {
                cold_path();
                rest::<P>(&all())
            }
        }
    }
}

/// The second stage serves locks, tables, unexpected messages, and errors.
#[inline(never)]
unsafe fn rest<P: Promises>(receive: &Receive) -> i32 {
    let &Receive {
        call,
        buf,
        count,
        datatype,
        source,
        tag,
        comm,
        request,
    } = receive;
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        if let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) {
            match p2p::post_promised_locked::<P>(object, buf.cast(), bytes, source, tag) {
                Posted::Posted(id) => return posted::<P>(id, request),
                Posted::PostedWake(id) => {
                    posted::<P>(id, request);
                    return p2p::wake_contenders(object);
                }
                Posted::Refused | Posted::Unreached => {}
            }
        }
        let started = decode_target(buf, count, datatype, comm).and_then(|(object, memory)| {
            let _entered = object.enter_endpoint(call)?;
            p2p::irecv_promised::<P>(object, memory, source, tag)
        });
        hand_out(call, comm, started, request)
    }
}

macro_rules! receives {
    ($($name:ident $profiled:ident $promises:ident;)*) => {
        $(
            extension! {
                /// A nonblocking receive with a promise.
                ///
                /// # Safety
                /// That of MPI_Irecv (crate head).
                $name $profiled (
                    buf: *mut c_void, count: i32, datatype: MPI_Datatype, source: i32, tag: i32, comm: MPI_Comm,
                    request: *mut MPI_Request
                ) {
                    let call = stringify!($name);
                    if is_missing(request) {
                        return refuse_request(call, comm);
                    }
                    // SAFETY: passed on.
                    unsafe { receive::<$promises>(Receive { call, buf, count, datatype, source, tag, comm, request }) }
                }
            }
        )*
    };
}

receives! {
    MPIX_Irecv_global PMPIX_Irecv_global Global;
    MPIX_Irecv_npn PMPIX_Irecv_npn NoProcNull;
}

extension! {
    /// A nonblocking receive without a request.
    ///
    /// # Safety
    /// That of MPI_Irecv (crate head).
    MPIX_Irecv_noreq PMPIX_Irecv_noreq (
        buf: *mut c_void, count: i32, datatype: MPI_Datatype, source: i32, tag: i32, comm: MPI_Comm
    ) {
        let (call, request) = ("MPIX_Irecv_noreq", std::ptr::null_mut());
        // SAFETY: passed on.
        unsafe { receive::<NoRequest>(Receive { call, buf, count, datatype, source, tag, comm, request }) }
    }
}

extension! {
    /// A nonblocking receive of the next message without a tag.
    ///
    /// # Safety
    /// That of MPI_Irecv (crate head).
    MPIX_Irecv_nomatch PMPIX_Irecv_nomatch (
        buf: *mut c_void, count: i32, datatype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request
    ) {
        let call = "MPIX_Irecv_nomatch";
        if is_missing(request) {
            return refuse_request(call, comm);
        }
        // SAFETY: passed on.
        unsafe { receive::<NoMatch>(Receive { call, buf, count, datatype, source: 0, tag: 0, comm, request }) }
    }
}

extension! {
    /// A nonblocking receive with all promises.
    ///
    /// # Safety
    /// That of MPI_Irecv (crate head).
    MPIX_Irecv_all_opts PMPIX_Irecv_all_opts (buf: *mut c_void, count: i32, datatype: MPI_Datatype, comm: MPI_Comm) {
        // SAFETY: passed on.
        unsafe { receive_predefined(buf, count, datatype, comm) }
    }
}

/// A receive with all promises, on a predefined communicator.
#[inline(always)]
unsafe fn receive_predefined(
    buf: *mut c_void,
    count: i32,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    if let Some(bytes) = contiguous_bytes(buf, count, datatype)
        && let Some(object) = place_of(comm).and_then(|place| place.comm())
    {
        // SAFETY: the program keeps the buffer until the operation is complete (crate head).
        let posted = unsafe { p2p::post_promised::<All>(object, buf.cast(), bytes, 0, 0) };
        if let Posted::Posted(_) = posted {
            return 0;
        }
    }
    cold_path();
    // SAFETY: passed on.
    unsafe { rest_predefined(buf, count, datatype, comm) }
}

/// The second stage of a receive on a predefined communicator.
#[inline(never)]
unsafe extern "C" fn rest_predefined(
    buf: *mut c_void,
    count: i32,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    let (call, request) = ("MPIX_Irecv_all_opts", std::ptr::null_mut());
    let (source, tag) = (0, 0);
    match find(comm) {
        // SAFETY: passed on.
        Ok(_) => unsafe {
            rest::<All>(&Receive {
                call,
                buf,
                count,
                datatype,
                source,
                tag,
                comm,
                request,
            })
        },
        Err(error) => raise(call, comm, error),
    }
}

extension! {
    /// Waits for all operations without a request that this process has started on a communicator.
    ///
    /// # Safety
    /// None beyond the crate head's.
    MPIX_Comm_waitall PMPIX_Comm_waitall (comm: MPI_Comm) {
        let call = "MPIX_Comm_waitall";
        run(call, comm, || completion::wait_bulk(COMMS.find(comm, "comm")?, call))
    }
}
