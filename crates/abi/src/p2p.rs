// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point-to-point communication (MPI-5.0, chapter 3).
// LONG: one file for the chapter, whose calls share their decoding.

use core::ffi::c_void;
use std::hint::cold_path;
use std::sync::atomic::Ordering;

use engine::Result;
use engine::comm::Comm;
use engine::p2p::probe::Message;
use engine::p2p::{self, Memory, Mode, Shortcut, persistent, probe};
use engine::request;
use engine::vci::operations::RequestId;
use mpi_abi_sys::constants::MPI_MESSAGE_NULL;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status};

use crate::datatype::{self, Count, memory};
use crate::env::{is_active, require_process};
use crate::error::{inactive, raise, run};
use crate::handle::COMMS;
use crate::status::{store, store_single};

/// The first half of every call: communicator and memory, or the error.
#[inline(always)]
fn decode(
    buf: *const c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(&'static Comm, Memory<'static>)> {
    let comm = COMMS.find(comm, "comm")?;
    Ok((comm, memory(buf, count.into(), datatype)?))
}

/// Rank and tag in one register: with them the calls that leave the short path are jumps.
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

/// [`decode`] for what can be done without a closer look.
// TIER: short
#[inline(always)]
fn decode_plain(
    buf: *const c_void,
    count: impl Count,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Option<(usize, &'static Comm)> {
    let bytes = datatype::plain_bytes(buf, count, datatype)?;
    Some((bytes, COMMS.get(comm)?))
}

macro_rules! isends {
    ($($name:ident $blocking:ident $init:ident $mode:ident;)*) => {
        $(
            #[inline(always)]
            pub(crate) unsafe fn $name(
                buf: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> i32 {
                let started = decode(buf, count, datatype, comm).and_then(|(comm, memory)| {
                    // SAFETY: the program keeps the buffer until the request completes (crate head).
                    unsafe { p2p::isend(comm, memory, dest, tag, Mode::$mode) }
                });
                match started {
                    Ok(id) => {
                        // SAFETY: the result is writable (crate head).
                        unsafe { *request = id.0 as usize };
                        0
                    }
                    Err(error) => raise(concat!("MPI_", stringify!($name)), comm, error),
                }
            }

            #[inline(always)]
            pub(crate) unsafe fn $blocking(
                buf: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
            ) -> i32 {
                let done = decode(buf, count, datatype, comm).and_then(|(comm, memory)| {
                    // SAFETY: the program keeps the buffer during the call (crate head).
                    let mut id = unsafe { p2p::isend(comm, memory, dest, tag, Mode::$mode) }?;
                    request::wait(comm.process().vci(), &mut id, concat!("MPI_", stringify!($blocking)))
                });
                match done {
                    Ok(_) => 0,
                    Err(error) => raise(concat!("MPI_", stringify!($blocking)), comm, error),
                }
            }

            pub(crate) unsafe fn $init(
                buf: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> i32 {
                run(concat!("MPI_", stringify!($init)), comm, || {
                    let (comm, memory) = decode(buf, count, datatype, comm)?;
                    // SAFETY: the program keeps the buffer while the request exists (crate head).
                    let id = unsafe { persistent::send_init(comm, memory, dest, tag, Mode::$mode) }?;
                    // SAFETY: the result is writable (crate head).
                    unsafe { *request = id.0 as usize };
                    Ok(())
                })
            }
        )*
    };
}

isends! {
    Isend Send Send_init Standard;
    Issend Ssend Ssend_init Synchronous;
    Irsend Rsend Rsend_init Ready;
    Ibsend Bsend Bsend_init Buffered;
}

macro_rules! named_sends {
    ($($name:ident $body:ident $blocking:ident $blocking_body:ident $init:ident $init_body:ident;)*) => {
        $(
            #[inline(always)]
            pub(crate) unsafe fn $name(
                buf: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> i32 {
                // SAFETY: passed on.
                unsafe { $body(buf, count, datatype, dest, tag, comm, request) }
            }
            #[inline(always)]
            pub(crate) unsafe fn $blocking(
                buf: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
            ) -> i32 {
                // SAFETY: passed on.
                unsafe { $blocking_body(buf, count, datatype, dest, tag, comm) }
            }
            pub(crate) unsafe fn $init(
                buf: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> i32 {
                // SAFETY: passed on.
                unsafe { $init_body(buf, count, datatype, dest, tag, comm, request) }
            }
        )*
    };
}

named_sends! {
    MPI_Issend Issend MPI_Ssend Ssend MPI_Ssend_init Ssend_init;
    MPI_Irsend Irsend MPI_Rsend Rsend MPI_Rsend_init Rsend_init;
    MPI_Ibsend Ibsend MPI_Bsend Bsend MPI_Bsend_init Bsend_init;
}

/// The standard send: the short message first, everything else out of line. What is decoded is not decoded again: the
/// fewer arguments stay alive, the fewer registers have to be saved.
#[inline(always)]
pub(crate) unsafe fn MPI_Isend(
    buf: *const c_void,
    count: impl Count,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let Some((bytes, object)) = decode_plain(buf, count, datatype, comm) else {
        // SAFETY: passed on.
        return unsafe {
            isend_any(
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
        match p2p::send_short(object, buf.cast(), bytes, dest, tag) {
            Shortcut::NotTaken => {
                cold_path();
                isend_any(
                    buf,
                    count.into(),
                    datatype,
                    request,
                    Envelope::new(dest, tag),
                    comm,
                )
            }
            Shortcut::Sent => {
                *request = RequestId::SENT.0 as usize;
                0
            }
            Shortcut::SentToSleeper => {
                cold_path();
                *request = RequestId::SENT.0 as usize;
                p2p::wake(object, dest)
            }
        }
    }
}

#[inline(never)]
unsafe extern "C" fn isend_any(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
    envelope: Envelope,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    unsafe {
        Isend(
            buf,
            count,
            datatype,
            envelope.rank(),
            envelope.tag(),
            comm,
            request,
        )
    }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Send(
    buf: *const c_void,
    count: impl Count,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
) -> i32 {
    let Some((bytes, object)) = decode_plain(buf, count, datatype, comm) else {
        // SAFETY: passed on.
        return unsafe { send_any(buf, count.into(), datatype, dest, tag, comm) };
    };
    // SAFETY: the buffer is readable (crate head).
    unsafe {
        match p2p::send_short(object, buf.cast(), bytes, dest, tag) {
            Shortcut::NotTaken => {
                cold_path();
                send_bytes(buf, bytes, object, dest, tag, datatype)
            }
            Shortcut::Sent => 0,
            Shortcut::SentToSleeper => {
                cold_path();
                p2p::wake(object, dest)
            }
        }
    }
}

#[inline(never)]
unsafe extern "C" fn send_any(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    unsafe { Send(buf, count, datatype, dest, tag, comm) }
}

/// MPI_Send of `bytes` contiguous bytes of a predefined type.
#[inline(never)]
unsafe extern "C" fn send_bytes(
    buf: *const c_void,
    bytes: usize,
    comm: &Comm,
    dest: i32,
    tag: i32,
    datatype: MPI_Datatype,
) -> i32 {
    let memory = Memory::contiguous(buf.cast_mut().cast(), bytes);
    let memory = if datatype::checks_types() {
        memory.typed(datatype::types_of(bytes, datatype))
    } else {
        memory
    };
    // SAFETY: the program keeps the buffer during the call (crate head).
    let done = unsafe { p2p::isend(comm, memory, dest, tag, Mode::Standard) }
        .and_then(|mut id| request::wait(comm.process().vci(), &mut id, "MPI_Send"));
    match done {
        Ok(_) => 0,
        Err(error) => {
            let handle = comm.handle.load(Ordering::Relaxed) as usize;
            raise("MPI_Send", handle, error)
        }
    }
}

pub(crate) unsafe fn MPI_Send_init(
    buf: *const c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    unsafe { Send_init(buf, count, datatype, dest, tag, comm, request) }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Irecv(
    buf: *mut c_void,
    count: impl Count,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let Some((bytes, object)) = decode_plain(buf, count, datatype, comm) else {
        // SAFETY: passed on.
        return unsafe {
            irecv_any(
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
        match p2p::post_short(object, buf.cast(), bytes, source, tag) {
            Some(id) => {
                *request = id.0 as usize;
                0
            }
            None => {
                cold_path();
                irecv_any(
                    buf,
                    count.into(),
                    datatype,
                    request,
                    Envelope::new(source, tag),
                    comm,
                )
            }
        }
    }
}

#[inline(never)]
unsafe extern "C" fn irecv_any(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    request: *mut MPI_Request,
    envelope: Envelope,
    comm: MPI_Comm,
) -> i32 {
    let started = decode(buf, count, datatype, comm).and_then(|(comm, memory)| {
        // SAFETY: the program keeps the buffer until the request completes (crate head).
        unsafe { p2p::irecv(comm, memory, envelope.rank(), envelope.tag()) }
    });
    match started {
        Ok(id) => {
            // SAFETY: the result is writable (crate head).
            unsafe { *request = id.0 as usize };
            0
        }
        Err(error) => raise("MPI_Irecv", comm, error),
    }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Recv(
    buf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    let done = decode(buf, count, datatype, comm).and_then(|(comm, memory)| {
        // SAFETY: the program keeps the buffer during the call (crate head).
        let mut id = unsafe { p2p::irecv(comm, memory, source, tag) }?;
        request::wait(comm.process().vci(), &mut id, "MPI_Recv")
    });
    match done {
        Ok(found) => {
            store_single(status, found);
            0
        }
        Err(error) => raise("MPI_Recv", comm, error),
    }
}

pub(crate) unsafe fn MPI_Recv_init(
    buf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Recv_init", comm, || {
        let (comm, memory) = decode(buf, count, datatype, comm)?;
        // SAFETY: the program keeps the buffer while the request exists (crate head).
        let id = unsafe { persistent::recv_init(comm, memory, source, tag) }?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

/// A receive and a send at once; waits for both.
unsafe fn exchange(
    call: &'static str,
    comm: &'static Comm,
    send: (Memory<'_>, i32, i32),
    receive: (Memory<'_>, i32, i32),
) -> Result<engine::request::Status> {
    let vci = comm.process().vci();
    // SAFETY: the program keeps both buffers during the call (crate head).
    let mut arrival = unsafe { p2p::irecv(comm, receive.0, receive.1, receive.2) }?;
    // SAFETY: as above.
    let departure = unsafe { p2p::isend(comm, send.0, send.1, send.2, Mode::Standard) };
    let mut departure = match departure {
        Ok(id) => id,
        Err(error) => {
            request::cancel(vci, arrival)?;
            request::wait(vci, &mut arrival, call)?;
            return Err(error);
        }
    };
    let status = request::wait(vci, &mut arrival, call);
    request::wait(vci, &mut departure, call)?;
    status
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Sendrecv(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    run("MPI_Sendrecv", comm, || {
        let (comm, send) = decode(sendbuf, sendcount, sendtype, comm)?;
        let receive = memory(recvbuf, recvcount.into(), recvtype)?;
        // SAFETY: passed on.
        let found = unsafe {
            exchange(
                "MPI_Sendrecv",
                comm,
                (send, dest, sendtag),
                (receive, source, recvtag),
            )
        }?;
        store_single(status, found);
        Ok(())
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Sendrecv_replace(
    buf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    run("MPI_Sendrecv_replace", comm, || {
        let (comm, receive) = decode(buf, count, datatype, comm)?;
        let mut copy = datatype::packed(receive);
        let send = Memory::contiguous(copy.as_mut_ptr(), copy.len()).typed(receive.types);
        // SAFETY: the copy outlives the exchange.
        let found = unsafe {
            exchange(
                "MPI_Sendrecv_replace",
                comm,
                (send, dest, sendtag),
                (receive, source, recvtag),
            )
        }?;
        store_single(status, found);
        Ok(())
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Isendrecv(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Isendrecv", comm, || {
        let (comm, send) = decode(sendbuf, sendcount, sendtype, comm)?;
        let receive = memory(recvbuf, recvcount.into(), recvtype)?;
        // SAFETY: the program keeps both buffers until the request completes (crate head).
        let id = unsafe {
            p2p::isendrecv(
                comm,
                (send, dest, sendtag),
                (receive, source, recvtag),
                Vec::new(),
            )
        }?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Isendrecv_replace(
    buf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Isendrecv_replace", comm, || {
        let (comm, receive) = decode(buf, count, datatype, comm)?;
        let mut copy = datatype::packed(receive);
        let send = Memory::contiguous(copy.as_mut_ptr(), copy.len()).typed(receive.types);
        // SAFETY: the operation owns the copy; the program keeps the buffer until the request completes (crate head).
        let id = unsafe {
            p2p::isendrecv(
                comm,
                (send, dest, sendtag),
                (receive, source, recvtag),
                copy,
            )
        }?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Probe(
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    run("MPI_Probe", comm, || {
        store_single(
            status,
            probe::probe(COMMS.find(comm, "comm")?, source, tag)?,
        );
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Iprobe(
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    run("MPI_Iprobe", comm, || {
        let found = probe::iprobe(COMMS.find(comm, "comm")?, source, tag)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(found.is_some()) };
        if let Some(found) = found {
            store_single(status, found);
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Mprobe(
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> i32 {
    run("MPI_Mprobe", comm, || {
        let (found, what) = probe::mprobe(COMMS.find(comm, "comm")?, source, tag)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *message = found.0.0 as usize };
        store_single(status, what);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Improbe(
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    flag: *mut i32,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> i32 {
    run("MPI_Improbe", comm, || {
        let found = probe::improbe(COMMS.find(comm, "comm")?, source, tag)?;
        // SAFETY: the results are writable (crate head).
        unsafe {
            *flag = i32::from(found.is_some());
            if let Some((found, _)) = found {
                *message = found.0.0 as usize;
            }
        }
        if let Some((_, what)) = found {
            store_single(status, what);
        }
        Ok(())
    })
}

/// The communicator of a message, for the error handler.
fn comm_of_message(message: MPI_Message) -> MPI_Comm {
    let comm = require_process()
        .ok()
        .and_then(|process| probe::comm_of(process, Message(RequestId(message as u64))));
    comm.map_or(0, |comm| comm.handle.load(Ordering::Relaxed) as usize)
}

unsafe fn start_matched(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    message: *mut MPI_Message,
) -> Result<RequestId> {
    // SAFETY: the handle is readable and writable (crate head).
    let message = unsafe { &mut *message };
    let target = memory(buf, count, datatype)?;
    // SAFETY: the program keeps the buffer until the request completes (crate head).
    let id = unsafe {
        probe::imrecv(
            require_process()?,
            target,
            Message(RequestId(*message as u64)),
        )
    }?;
    *message = MPI_MESSAGE_NULL;
    Ok(id)
}

pub(crate) unsafe fn MPI_Imrecv(
    buf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    message: *mut MPI_Message,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: the handle is readable (crate head).
    run("MPI_Imrecv", comm_of_message(unsafe { *message }), || {
        // SAFETY: passed on; the result is writable (crate head).
        unsafe { *request = start_matched(buf, count.into(), datatype, message)?.0 as usize };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Mrecv(
    buf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> i32 {
    // SAFETY: the handle is readable (crate head).
    run("MPI_Mrecv", comm_of_message(unsafe { *message }), || {
        // SAFETY: passed on.
        let mut id = unsafe { start_matched(buf, count.into(), datatype, message) }?;
        store_single(
            status,
            request::wait(require_process()?.vci(), &mut id, "MPI_Mrecv")?,
        );
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Start(request: *mut MPI_Request) -> i32 {
    // SAFETY: the handle is readable (crate head).
    unsafe { MPI_Startall(1, request) }
}

pub(crate) unsafe fn MPI_Startall(count: i32, requests: *mut MPI_Request) -> i32 {
    if !is_active() {
        return inactive("MPI_Startall");
    }
    for index in 0..count.max(0) as usize {
        // SAFETY: the array has `count` entries (crate head).
        let id = RequestId(unsafe { *requests.add(index) } as u64);
        let started = require_process().and_then(|process| persistent::start(process.vci(), id));
        if let Err(error) = started {
            return raise("MPI_Start", crate::request::comm_handle(id), error);
        }
    }
    0
}

pub(crate) unsafe fn MPI_Request_get_status(
    request: MPI_Request,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let id = RequestId(request as u64);
    run(
        "MPI_Request_get_status",
        crate::request::comm_handle(id),
        || {
            let found = request::peek(require_process()?.vci(), id)?;
            // SAFETY: the result is writable (crate head).
            unsafe { *flag = i32::from(found.is_some()) };
            if let Some(found) = found {
                store(status, found);
            }
            Ok(())
        },
    )
}
