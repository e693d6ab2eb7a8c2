// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages and probes on endpoint communicators.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ::endpoints::command::Operation;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffers::{Data, Output};
use super::comm::{Comm, comm_or_next};
use super::elements::Elements;
use super::endpoint::{End, Task};
use super::errors::{named, raise};
use super::handle::Kind;
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Send,
        MPI_Send_c,
        MPI_Ssend,
        MPI_Ssend_c,
        MPI_Rsend,
        MPI_Rsend_c,
        MPI_Irsend,
        MPI_Irsend_c,
        MPI_Isend,
        MPI_Isend_c,
        MPI_Issend,
        MPI_Issend_c,
        MPI_Recv,
        MPI_Recv_c,
        MPI_Irecv,
        MPI_Irecv_c,
        MPI_Sendrecv,
        MPI_Sendrecv_c,
        MPI_Sendrecv_replace,
        MPI_Sendrecv_replace_c,
        MPI_Probe: probe,
        MPI_Iprobe: iprobe,
        ..next
    }
}

/// The other side of a message.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    pub(super) rank: i32,
    pub(super) tag: i32,
}

/// Starts a send; gives its slot.
pub(super) fn send(
    comm: &Arc<Comm>,
    operation: Operation,
    data: Result<Elements, i32>,
    peer: Peer,
) -> Result<u32, i32> {
    let data = data?;
    let mut command = comm.command(operation);
    (command.peer, command.tag, command.count) = (peer.rank, peer.tag, data.bytes());
    let task = Task {
        input: Some(Data::One(data)),
        ..Task::without_data(command)
    };
    comm.endpoint().start(comm, task)
}

/// Starts a receive; gives its slot.
pub(super) fn receive(
    comm: &Arc<Comm>,
    data: Result<Elements, i32>,
    peer: Peer,
) -> Result<u32, i32> {
    let data = data?;
    let mut command = comm.command(Operation::Receive);
    (command.peer, command.tag, command.count) = (peer.rank, peer.tag, data.bytes());
    let task = Task {
        output: Output::Message(data),
        ..Task::without_data(command)
    };
    comm.endpoint().start(comm, task)
}

/// Waits for an operation of a blocking call; gives the call's code.
///
/// # Safety
/// The status is the program's, or null.
pub(super) unsafe fn waited(
    comm: &Arc<Comm>,
    name: &CStr,
    slot: Result<u32, i32>,
    status: *mut MPI_Status,
) -> i32 {
    match slot {
        Ok(slot) => {
            let end = comm.endpoint().wait(slot);
            // SAFETY: the caller's promise.
            unsafe { store(end.status, status) };
            match end.code {
                mpi::MPI_SUCCESS => end.code,
                class => raise(comm, name, class),
            }
        }
        Err(class) => raise(comm, name, class),
    }
}

/// Stores the status of a message where the program wants it; its field for errors belongs to calls for several requests.
///
/// # Safety
/// The status is the program's, or null.
pub(super) unsafe fn store(found: MPI_Status, status: *mut MPI_Status) {
    // SAFETY: the caller's promise.
    if let Some(status) = unsafe { status.as_mut() } {
        *status = MPI_Status {
            MPI_ERROR: status.MPI_ERROR,
            ..found
        };
    }
}

/// Stores the request of a nonblocking call; gives the call's code.
///
/// # Safety
/// The request is a place of the program.
pub(super) unsafe fn requested(
    comm: &Arc<Comm>,
    name: &CStr,
    slot: Result<u32, i32>,
    request: *mut MPI_Request,
) -> i32 {
    let (code, handle) = match slot {
        Ok(slot) => (
            mpi::MPI_SUCCESS,
            comm.endpoint().handle(comm.endpoint, Kind::Request, slot),
        ),
        Err(class) => (raise(comm, name, class), mpi::MPI_REQUEST_NULL),
    };
    // SAFETY: the caller's promise.
    unsafe { *request = handle };
    code
}

