// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives (MPI-5.0, sections 3.2 and 3.7): their stages, one below the other.

// account: function-call

use core::ffi::c_void;
use std::hint::cold_path;

use engine::comm::Comm;
use engine::completion;
use engine::p2p::{self, Memory, Posted, Stage};
use engine::rma::{self, BufferUse};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status};

use super::decode::{Envelope, decode_contiguous, decode_target, handle_of};
use super::end::{ByRequest, End};
use crate::call::{self, Call};
use crate::datatype::Count;
use crate::error::raise;
use crate::naming::{Wide, called};
use crate::status::store_single;

/// The nonblocking receive: a short way for contiguous memory, everything else out of line.
#[inline(always)]
pub(crate) unsafe fn start<K: Call, E: End, C: Count>(
    buf: *mut c_void,
    count: C,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    end: E,
) -> i32 {
    let Some((bytes, object)) = decode_contiguous(buf, count, datatype, comm) else {
        let (count, envelope) = (count.into(), Envelope::new(source, tag));
        // SAFETY: passed on.
        return unsafe { irecv_any::<K, E>(buf, count, datatype, end, envelope, comm) };
    };
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        let done = p2p::post::<K>(object, buf.cast(), bytes, source, tag);
        if done == Posted::Unreached {
            cold_path();
            return irecv_further::<K, E>(buf, bytes, object, source, tag, end);
        }
        go_on::<K, E>(done, buf, bytes, object, source, tag, end)
    }
}

/// Ends the call of a posted receive, or hands the receive to the next stage.
#[inline(always)]
unsafe fn go_on<K: Call, E: End>(
    done: Posted,
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        match done {
            Posted::Posted(id) => end.tell(id),
            Posted::PostedWake(id) => {
                cold_path();
                end.tell(id);
                p2p::wake_contenders(comm)
            }
            Posted::Refused | Posted::Unreached => {
                cold_path();
                irecv_bytes::<K, E>(buf, bytes, comm, source, tag, end)
            }
            Posted::Contended => {
                cold_path();
                irecv_later::<K, E>(buf, bytes, comm, source, tag, end)
            }
        }
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
    let end = ByRequest(request);
    // SAFETY: passed on.
    unsafe { start::<call::Irecv<C>, _, C>(buf, count, datatype, source, tag, comm, end) }
}

/// A receive of contiguous bytes, from a rank that the first stage does not reach. Its arguments lie where MPI_Irecv's do; inlined there
/// it would take a register from the first stage.
// TIER: short
#[inline(never)]
pub(crate) unsafe extern "C" fn irecv_further<K: Call, E: End>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        match p2p::stage_of_receive::<K>(comm, source) {
            Stage::Locked => irecv_locked::<K, E>(buf, bytes, comm, source, tag, end),
            Stage::Mapped => irecv_mapped::<K, E>(buf, bytes, comm, source, tag, end),
            Stage::Lane => {
                cold_path();
                irecv_on_lane::<K, E>(buf, bytes, comm, source, tag, end)
            }
        }
    }
}

/// [`Stage::Locked`]. Its arguments lie where MPI_Irecv's do.
// TIER: short
#[inline(never)]
unsafe extern "C" fn irecv_locked<K: Call, E: End>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        let done = p2p::post_locked::<K>(comm, buf.cast(), bytes, source, tag);
        go_on::<K, E>(done, buf, bytes, comm, source, tag, end)
    }
}

/// As [`irecv_bytes`], after the thread that is inside the VCI has had time to go on.
#[cold]
#[inline(never)]
unsafe extern "C" fn irecv_later<K: Call, E: End>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    end: E,
) -> i32 {
    p2p::let_owner_work(comm);
    // SAFETY: passed on.
    unsafe { irecv_bytes::<K, E>(buf, bytes, comm, source, tag, end) }
}

/// [`Stage::Mapped`].
// TIER: short
#[inline(never)]
unsafe extern "C" fn irecv_mapped<K: Call, E: End>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        let done = p2p::post_mapped::<K>(comm, buf.cast(), bytes, source, tag);
        go_on::<K, E>(done, buf, bytes, comm, source, tag, end)
    }
}

/// [`Stage::Lane`]. What the lane refuses stays on it.
// TIER: short
#[inline(never)]
unsafe extern "C" fn irecv_on_lane<K: Call, E: End>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    end: E,
) -> i32 {
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        let Some(lane) = p2p::lane_of_receive::<K>(comm, source, tag) else {
            cold_path();
            return irecv_bytes::<K, E>(buf, bytes, comm, source, tag, end);
        };
        let done = p2p::post_locked::<K>(lane, buf.cast(), bytes, source, tag);
        go_on::<K, E>(done, buf, bytes, lane, source, tag, end)
    }
}

