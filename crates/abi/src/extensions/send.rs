// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends that promise more than MPI demands.

use core::ffi::c_void;
use std::hint::cold_path;

use engine::comm::Comm;
use engine::completion;
use engine::p2p::{self, Injected, Promises};
use engine::request::RequestId;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::extension;
use super::predefined::{find, place_of};
use super::promises::{All, AllBlocking, Global, NoMatch, NoProcNull, NoRequest};
use crate::datatype::arguments::contiguous_bytes;
use crate::error::raise;
use crate::handle::COMMS;
use crate::p2p::decode::{decode, decode_contiguous};

/// The message of a call, and how the program learns of its end.
#[derive(Clone, Copy)]
struct Message {
    call: &'static str,
    buf: *const c_void,
    count: i32,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
    end: End,
}

/// How the program learns of the end of a send.
#[derive(Clone, Copy)]
enum End {
    /// By its request, which is stored here.
    Request(*mut MPI_Request),
    /// The call returns then.
    Return,
    /// By a call that waits for all operations of the communicator.
    Bulk,
}

impl End {
    /// A send is complete.
    #[inline(always)]
    unsafe fn sent(self) -> i32 {
        if let Self::Request(request) = self {
            // SAFETY: the result is writable (crate head).
            unsafe { *request = RequestId::SENT.0 as usize };
        }
        0
    }
}

/// The first stage of all sends; what it leaves goes to [`rest`].
#[inline(always)]
unsafe fn send<P: Promises>(message: Message) -> i32 {
    let Message {
        call,
        buf,
        count,
        datatype,
        dest,
        tag,
        comm,
        end,
    } = message;
    // In memory only where it is passed on.
    let all = || Message {
        call,
        buf,
        count,
        datatype,
        dest,
        tag,
        comm,
        end,
    };
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
            return rest::<P>(&all());
        };
        match p2p::inject_promised::<P>(object, buf.cast(), bytes, dest, tag) {
            Injected::Sent => end.sent(),
            Injected::SentWake => {
                cold_path();
                end.sent();
                p2p::wake_promised::<P>(object, dest)
            }
            Injected::Refused | Injected::Unreached => {
                cold_path();
                rest::<P>(&all())
            }
        }
    }
}

/// The second stage serves locks, tables, long messages, and errors.
#[inline(never)]
unsafe fn rest<P: Promises>(message: &Message) -> i32 {
    let &Message {
        buf,
        count,
        datatype,
        dest,
        tag,
        comm,
        end,
        ..
    } = message;
    if let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm)
        && bytes <= p2p::INJECT_BYTES
    {
        // SAFETY: the buffer is readable and the result writable (crate head).
        unsafe {
            match p2p::inject_promised_locked::<P>(object, buf.cast(), bytes, dest, tag) {
                Injected::Sent => return end.sent(),
                Injected::SentWake => {
                    end.sent();
                    return p2p::wake_promised::<P>(object, dest);
                }
                Injected::Refused | Injected::Unreached => {}
            }
        }
    }
    // SAFETY: passed on.
    unsafe { send_any::<P>(message) }
}

/// A send that needs an operation, or fails.
#[cold]
unsafe fn send_any<P: Promises>(message: &Message) -> i32 {
    let &Message {
        call, comm, end, ..
    } = message;
    let started = decode(message.buf, message.count, message.datatype, comm);
    let started = started.and_then(|(object, memory)| {
        let _entered = object.enter_endpoint(call)?;
        // SAFETY: the program keeps the buffer until the operation is complete (crate head).
        let mut id =
            unsafe { p2p::isend_promised::<P>(object, memory, message.dest, message.tag) }?;
        if let End::Return = end {
            completion::wait(object.vci(), &mut id, call)?;
        }
        Ok(id)
    });
    // SAFETY: passed on.
    unsafe { super::receive::hand_out(call, comm, started, request_of(end)) }
}

/// Where the request goes; null if nowhere.
const fn request_of(end: End) -> *mut MPI_Request {
    match end {
        End::Request(request) => request,
        End::Return | End::Bulk => std::ptr::null_mut(),
    }
}

macro_rules! sends {
    ($($name:ident $profiled:ident $promises:ident;)*) => {
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
                    let call = stringify!($name);
                    if super::receive::is_missing(request) {
                        return super::receive::refuse_request(call, comm);
                    }
                    let end = End::Request(request);
                    // SAFETY: passed on.
                    unsafe { send::<$promises>(Message { call, buf, count, datatype, dest, tag, comm, end }) }
                }
            }
        )*
    };
}

