// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives (MPI-5.0, sections 3.2 and 3.7): their stages, one below the other.

use core::ffi::c_void;
use std::hint::cold_path;

use engine::comm::Comm;
use engine::completion;
use engine::p2p::{self, Memory, Posted};
use engine::rma::{self, BufferUse};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status};

use super::decode::{Envelope, called, decode_contiguous, decode_target, hand_out, handle_of};
use crate::datatype::Count;
use crate::error::raise;
use crate::naming::Wide;
use crate::status::store_single;

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
            Posted::Posted(id) => {
                *request = id.0 as usize;
                0
            }
            Posted::Unreached => {
                cold_path();
                irecv_locked::<C>(buf, bytes, object, source, tag, request)
            }
            Posted::Refused | Posted::PostedWake(_) => {
                cold_path();
                irecv_bytes::<C>(buf, bytes, object, source, tag, request)
            }
        }
    }
}

/// MPI_Irecv of contiguous bytes from a rank that the first stage does not reach. Its arguments lie where MPI_Irecv's do.
// TIER: short
#[inline(never)]
unsafe extern "C" fn irecv_locked<C: Wide>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: the program keeps the buffer until the request completes, and the result is writable (crate head).
    unsafe {
        match p2p::post_locked(comm, buf.cast(), bytes, source, tag) {
            Posted::Refused | Posted::Unreached => {
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

/// As [`irecv_locked`], of what neither stage posts.
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
        let _entered = rma::enter_message(comm, call, &memory, BufferUse::Written)?;
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
        Posted::Refused | Posted::Unreached => unsafe {
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
        let _entered = rma::enter_message(comm, call, &memory, BufferUse::Written)?;
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
