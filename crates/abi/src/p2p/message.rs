// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends and receives of one message (MPI-5.0, sections 3.2, 3.4 and 3.7): the fast path of the standard send and of the
//! receive, and the other modes of sending.
//!
//! LONG: the stages of each call stand one below the other, as each hands its decoded arguments to the next.

use core::ffi::c_void;
use std::hint::cold_path;
use std::sync::atomic::Ordering;

use engine::Result;
use engine::comm::Comm;
use engine::completion;
use engine::p2p::{self, Injected, Memory, Mode, Posted};
use engine::request::RequestId;
use mpi_abi_sys::constants::MPI_REQUEST_NULL;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status};

use crate::datatype::{Count, arguments, memory, target_memory};
use crate::error::raise;
use crate::handle::COMMS;
use crate::naming::{Number, Wide, named};
use crate::status::store_single;

/// The first half of every call: communicator and memory, or the error.
#[inline(always)]
pub(crate) fn decode(
    buf: *const c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(&'static Comm, Memory<'static>)> {
    let comm = COMMS.find(comm, "comm")?;
    Ok((comm, memory(buf, count.into(), datatype)?))
}

/// As [`decode`], of a buffer that is received into.
#[inline(always)]
pub(crate) fn decode_target(
    buf: *const c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(&'static Comm, Memory<'static>)> {
    let comm = COMMS.find(comm, "comm")?;
    Ok((comm, target_memory(buf, count.into(), datatype)?))
}

/// Rank and tag in one register: with them the calls that leave the fast path are jumps.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Envelope(u64);

impl Envelope {
    #[inline(always)]
    const fn new(rank: i32, tag: i32) -> Self {
        Self(rank as u32 as u64 | (tag as u32 as u64) << 32)
    }

    const fn rank(self) -> i32 {
        self.0 as i32
    }

    const fn tag(self) -> i32 {
        (self.0 >> 32) as i32
    }
}

/// [`decode`] for contiguous data of a predefined type.
// TIER: short
#[inline(always)]
fn decode_contiguous(
    buf: *const c_void,
    count: impl Count,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Option<(usize, &'static Comm)> {
    let bytes = arguments::contiguous_bytes(buf, count, datatype)?;
    Some((bytes, COMMS.get_trusted(comm)?))
}

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
            Injected::Refused => {
                cold_path();
                isend_decoded::<C>(buf, bytes, object, dest, tag, request)
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

/// The name of the form that counts of this type belong to.
const fn called<C: Wide>(call: &'static str, large: &'static str) -> &'static str {
    if C::WIDE { large } else { call }
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

/// MPI_Isend of `bytes` contiguous bytes that the first stage refused. Its arguments lie where MPI_Isend's do.
// TIER: short
#[inline(never)]
unsafe extern "C" fn isend_decoded<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: the buffer is readable and the result writable (crate head).
    unsafe {
        match p2p::send_now(comm, buf.cast(), bytes, dest, tag) {
            Injected::Refused => {
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

/// As [`isend_decoded`], of what the second stage refused.
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

/// The handle of a communicator.
fn handle_of(comm: &Comm) -> MPI_Comm {
    comm.handle.load(Ordering::Relaxed) as usize
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
            Injected::Refused => {
                cold_path();
                send_decoded::<C>(buf, bytes, object, dest, tag)
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

/// MPI_Send of `bytes` contiguous bytes that the first stage refused.
// TIER: short
#[inline(never)]
unsafe extern "C" fn send_decoded<C: Wide>(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
) -> i32 {
    // SAFETY: the buffer is readable (crate head).
    unsafe {
        match p2p::send_now(comm, buf.cast(), bytes, dest, tag) {
            Injected::Refused => {
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

/// As [`send_decoded`], of what the second stage refused.
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

#[inline(always)]
pub(crate) unsafe fn MPI_Irecv<C: Count>(
    buf: *mut c_void,
    count: C,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
        // SAFETY: passed on.
        return unsafe {
            irecv_any::<C>(
                buf,
                count.into(),
                datatype,
                request,
                Envelope::new(source, tag),
                comm,
            )
        };
    };
    // SAFETY: the program keeps the buffer until the request completes, and the result is writable (crate head).
    unsafe {
        match p2p::post(object, buf.cast(), bytes, source, tag) {
            Some(id) => {
                *request = id.0 as usize;
                0
            }
            None => {
                cold_path();
                irecv_decoded::<C>(buf, bytes, object, source, tag, request)
            }
        }
    }
}

/// MPI_Irecv of `bytes` contiguous bytes that the first stage refused. Its arguments lie where MPI_Irecv's do.
// TIER: short
#[inline(never)]
unsafe extern "C" fn irecv_decoded<C: Wide>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: the program keeps the buffer until the request completes, and the result is writable (crate head).
    unsafe {
        match p2p::post_now(comm, buf.cast(), bytes, source, tag) {
            Posted::Refused => {
                cold_path();
                irecv_bytes::<C>(buf, bytes, comm, source, tag, request)
            }
            Posted::Posted(id) => {
                *request = id.0 as usize;
                0
            }
            Posted::PostedWake(id) => {
                cold_path();
                *request = id.0 as usize;
                p2p::wake_contenders(comm)
            }
        }
    }
}

/// As [`irecv_decoded`], of what the second stage refused.
#[inline(never)]
unsafe extern "C" fn irecv_bytes<C: Wide>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    request: *mut MPI_Request,
) -> i32 {
    let memory = Memory::contiguous(buf.cast(), bytes);
    let call = called::<C>("MPI_Irecv", "MPI_Irecv_c");
    // SAFETY: the program keeps the buffer until the request completes, and the result is writable (crate head).
    unsafe {
        let start = |_entered| p2p::irecv(comm, memory, source, tag);
        let started = comm.enter_endpoint(call).and_then(start);
        hand_out(call, handle_of(comm), started, request)
    }
}

#[inline(never)]
unsafe extern "C" fn irecv_any<C: Wide>(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
    envelope: Envelope,
    comm: MPI_Comm,
) -> i32 {
    let call = called::<C>("MPI_Irecv", "MPI_Irecv_c");
    let started = decode_target(buf, count, datatype, comm).and_then(|(comm, memory)| {
        let _entered = comm.enter_endpoint(call)?;
        // SAFETY: the program keeps the buffer until the request completes (crate head).
        unsafe { p2p::irecv(comm, memory, envelope.rank(), envelope.tag()) }
    });
    // SAFETY: passed on.
    unsafe { hand_out(call, comm, started, request) }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Recv<C: Count>(
    buf: *mut c_void,
    count: C,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
        // SAFETY: passed on.
        return unsafe { recv_any::<C>(buf, count.into(), datatype, source, tag, comm, status) };
    };
    let memory = Memory::contiguous(buf.cast(), bytes);
    // SAFETY: the program keeps the buffer during the call (crate head).
    if let Some(found) = unsafe { p2p::receive_soon(object, memory, source, tag) } {
        store_single(status, found);
        return 0;
    }
    // SAFETY: as above.
    let id = match unsafe { p2p::post_now(object, buf.cast(), bytes, source, tag) } {
        Posted::Posted(id) => id,
        Posted::PostedWake(id) => {
            p2p::wake_contenders(object);
            id
        }
        // SAFETY: passed on.
        Posted::Refused => unsafe {
            return recv_any::<C>(buf, count.into(), datatype, source, tag, comm, status);
        },
    };
    let call = called::<C>("MPI_Recv", "MPI_Recv_c");
    match p2p::receive_posted(object, id, call) {
        Ok(found) => {
            store_single(status, found);
            0
        }
        Err(error) => raise(call, comm, error),
    }
}

#[inline(never)]
unsafe extern "C" fn recv_any<C: Wide>(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    let call = called::<C>("MPI_Recv", "MPI_Recv_c");
    let done = decode_target(buf, count, datatype, comm).and_then(|(comm, memory)| {
        let _entered = comm.enter_endpoint(call)?;
        // SAFETY: the program keeps the buffer during the call (crate head).
        let mut id = unsafe { p2p::irecv(comm, memory, source, tag) }?;
        completion::wait(comm.vci(), &mut id, call)
    });
    match done {
        Ok(found) => {
            store_single(status, found);
            0
        }
        Err(error) => raise(call, comm, error),
    }
}

/// Gives the program its request, or the null request and the error.
#[inline(always)]
unsafe fn hand_out(
    call: &'static str,
    comm: MPI_Comm,
    started: Result<RequestId>,
    request: *mut MPI_Request,
) -> i32 {
    match started {
        Ok(id) => {
            // SAFETY: the result is writable (crate head).
            unsafe { *request = id.0 as usize };
            0
        }
        Err(error) => {
            // SAFETY: as above.
            unsafe { *request = MPI_REQUEST_NULL };
            raise(call, comm, error)
        }
    }
}

/// The result of [`decode`].
type Decoded = Result<(&'static Comm, Memory<'static>)>;

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
        let _entered = comm.enter_endpoint(call)?;
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
        let _entered = comm.enter_endpoint(call)?;
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
