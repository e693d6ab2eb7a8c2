// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends (MPI-5.0, sections 3.2, 3.4 and 3.7): the stages of the standard send, one below the other, and the other modes.

use core::ffi::c_void;
use std::hint::cold_path;

use engine::comm::Comm;
use engine::completion;
use engine::p2p::{self, Injected, Memory, Mode};
use engine::request::RequestId;
use engine::rma::{self, BufferUse};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::decode::{Decoded, Envelope, called, decode, decode_contiguous, hand_out, handle_of};
use crate::datatype::Count;
use crate::error::raise;
use crate::naming::{Number, Wide, named};

/// The standard send: the short message first, everything else out of line. What is decoded is not decoded again: the
/// fewer arguments stay alive, the fewer registers have to be saved.
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
    let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
        // SAFETY: passed on.
        return unsafe {
            isend_any::<C>(
                buf,
                count.into(),
                datatype,
                request,
                Envelope::new(dest, tag),
                comm,
            )
        };
    };
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        match p2p::inject(object, buf.cast(), bytes, dest, tag) {
            Injected::Unreached => {
                cold_path();
                isend_locked::<C>(buf, bytes, object, dest, tag, request)
            }
            Injected::Refused => {
                cold_path();
                isend_bytes::<C>(buf, bytes, object, dest, tag, request)
            }
            Injected::Sent => {
                *request = RequestId::SENT.0 as usize;
                0
            }
            Injected::SentWake => {
                cold_path();
                *request = RequestId::SENT.0 as usize;
                p2p::wake(object, dest)
            }
        }
    }
}

#[inline(never)]
unsafe extern "C" fn isend_any<C: Wide>(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
    envelope: Envelope,
    comm: MPI_Comm,
) -> i32 {
    let decoded = decode(buf, count, datatype, comm);
    // SAFETY: passed on.
    unsafe {
        isend_as(
            called::<C>("MPI_Isend", "MPI_Isend_c"),
            Mode::Standard,
            decoded,
            envelope,
            comm,
            request,
        )
    }
}

/// MPI_Isend of bytes that fit a cell, to a rank that the first stage does not reach. Its arguments lie where MPI_Isend's do.
// TIER: short
#[inline(never)]
unsafe extern "C" fn isend_locked<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        match p2p::inject_locked(comm, buf.cast(), bytes, dest, tag) {
            Injected::Refused | Injected::Unreached => {
                cold_path();
                isend_bytes::<C>(buf, bytes, comm, dest, tag, request)
            }
            Injected::Sent => {
                *request = RequestId::SENT.0 as usize;
                0
            }
            Injected::SentWake => {
                cold_path();
                *request = RequestId::SENT.0 as usize;
                p2p::wake(comm, dest)
            }
        }
    }
}

/// MPI_Isend of contiguous bytes that are not injected. Its arguments lie where MPI_Isend's do.
#[inline(never)]
unsafe extern "C" fn isend_bytes<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        if p2p::send_eager(comm, buf.cast(), bytes, dest, tag) {
            *request = RequestId::SENT.0 as usize;
            return 0;
        }
        isend_rendezvous::<C>(buf, bytes, comm, dest, tag, request)
    }
}

/// As [`isend_bytes`], of what needs an operation.
#[inline(never)]
unsafe extern "C" fn isend_rendezvous<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    request: *mut MPI_Request,
) -> i32 {
    let memory = Memory::contiguous(buf.cast_mut().cast(), bytes);
    let call = called::<C>("MPI_Isend", "MPI_Isend_c");
    // SAFETY: the program keeps the buffer until the request completes, and the result is writable (crate head).
    unsafe {
        let start = |_entered| p2p::isend(comm, memory, dest, tag, Mode::Standard);
        let started = comm.enter_endpoint(call).and_then(start);
        hand_out(call, handle_of(comm), started, request)
    }
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
    let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
        // SAFETY: passed on.
        return unsafe { send_any::<C>(buf, count.into(), datatype, dest, tag, comm) };
    };
    // SAFETY: the buffer is readable (crate head).
    unsafe {
        match p2p::inject(object, buf.cast(), bytes, dest, tag) {
            Injected::Unreached => {
                cold_path();
                send_locked::<C>(buf, bytes, object, dest, tag)
            }
            Injected::Refused => {
                cold_path();
                send_bytes::<C>(buf, bytes, object, dest, tag)
            }
            Injected::Sent => 0,
            Injected::SentWake => {
                cold_path();
                p2p::wake(object, dest)
            }
        }
    }
}

