// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matched probes: the proxy keeps the message, and the operation of the probe stays, as its slot names the message.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ::endpoints::command::Operation;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffers::Output;
use super::comm::{Comm, comm_or_next};
use super::elements::Elements;
use super::endpoint::{self, Task};
use super::errors::{named, raise, unknown};
use super::handle::{Handle, Kind, is_ours};
use super::layer::NEXT;
use super::messages::{Peer, requested, store, waited};
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Mprobe: probe,
        MPI_Improbe: probe_now,
        MPI_Mrecv,
        MPI_Mrecv_c,
        MPI_Imrecv,
        MPI_Imrecv_c,
        ..next
    }
}

/// Has the proxy take a message out of the matching; gives its handle, null where there is none, and stores its status.
///
/// # Safety
/// The status is the program's, or null.
unsafe fn taken(
    comm: &Arc<Comm>,
    operation: Operation,
    peer: Peer,
    status: *mut MPI_Status,
) -> Result<MPI_Message, i32> {
    let mut command = comm.command(operation);
    (command.peer, command.tag) = (peer.rank, peer.tag);
    let endpoint = comm.endpoint();
    let slot = endpoint.start(comm, Task::without_data(command))?;
    let end = endpoint.wait_for(slot);
    let has_message = end.code == mpi::MPI_SUCCESS && end.second != 0;
    if has_message && peer.rank != mpi::MPI_PROC_NULL {
        // SAFETY: the caller's promise.
        unsafe { store(endpoint.peek(slot).unwrap_or_default(), status) };
        return Ok(endpoint.handle(comm.endpoint, Kind::Message, slot));
    }
    let end = endpoint.wait(slot);
    match end.code {
        mpi::MPI_SUCCESS if has_message => {
            // SAFETY: as above.
            unsafe { store(end.status, status) };
            Ok(mpi::MPI_MESSAGE_NO_PROC)
        }
        mpi::MPI_SUCCESS => Ok(mpi::MPI_MESSAGE_NULL),
        class => Err(class),
    }
}

unsafe extern "C" fn probe(
    rank: i32,
    tag: i32,
    comm: MPI_Comm,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> i32 {
    let comm = comm_or_next!(comm, MPI_Mprobe(rank, tag, comm, message, status));
    // SAFETY: the program's arguments.
    match unsafe { taken(&comm, Operation::Take, Peer { rank, tag }, status) } {
        Ok(found) => {
            // SAFETY: the program's argument.
            unsafe { *message = found };
            mpi::MPI_SUCCESS
        }
        Err(class) => raise(&comm, c"MPI_Mprobe", class),
    }
}

unsafe extern "C" fn probe_now(
    rank: i32,
    tag: i32,
    comm: MPI_Comm,
    flag: *mut i32,
    message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> i32 {
    let comm = comm_or_next!(comm, MPI_Improbe(rank, tag, comm, flag, message, status));
    // SAFETY: the program's arguments.
    match unsafe { taken(&comm, Operation::TakeNow, Peer { rank, tag }, status) } {
        Ok(found) => {
            // SAFETY: the program's arguments.
            unsafe {
                *flag = i32::from(found != mpi::MPI_MESSAGE_NULL);
                *message = found;
            }
            mpi::MPI_SUCCESS
        }
        Err(class) => raise(&comm, c"MPI_Improbe", class),
    }
}

/// Starts the receive of a message; gives its slot.
fn receive(comm: &Arc<Comm>, data: Result<Elements, i32>, handle: Handle) -> Result<u32, i32> {
    let data = data?;
    let mut command = comm.command(Operation::ReceiveTaken);
    (command.new, command.count) = (handle.number, data.bytes());
    let task = Task {
        output: Output::Message(data),
        ..Task::without_data(command)
    };
    let slot = comm.endpoint().start(comm, task)?;
    // The proxy executes commands in order: none that gets the slot of the probe comes before this one.
    comm.endpoint().detach(handle.number);
    Ok(slot)
}

/// The communicator and the handle of a message of this layer.
fn find(message: MPI_Message) -> Option<(Arc<Comm>, Handle)> {
    let handle = Handle::of(message).filter(|handle| handle.kind == Kind::Message)?;
    let comm = endpoint::all().get(handle.endpoint)?.comm_of(handle)?;
    Some((comm, handle))
}

/// Starts the receive of a message that a call names; its communicator and slot, or the call's code.
///
/// # Safety
/// The message is the program's.
unsafe fn started(
    name: &CStr,
    data: Result<Elements, i32>,
    message: *mut MPI_Message,
) -> Result<(Arc<Comm>, Result<u32, i32>), i32> {
    // SAFETY: the caller's promise.
    let message = unsafe { &mut *message };
    let (comm, handle) = find(*message).ok_or_else(|| unknown(name, mpi::MPI_ERR_REQUEST))?;
    let slot = receive(&comm, data, handle);
    if slot.is_ok() {
        *message = mpi::MPI_MESSAGE_NULL;
    }
    Ok((comm, slot))
}

macro_rules! receives {
    ($($blocking:ident $nonblocking:ident $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $blocking(
            base: *mut c_void, count: $count, datatype: MPI_Datatype, message: *mut MPI_Message,
            status: *mut MPI_Status,
        ) -> i32 {
            // SAFETY: the program's arguments.
            unsafe {
                if !is_ours(*message) {
                    return (NEXT.get().$blocking)(base, count, datatype, message, status);
                }
                let name = named!($blocking);
                match started(name, Elements::new(base, count.into(), datatype), message) {
                    Ok((comm, slot)) => waited(&comm, name, slot, status),
                    Err(code) => code,
                }
            }
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $nonblocking(
            base: *mut c_void, count: $count, datatype: MPI_Datatype, message: *mut MPI_Message,
            request: *mut MPI_Request,
        ) -> i32 {
            // SAFETY: the program's arguments.
            unsafe {
                if !is_ours(*message) {
                    return (NEXT.get().$nonblocking)(base, count, datatype, message, request);
                }
                let name = named!($nonblocking);
                match started(name, Elements::new(base, count.into(), datatype), message) {
                    Ok((comm, slot)) => requested(&comm, name, slot, request),
                    Err(code) => code,
                }
            }
        }
    )*};
}

receives! {
    MPI_Mrecv MPI_Imrecv i32;
    MPI_Mrecv_c MPI_Imrecv_c MPI_Count;
}
