// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends that promise more than MPI demands.

// account: function-call

use core::ffi::c_void;
use std::hint::cold_path;

use engine::comm::Comm;
use engine::p2p::{self, Injected};
use engine::request::RequestId;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::calls::{
    IsendAllOpts, IsendGlobal, IsendNomatch, IsendNoreq, IsendNpn, SendAllOpts, SendGlobal,
    SendNomatch, SendNpn,
};
use super::extension;
use super::predefined::{find, place_of};
use super::requests::{is_missing, refuse_request};
use crate::call::Call;
use crate::datatype::arguments::contiguous_bytes;
use crate::error::raise;
use crate::handle::COMMS;
use crate::p2p::decode::Envelope;
use crate::p2p::end::{AtReturn, ByRequest, End, InBulk};
use crate::p2p::send::{send_any, send_bytes, send_further, start};

macro_rules! sends {
    ($($name:ident $profiled:ident $call:ident;)*) => {
        $(
            extension! {
                /// A nonblocking send with a promise.
                ///
                /// # Safety
                /// That of MPI_Isend (crate head).
                $name $profiled (
                    buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                    request: *mut MPI_Request
                ) {
                    // account: argument-checks
                    if is_missing(request) {
                        return refuse_request($call::NAME, comm);
                    }
                    // account: function-call
                    // SAFETY: passed on.
                    unsafe { start::<$call, _, i32>(buf, count, datatype, dest, tag, comm, ByRequest(request)) }
                }
            }
        )*
    };
}

macro_rules! sends_without_request {
    ($($name:ident $profiled:ident $call:ident $end:ident;)*) => {
        $(
            extension! {
                /// A send without a request, with a promise.
                ///
                /// # Safety
                /// That of MPI_Send (crate head).
                $name $profiled (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm) {
                    // SAFETY: passed on.
                    unsafe { start::<$call, _, i32>(buf, count, datatype, dest, tag, comm, $end) }
                }
            }
        )*
    };
}

sends! {
    MPIX_Isend_global PMPIX_Isend_global IsendGlobal;
    MPIX_Isend_npn PMPIX_Isend_npn IsendNpn;
}

sends_without_request! {
    MPIX_Send_global PMPIX_Send_global SendGlobal AtReturn;
    MPIX_Send_npn PMPIX_Send_npn SendNpn AtReturn;
    MPIX_Isend_noreq PMPIX_Isend_noreq IsendNoreq InBulk;
}

extension! {
    /// A nonblocking send without a tag.
    ///
    /// # Safety
    /// That of MPI_Isend (crate head).
    MPIX_Isend_nomatch PMPIX_Isend_nomatch (
        buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm, request: *mut MPI_Request
    ) {
        // account: argument-checks
        if is_missing(request) {
            return refuse_request(IsendNomatch::NAME, comm);
        }
        // account: function-call
        // SAFETY: passed on.
        unsafe { start::<IsendNomatch, _, i32>(buf, count, datatype, dest, 0, comm, ByRequest(request)) }
    }
}

extension! {
    /// A send without a tag.
    ///
    /// # Safety
    /// That of MPI_Send (crate head).
    MPIX_Send_nomatch PMPIX_Send_nomatch (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm) {
        // SAFETY: passed on.
        unsafe { start::<SendNomatch, _, i32>(buf, count, datatype, dest, 0, comm, AtReturn) }
    }
}

/// A send with all promises, on a predefined communicator.
#[inline(always)]
unsafe fn send_predefined<K: Call, E: End>(
    buf: *const c_void,
    count: i32,
    datatype: MPI_Datatype,
    dest: i32,
    comm: MPI_Comm,
    end: E,
) -> i32 {
    // SAFETY: the buffer is readable (crate head).
    unsafe {
        // account: communicator
        let (Some(place), Some(bytes)) = (place_of(comm), contiguous_bytes(buf, count, datatype))
        else {
            return any_predefined::<K, E>(buf, count, datatype, dest, comm, end);
        };
        // account: function-call
        match p2p::inject_predefined(place, buf.cast(), bytes, dest) {
            Injected::Sent => end.tell(RequestId::SENT),
            Injected::SentWake => {
                cold_path();
                wake_predefined::<K>(comm, dest)
            }
            done => {
                cold_path();
                match place.comm() {
                    None => any_predefined::<K, E>(buf, count, datatype, dest, comm, end),
                    Some(object) if done == Injected::Unreached => {
                        send_further::<K, E>(buf, bytes, object, dest, 0, end)
                    }
                    Some(object) => send_bytes::<K, E>(buf, bytes, object, dest, 0, end),
                }
            }
        }
    }
}

#[cold]
#[inline(never)]
extern "C" fn wake_predefined<K: Call>(comm: MPI_Comm, dest: i32) -> i32 {
    let wake = |comm: &Comm| p2p::wake::<K>(comm, dest);
    COMMS.get(comm).map_or(0, wake)
}

/// A send on a predefined communicator of whatever memory, and all errors of its arguments.
#[inline(never)]
unsafe extern "C" fn any_predefined<K: Call, E: End>(
    buf: *const c_void,
    count: i32,
    datatype: MPI_Datatype,
    dest: i32,
    comm: MPI_Comm,
    end: E,
) -> i32 {
    let envelope = Envelope::new(dest, 0);
    match find(comm) {
        // SAFETY: passed on.
        Ok(_) => unsafe { send_any::<K, E>(buf, count.into(), datatype, end, envelope, comm) },
        Err(error) => raise(K::NAME, comm, error),
    }
}

extension! {
    /// A nonblocking send with all promises.
    ///
    /// # Safety
    /// That of MPI_Isend (crate head).
    MPIX_Isend_all_opts PMPIX_Isend_all_opts (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm) {
        // SAFETY: passed on.
        unsafe { send_predefined::<IsendAllOpts, _>(buf, count, datatype, dest, comm, InBulk) }
    }
}

extension! {
    /// A send with all promises.
    ///
    /// # Safety
    /// That of MPI_Send (crate head).
    MPIX_Send_all_opts PMPIX_Send_all_opts (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm) {
        // SAFETY: passed on.
        unsafe { send_predefined::<SendAllOpts, _>(buf, count, datatype, dest, comm, AtReturn) }
    }
}