#[inline(never)]
unsafe extern "C" fn send_any<C: Wide>(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
) -> i32 {
    let decoded = decode(buf, count, datatype, comm);
    // SAFETY: passed on.
    unsafe {
        send_as(
            called::<C>("MPI_Send", "MPI_Send_c"),
            Mode::Standard,
            decoded,
            Envelope::new(dest, tag),
            comm,
        )
    }
}

/// MPI_Send of bytes that fit a cell, to a rank that the first stage does not reach.
// TIER: short
#[inline(never)]
unsafe extern "C" fn send_locked<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
) -> i32 {
    // SAFETY: the buffer is readable (crate head).
    unsafe {
        match p2p::inject_locked(comm, buf.cast(), bytes, dest, tag) {
            Injected::Refused | Injected::Unreached => {
                cold_path();
                send_bytes::<C>(buf, bytes, comm, dest, tag)
            }
            Injected::Sent => 0,
            Injected::SentWake => {
                cold_path();
                p2p::wake(comm, dest)
            }
        }
    }
}

/// MPI_Send of contiguous bytes that are not injected.
#[inline(never)]
unsafe extern "C" fn send_bytes<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
) -> i32 {
    // SAFETY: the buffer is readable (crate head).
    unsafe {
        if p2p::send_eager(comm, buf.cast(), bytes, dest, tag) {
            return 0;
        }
        send_rendezvous::<C>(buf, bytes, comm, dest, tag)
    }
}

/// As [`send_bytes`], of what needs an operation.
#[inline(never)]
unsafe extern "C" fn send_rendezvous<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
) -> i32 {
    let memory = Memory::contiguous(buf.cast_mut().cast(), bytes);
    let call = called::<C>("MPI_Send", "MPI_Send_c");
    let done = comm.enter_endpoint(call).and_then(|_entered| {
        // SAFETY: the program keeps the buffer during the call (crate head).
        let mut id = unsafe { p2p::isend(comm, memory, dest, tag, Mode::Standard) }?;
        completion::wait(comm.vci(), &mut id, call)
    });
    match done {
        Ok(_) => 0,
        Err(error) => raise(call, handle_of(comm), error),
    }
}

/// A nonblocking send in a mode.
#[inline(always)]
unsafe fn isend_as(
    call: &'static str,
    mode: Mode,
    decoded: Decoded,
    envelope: Envelope,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let started = decoded.and_then(|(comm, memory)| {
        let _entered = rma::enter_message(comm, call, &memory, BufferUse::Read)?;
        // SAFETY: the program keeps the buffer until the request completes (crate head).
        unsafe { p2p::isend(comm, memory, envelope.rank(), envelope.tag(), mode) }
    });
    // SAFETY: passed on.
    unsafe { hand_out(call, comm, started, request) }
}

/// A blocking send in a mode.
#[inline(always)]
unsafe fn send_as(
    call: &'static str,
    mode: Mode,
    decoded: Decoded,
    envelope: Envelope,
    comm: MPI_Comm,
) -> i32 {
    let done = decoded.and_then(|(comm, memory)| {
        let _entered = rma::enter_message(comm, call, &memory, BufferUse::Read)?;
        // SAFETY: the program keeps the buffer during the call (crate head).
        let mut id = unsafe { p2p::isend(comm, memory, envelope.rank(), envelope.tag(), mode) }?;
        completion::wait(comm.vci(), &mut id, call)
    });
    match done {
        Ok(_) => 0,
        Err(error) => raise(call, comm, error),
    }
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
                unsafe { isend_as(named!(stringify!($start), count), Mode::$mode, decoded, Envelope::new(dest, tag), comm, request) }
            }

            pub(crate) unsafe fn $blocking(
                buf: *const c_void, count: impl Number, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
            ) -> i32 {
                let decoded = decode(buf, count, datatype, comm);
                // SAFETY: passed on.
                unsafe { send_as(named!(stringify!($blocking), count), Mode::$mode, decoded, Envelope::new(dest, tag), comm) }
            }
        )*
    };
}

modes! {
    MPI_Issend MPI_Ssend Synchronous;
    MPI_Irsend MPI_Rsend Ready;
    MPI_Ibsend MPI_Bsend Buffered;
}