macro_rules! blocking_sends {
    ($($name:ident $profiled:ident $promises:ident $end:ident;)*) => {
        $(
            extension! {
                /// A send without a request, with a promise.
                ///
                /// # Safety
                /// That of MPI_Send (crate head).
                $name $profiled (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm) {
                    let (call, end) = (stringify!($name), End::$end);
                    // SAFETY: passed on.
                    unsafe { send::<$promises>(Message { call, buf, count, datatype, dest, tag, comm, end }) }
                }
            }
        )*
    };
}

sends! {
    MPIX_Isend_global PMPIX_Isend_global Global;
    MPIX_Isend_npn PMPIX_Isend_npn NoProcNull;
}

blocking_sends! {
    MPIX_Send_global PMPIX_Send_global Global Return;
    MPIX_Send_npn PMPIX_Send_npn NoProcNull Return;
    MPIX_Isend_noreq PMPIX_Isend_noreq NoRequest Bulk;
}

extension! {
    /// A nonblocking send without a tag.
    ///
    /// # Safety
    /// That of MPI_Isend (crate head).
    MPIX_Isend_nomatch PMPIX_Isend_nomatch (
        buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm, request: *mut MPI_Request
    ) {
        let call = "MPIX_Isend_nomatch";
        if super::receive::is_missing(request) {
            return super::receive::refuse_request(call, comm);
        }
        let end = End::Request(request);
        // SAFETY: passed on.
        unsafe { send::<NoMatch>(Message { call, buf, count, datatype, dest, tag: 0, comm, end }) }
    }
}

extension! {
    /// A send without a tag.
    ///
    /// # Safety
    /// That of MPI_Send (crate head).
    MPIX_Send_nomatch PMPIX_Send_nomatch (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm) {
        let (call, end) = ("MPIX_Send_nomatch", End::Return);
        // SAFETY: passed on.
        unsafe { send::<NoMatch>(Message { call, buf, count, datatype, dest, tag: 0, comm, end }) }
    }
}

/// Sends with all promises, on a predefined communicator.
#[inline(always)]
unsafe fn send_predefined<P: Promises>(
    (call, end): (&'static str, End),
    buf: *const c_void,
    count: i32,
    datatype: MPI_Datatype,
    dest: i32,
    comm: MPI_Comm,
) -> i32 {
    // In memory only where it is passed on.
    let all = || Message {
        call,
        buf,
        count,
        datatype,
        dest,
        tag: 0,
        comm,
        end,
    };
    // SAFETY: the buffer is readable (crate head).
    unsafe {
        let Some(place) = place_of(comm) else {
            return rest_predefined::<P>(&all());
        };
        let Some(bytes) = contiguous_bytes(buf, count, datatype) else {
            return rest_predefined::<P>(&all());
        };
        match p2p::inject_predefined(place, buf.cast(), bytes, dest) {
            Injected::Sent => 0,
            Injected::SentWake => {
                cold_path();
                wake_predefined(comm, dest)
            }
            Injected::Refused | Injected::Unreached => {
                cold_path();
                rest_predefined::<P>(&all())
            }
        }
    }
}

#[cold]
#[inline(never)]
extern "C" fn wake_predefined(comm: MPI_Comm, dest: i32) -> i32 {
    let wake = |comm: &Comm| p2p::wake_promised::<All>(comm, dest);
    COMMS.get(comm).map_or(0, wake)
}

/// The second stage of a send on a predefined communicator.
#[inline(never)]
unsafe fn rest_predefined<P: Promises>(message: &Message) -> i32 {
    match find(message.comm) {
        // SAFETY: passed on.
        Ok(_) => unsafe { rest::<P>(message) },
        Err(error) => raise(message.call, message.comm, error),
    }
}

extension! {
    /// A nonblocking send with all promises.
    ///
    /// # Safety
    /// That of MPI_Isend (crate head).
    MPIX_Isend_all_opts PMPIX_Isend_all_opts (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm) {
        let (call, end) = ("MPIX_Isend_all_opts", End::Bulk);
        // SAFETY: passed on.
        unsafe { send_predefined::<All>((call, end), buf, count, datatype, dest, comm) }
    }
}

extension! {
    /// A send with all promises.
    ///
    /// # Safety
    /// That of MPI_Send (crate head).
    MPIX_Send_all_opts PMPIX_Send_all_opts (buf: *const c_void, count: i32, datatype: MPI_Datatype, dest: i32, comm: MPI_Comm) {
        let (call, end) = ("MPIX_Send_all_opts", End::Return);
        // SAFETY: passed on.
        unsafe { send_predefined::<AllBlocking>((call, end), buf, count, datatype, dest, comm) }
    }
}
