// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends (MPI-5.0, sections 3.2, 3.4 and 3.7): the stages of the standard send, one below the other, and the other modes.

// account: function-call

use core::ffi::c_void;
use std::hint::cold_path;

use engine::Result;
use engine::comm::Comm;
use engine::p2p::{self, Injected, Memory, Mode, Stage};
use engine::request::RequestId;
use engine::rma::{self, BufferUse};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::decode::{Decoded, Envelope, decode, decode_contiguous, handle_of};
use super::end::{AtReturn, ByRequest, End};
use crate::call::{self, Call};
use crate::datatype::Count;
use crate::naming::{Number, named};

/// The standard send: the short message first, everything else out of line. What is decoded is not decoded again: the
/// fewer arguments stay alive, the fewer registers have to be saved.
#[inline(always)]
pub(crate) unsafe fn start<K: Call, E: End, C: Count>(
    buf: *const c_void,
    count: C,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
    end: E,
) -> i32 {
    let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
        let (count, envelope) = (count.into(), Envelope::new(dest, tag));
        // SAFETY: passed on.
        return unsafe { send_any::<K, E>(buf, count, datatype, end, envelope, comm) };
    };
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        let done = p2p::inject::<K>(object, buf.cast(), bytes, dest, tag);
        if done == Injected::Unreached {
            cold_path();
            return send_further::<K, E>(buf, bytes, object, dest, tag, end);
        }
        go_on::<K, E>(done, buf, bytes, object, dest, tag, end)
    }
}

/// Ends the call of an injected message, or hands the message to the next stage.
#[inline(always)]
unsafe fn go_on<K: Call, E: End>(
    done: Injected,
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        match done {
            Injected::Sent => end.tell(RequestId::SENT),
            Injected::SentWake => {
                cold_path();
                end.tell(RequestId::SENT);
                p2p::wake::<K>(comm, dest)
            }
            Injected::Refused | Injected::Unreached => {
                cold_path();
                send_bytes::<K, E>(buf, bytes, comm, dest, tag, end)
            }
            Injected::Contended => {
                cold_path();
                send_later::<K, E>(buf, bytes, comm, dest, tag, end)
            }
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Isend<C: Count>(
    buf: *const c_void,
    count: C,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let end = ByRequest(request);
    // SAFETY: passed on.
    unsafe { start::<call::Isend<C>, _, C>(buf, count, datatype, dest, tag, comm, end) }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Send<C: Count>(
    buf: *const c_void,
    count: C,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    unsafe { start::<call::Send<C>, _, C>(buf, count, datatype, dest, tag, comm, AtReturn) }
}

/// A send of whatever memory, and all errors of its arguments.
#[inline(never)]
pub(crate) unsafe extern "C" fn send_any<K: Call, E: End>(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    end: E,
    envelope: Envelope,
    comm: MPI_Comm,
) -> i32 {
    let decoded = decode(buf, count, datatype, comm);
    let (dest, tag) = (envelope.rank(), envelope.tag());
    // SAFETY: the program keeps the buffer until the operation is complete (crate head).
    let start = |comm: &Comm, memory: Memory<'_>| unsafe {
        p2p::isend_promised::<K>(comm, memory, dest, tag)
    };
    // SAFETY: passed on.
    unsafe { send_decoded(K::NAME, decoded, start, comm, end) }
}

/// A send of bytes that fit a cell, to a rank that the first stage does not reach.
#[inline(always)]
pub(crate) unsafe fn send_further<K: Call, E: End>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        match p2p::stage_of_send::<K>(comm, dest) {
            Stage::Locked => send_locked::<K, E>(buf, bytes, comm, dest, tag, end),
            Stage::Mapped => send_mapped::<K, E>(buf, bytes, comm, dest, tag, end),
            Stage::Lane => {
                cold_path();
                send_on_lane::<K, E>(buf, bytes, comm, dest, tag, end)
            }
        }
    }
}

/// [`Stage::Locked`]. Its arguments lie where MPI_Isend's do.
// TIER: short
#[inline(never)]
unsafe extern "C" fn send_locked<K: Call, E: End>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        let done = p2p::inject_locked::<K>(comm, buf.cast(), bytes, dest, tag);
        go_on::<K, E>(done, buf, bytes, comm, dest, tag, end)
    }
}

/// As [`send_bytes`], after the thread that is inside the VCI has had time to go on.
#[cold]
#[inline(never)]
unsafe extern "C" fn send_later<K: Call, E: End>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    p2p::let_owner_work(comm);
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe { send_bytes::<K, E>(buf, bytes, comm, dest, tag, end) }
}

