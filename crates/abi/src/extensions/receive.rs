// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives that promise more than MPI demands.

// account: function-call

use core::ffi::c_void;
use std::hint::cold_path;

use engine::p2p::{self, Posted};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::calls::{IrecvAllOpts, IrecvGlobal, IrecvNomatch, IrecvNoreq, IrecvNpn};
use super::extension;
use super::predefined::{find, place_of};
use super::requests::{is_missing, refuse_request};
use crate::call::Call;
use crate::datatype::arguments::contiguous_bytes;
use crate::error::raise;
use crate::p2p::decode::Envelope;
use crate::p2p::end::{ByRequest, InBulk};
use crate::p2p::receive::{irecv_any, irecv_bytes, irecv_further, start};

macro_rules! receives {
    ($($name:ident $profiled:ident $call:ident;)*) => {
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
                    // account: argument-checks
                    if is_missing(request) {
                        return refuse_request($call::NAME, comm);
                    }
                    // account: function-call
                    // SAFETY: passed on.
                    unsafe { start::<$call, _, i32>(buf, count, datatype, source, tag, comm, ByRequest(request)) }
                }
            }
        )*
    };
}

receives! {
    MPIX_Irecv_global PMPIX_Irecv_global IrecvGlobal;
    MPIX_Irecv_npn PMPIX_Irecv_npn IrecvNpn;
}

extension! {
    /// A nonblocking receive without a request.
    ///
    /// # Safety
    /// That of MPI_Irecv (crate head).
    MPIX_Irecv_noreq PMPIX_Irecv_noreq (
        buf: *mut c_void, count: i32, datatype: MPI_Datatype, source: i32, tag: i32, comm: MPI_Comm
    ) {
        // SAFETY: passed on.
        unsafe { start::<IrecvNoreq, _, i32>(buf, count, datatype, source, tag, comm, InBulk) }
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
        // account: argument-checks
        if is_missing(request) {
            return refuse_request(IrecvNomatch::NAME, comm);
        }
        // account: function-call
        // SAFETY: passed on.
        unsafe { start::<IrecvNomatch, _, i32>(buf, count, datatype, 0, 0, comm, ByRequest(request)) }
    }
}

extension! {
    /// A nonblocking receive with all promises.
    ///
    /// # Safety
    /// That of MPI_Irecv (crate head).
    MPIX_Irecv_all_opts PMPIX_Irecv_all_opts (buf: *mut c_void, count: i32, datatype: MPI_Datatype, comm: MPI_Comm) {
        // SAFETY: passed on.
        unsafe { receive_predefined::<IrecvAllOpts>(buf, count, datatype, comm) }
    }
}

/// A receive with all promises, on a predefined communicator.
#[inline(always)]
unsafe fn receive_predefined<K: Call>(
    buf: *mut c_void,
    count: i32,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: the program keeps the buffer until the operation is complete (crate head).
    unsafe {
        // account: datatype
        let Some(bytes) = contiguous_bytes(buf, count, datatype) else {
            return any_predefined::<K>(buf, count, datatype, comm);
        };
        // account: communicator
        let Some(object) = place_of(comm).and_then(|place| place.comm()) else {
            return any_predefined::<K>(buf, count, datatype, comm);
        };
        // account: function-call
        match p2p::post::<K>(object, buf.cast(), bytes, 0, 0) {
            Posted::Posted(_) => 0,
            Posted::Unreached => {
                cold_path();
                irecv_further::<K, InBulk>(buf, bytes, object, 0, 0, InBulk)
            }
            Posted::Refused | Posted::Contended | Posted::PostedWake(_) => {
                cold_path();
                irecv_bytes::<K, InBulk>(buf, bytes, object, 0, 0, InBulk)
            }
        }
    }
}

/// A receive on a predefined communicator into whatever memory, and all errors of its arguments.
#[inline(never)]
unsafe extern "C" fn any_predefined<K: Call>(
    buf: *mut c_void,
    count: i32,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    let (count, envelope) = (count.into(), Envelope::new(0, 0));
    match find(comm) {
        // SAFETY: passed on.
        Ok(_) => unsafe { irecv_any::<K, InBulk>(buf, count, datatype, InBulk, envelope, comm) },
        Err(error) => raise(K::NAME, comm, error),
    }
}