/// A receive of contiguous bytes that no fast stage posts.
#[inline(never)]
pub(crate) unsafe extern "C" fn irecv_bytes<K: Call, E: End>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    end: E,
) -> i32 {
    let memory = Memory::contiguous(buf.cast(), bytes);
    // SAFETY: the program keeps the buffer until the operation is complete, and the result is writable (crate head).
    unsafe {
        let start = |_entered| p2p::irecv_promised::<K>(comm, memory, source, tag);
        let started = comm.enter_endpoint(K::NAME).and_then(start);
        end.hand_out(K::NAME, handle_of(comm), started)
    }
}

/// A receive into whatever memory, and all errors of its arguments.
#[inline(never)]
pub(crate) unsafe extern "C" fn irecv_any<K: Call, E: End>(
    buf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    end: E,
    envelope: Envelope,
    comm: MPI_Comm,
) -> i32 {
    let started = decode_target(buf, count, datatype, comm).and_then(|(comm, memory)| {
        let _entered = rma::enter_message(comm, K::NAME, &memory, BufferUse::Written)?;
        // SAFETY: the program keeps the buffer until the operation is complete (crate head).
        unsafe { p2p::irecv_promised::<K>(comm, memory, envelope.rank(), envelope.tag()) }
    });
    // SAFETY: passed on.
    unsafe { end.hand_out(K::NAME, comm, started) }
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
    if !p2p::reaches_receive(object, source) {
        cold_path();
        // SAFETY: passed on.
        return unsafe { recv_by_taker::<C>(buf, bytes, object, source, tag, status) };
    }
    // SAFETY: passed on.
    unsafe { recv_contiguous::<C>(buf, bytes, object, source, tag, status) }
}

/// A blocking receive of contiguous bytes: of a message that is there, or of one that is posted and waited for.
#[inline(always)]
unsafe fn recv_contiguous<C: Wide>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    status: *mut MPI_Status,
) -> i32 {
    let memory = Memory::contiguous(buf.cast(), bytes);
    // SAFETY: the program keeps the buffer during the call (crate head).
    if let Some(found) = unsafe { p2p::receive_soon(comm, memory, source, tag) } {
        store_single(status, found);
        return 0;
    }
    // SAFETY: as above.
    let id = match unsafe { p2p::post_now::<p2p::NoPromise>(comm, buf.cast(), bytes, source, tag) }
    {
        Posted::Posted(id) => id,
        Posted::PostedWake(id) => {
            p2p::wake_contenders(comm);
            id
        }
        // SAFETY: passed on.
        Posted::Refused | Posted::Contended | Posted::Unreached => unsafe {
            return recv_bytes::<C>(buf, bytes, comm, source, tag, status);
        },
    };
    let call = called::<C>("MPI_Recv", "MPI_Recv_c");
    match p2p::receive_posted(comm, id, call) {
        Ok(found) => {
            store_single(status, found);
            0
        }
        Err(error) => raise(call, handle_of(comm), error),
    }
}

/// As [`recv_contiguous`], on a communicator whose tags name VCIs, or of a rank that no fast stage reaches.
// TIER: short
#[inline(never)]
unsafe extern "C" fn recv_by_taker<C: Wide>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    status: *mut MPI_Status,
) -> i32 {
    let comm = p2p::taker_of_receive(comm, source, tag);
    // SAFETY: passed on.
    unsafe { recv_contiguous::<C>(buf, bytes, comm, source, tag, status) }
}

/// As [`recv_contiguous`], of what its stages do not take, and all errors of its arguments.
#[inline(never)]
unsafe extern "C" fn recv_bytes<C: Wide>(
    buf: *mut c_void,
    bytes: usize,
    comm: &Comm,
    source: i32,
    tag: i32,
    status: *mut MPI_Status,
) -> i32 {
    let call = called::<C>("MPI_Recv", "MPI_Recv_c");
    let memory = Memory::contiguous(buf.cast(), bytes);
    let done = comm.enter_endpoint(call).and_then(|_entered| {
        // SAFETY: the program keeps the buffer during the call (crate head).
        let mut id = unsafe { p2p::irecv(comm, memory, source, tag) }?;
        completion::wait(comm.vci(), &mut id, call)
    });
    match done {
        Ok(found) => {
            store_single(status, found);
            0
        }
        Err(error) => raise(call, handle_of(comm), error),
    }
}

/// A receive into whatever memory, and all errors of its arguments.
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