macro_rules! messages {
    ($($operation:ident $blocking:ident $nonblocking:ident $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $blocking(
            base: *const c_void, count: $count, datatype: MPI_Datatype, rank: i32, tag: i32, comm: MPI_Comm,
        ) -> i32 {
            let comm = comm_or_next!(comm, $blocking(base, count, datatype, rank, tag, comm));
            let (data, name) = (Elements::new(base, count.into(), datatype), named!($blocking));
            let slot = send(&comm, Operation::$operation, data, Peer { rank, tag });
            // SAFETY: no status.
            unsafe { waited(&comm, name, slot, std::ptr::null_mut()) }
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $nonblocking(
            base: *const c_void, count: $count, datatype: MPI_Datatype, rank: i32, tag: i32, comm: MPI_Comm,
            request: *mut MPI_Request,
        ) -> i32 {
            let comm = comm_or_next!(comm, $nonblocking(base, count, datatype, rank, tag, comm, request));
            let (data, name) = (Elements::new(base, count.into(), datatype), named!($nonblocking));
            let slot = send(&comm, Operation::$operation, data, Peer { rank, tag });
            // SAFETY: the program's argument.
            unsafe { requested(&comm, name, slot, request) }
        }
    )*};
}

messages! {
    Send MPI_Send MPI_Isend i32;
    Send MPI_Send_c MPI_Isend_c MPI_Count;
    Send MPI_Rsend MPI_Irsend i32;
    Send MPI_Rsend_c MPI_Irsend_c MPI_Count;
    SynchronousSend MPI_Ssend MPI_Issend i32;
    SynchronousSend MPI_Ssend_c MPI_Issend_c MPI_Count;
}

/// Data of one side of a call.
type Side = (Result<Elements, i32>, Peer);

/// Sends and receives; gives the call's code.
///
/// # Safety
/// The status is the program's, or null.
unsafe fn both(
    comm: &Arc<Comm>,
    name: &CStr,
    (sent, to): Side,
    (received, from): Side,
    status: *mut MPI_Status,
) -> i32 {
    let received = receive(comm, received, from);
    let sent = send(comm, Operation::Send, sent, to);
    // SAFETY: the caller's promise.
    unsafe {
        let code = waited(comm, name, sent, std::ptr::null_mut());
        if code != mpi::MPI_SUCCESS {
            if let Ok(slot) = received {
                comm.endpoint().detach(slot);
            }
            return code;
        }
        waited(comm, name, received, status)
    }
}

macro_rules! receives {
    ($($blocking:ident $nonblocking:ident $both:ident $replace:ident $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $blocking(
            base: *mut c_void, count: $count, datatype: MPI_Datatype, rank: i32, tag: i32, comm: MPI_Comm,
            status: *mut MPI_Status,
        ) -> i32 {
            let comm = comm_or_next!(comm, $blocking(base, count, datatype, rank, tag, comm, status));
            let (data, name) = (Elements::new(base, count.into(), datatype), named!($blocking));
            let slot = receive(&comm, data, Peer { rank, tag });
            // SAFETY: the program's argument.
            unsafe { waited(&comm, name, slot, status) }
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $nonblocking(
            base: *mut c_void, count: $count, datatype: MPI_Datatype, rank: i32, tag: i32, comm: MPI_Comm,
            request: *mut MPI_Request,
        ) -> i32 {
            let comm = comm_or_next!(comm, $nonblocking(base, count, datatype, rank, tag, comm, request));
            let (data, name) = (Elements::new(base, count.into(), datatype), named!($nonblocking));
            let slot = receive(&comm, data, Peer { rank, tag });
            // SAFETY: the program's argument.
            unsafe { requested(&comm, name, slot, request) }
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $both(
            sent: *const c_void, sent_count: $count, sent_type: MPI_Datatype, to: i32, sent_tag: i32,
            base: *mut c_void, count: $count, datatype: MPI_Datatype, from: i32, tag: i32, comm: MPI_Comm,
            status: *mut MPI_Status,
        ) -> i32 {
            let comm = comm_or_next!(comm, $both(
                sent, sent_count, sent_type, to, sent_tag, base, count, datatype, from, tag, comm, status));
            let sent = Elements::new(sent, sent_count.into(), sent_type);
            let received = Elements::new(base, count.into(), datatype);
            let (to, from) = (Peer { rank: to, tag: sent_tag }, Peer { rank: from, tag });
            // SAFETY: the program's argument.
            unsafe { both(&comm, named!($both), (sent, to), (received, from), status) }
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $replace(
            base: *mut c_void, count: $count, datatype: MPI_Datatype, to: i32, sent_tag: i32, from: i32, tag: i32,
            comm: MPI_Comm, status: *mut MPI_Status,
        ) -> i32 {
            let comm = comm_or_next!(
                comm, $replace(base, count, datatype, to, sent_tag, from, tag, comm, status));
            let data = Elements::new(base, count.into(), datatype);
            let (to, from) = (Peer { rank: to, tag: sent_tag }, Peer { rank: from, tag });
            // SAFETY: the program's argument. What is sent is packed before anything is unpacked.
            unsafe { both(&comm, named!($replace), (data.clone(), to), (data, from), status) }
        }
    )*};
}

receives! {
    MPI_Recv MPI_Irecv MPI_Sendrecv MPI_Sendrecv_replace i32;
    MPI_Recv_c MPI_Irecv_c MPI_Sendrecv_c MPI_Sendrecv_replace_c MPI_Count;
}

/// Has the proxy probe, and waits for its answer.
fn probed(comm: &Arc<Comm>, operation: Operation, peer: Peer) -> Result<End, i32> {
    let mut command = comm.command(operation);
    (command.peer, command.tag) = (peer.rank, peer.tag);
    let slot = comm.endpoint().start(comm, Task::without_data(command))?;
    let end = comm.endpoint().wait(slot);
    match end.code {
        mpi::MPI_SUCCESS => Ok(end),
        class => Err(class),
    }
}

unsafe extern "C" fn probe(rank: i32, tag: i32, comm: MPI_Comm, status: *mut MPI_Status) -> i32 {
    let comm = comm_or_next!(comm, MPI_Probe(rank, tag, comm, status));
    match probed(&comm, Operation::Probe, Peer { rank, tag }) {
        Ok(end) => {
            // SAFETY: the program's argument.
            unsafe { store(end.status, status) };
            mpi::MPI_SUCCESS
        }
        Err(class) => raise(&comm, c"MPI_Probe", class),
    }
}

unsafe extern "C" fn iprobe(
    rank: i32,
    tag: i32,
    comm: MPI_Comm,
    flag: *mut i32,
    status: *mut MPI_Status,
) -> i32 {
    let comm = comm_or_next!(comm, MPI_Iprobe(rank, tag, comm, flag, status));
    match probed(&comm, Operation::ProbeNow, Peer { rank, tag }) {
        Ok(end) => {
            // SAFETY: the program's arguments.
            unsafe {
                *flag = i32::from(end.second != 0);
                if end.second != 0 {
                    store(end.status, status);
                }
            }
            mpi::MPI_SUCCESS
        }
        Err(class) => raise(&comm, c"MPI_Iprobe", class),
    }
}