/// [`Stage::Mapped`].
// TIER: short
#[inline(never)]
unsafe extern "C" fn send_mapped<K: Call, E: End>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        let done = p2p::inject_mapped::<K>(comm, buf.cast(), bytes, dest, tag);
        go_on::<K, E>(done, buf, bytes, comm, dest, tag, end)
    }
}

/// [`Stage::Lane`]. What the lane refuses stays on it.
// TIER: short
#[inline(never)]
unsafe extern "C" fn send_on_lane<K: Call, E: End>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        let Some(lane) = p2p::lane_of_send::<K>(comm, dest, tag) else {
            cold_path();
            return send_bytes::<K, E>(buf, bytes, comm, dest, tag, end);
        };
        let done = p2p::inject_locked::<K>(lane, buf.cast(), bytes, dest, tag);
        go_on::<K, E>(done, buf, bytes, lane, dest, tag, end)
    }
}

/// A send of contiguous bytes that are not injected. Its arguments lie where MPI_Isend's do.
#[inline(never)]
pub(crate) unsafe extern "C" fn send_bytes<K: Call, E: End>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        if p2p::send_eager::<K>(comm, buf.cast(), bytes, dest, tag) {
            return end.tell(RequestId::SENT);
        }
        send_rendezvous::<K, E>(buf, bytes, comm, dest, tag, end)
    }
}

/// As [`send_bytes`], of what needs an operation.
#[inline(never)]
unsafe extern "C" fn send_rendezvous<K: Call, E: End>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    end: E,
) -> i32 {
    let memory = Memory::contiguous(buf.cast_mut().cast(), bytes);
    let done = comm.enter_endpoint(K::NAME).and_then(|_entered| {
        // SAFETY: the program keeps the buffer until the operation is complete (crate head).
        let id = unsafe { p2p::isend_promised::<K>(comm, memory, dest, tag) }?;
        end.finish(comm, id, K::NAME)
    });
    // SAFETY: the result is writable (crate head).
    unsafe { end.hand_out(K::NAME, handle_of(comm), done) }
}

/// A send of decoded memory that `start` starts.
#[inline(always)]
unsafe fn send_decoded<E: End>(
    call: &'static str,
    decoded: Decoded,
    start: impl FnOnce(&Comm, Memory<'_>) -> Result<RequestId>,
    comm: MPI_Comm,
    end: E,
) -> i32 {
    let done = decoded.and_then(|(comm, memory)| {
        let _entered = rma::enter_message(comm, call, &memory, BufferUse::Read)?;
        let id = start(comm, memory)?;
        end.finish(comm, id, call)
    });
    // SAFETY: the result is writable (crate head).
    unsafe { end.hand_out(call, comm, done) }
}

/// A send in a mode.
#[inline(always)]
unsafe fn send_as<E: End>(
    call: &'static str,
    mode: Mode,
    decoded: Decoded,
    envelope: Envelope,
    comm: MPI_Comm,
    end: E,
) -> i32 {
    let (dest, tag) = (envelope.rank(), envelope.tag());
    // SAFETY: the program keeps the buffer until the operation is complete (crate head).
    let start =
        |comm: &Comm, memory: Memory<'_>| unsafe { p2p::isend(comm, memory, dest, tag, mode) };
    // SAFETY: passed on.
    unsafe { send_decoded(call, decoded, start, comm, end) }
}

macro_rules! modes {
    ($($start:ident $blocking:ident $mode:ident;)*) => {
        $(
            pub(crate) unsafe fn $start(
                buf: *const c_void, count: impl Number, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> i32 {
                let decoded = decode(buf, count, datatype, comm);
                // SAFETY: passed on.
                unsafe { send_as(named!(stringify!($start), count), Mode::$mode, decoded, Envelope::new(dest, tag), comm, ByRequest(request)) }
            }

            pub(crate) unsafe fn $blocking(
                buf: *const c_void, count: impl Number, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
            ) -> i32 {
                let decoded = decode(buf, count, datatype, comm);
                // SAFETY: passed on.
                unsafe { send_as(named!(stringify!($blocking), count), Mode::$mode, decoded, Envelope::new(dest, tag), comm, AtReturn) }
            }
        )*
    };
}

modes! {
    MPI_Issend MPI_Ssend Synchronous;
    MPI_Irsend MPI_Rsend Ready;
    MPI_Ibsend MPI_Bsend Buffered;
}
