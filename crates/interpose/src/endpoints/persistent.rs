// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent requests: the arguments of a message, and the operation that was started with them.

use std::ffi::{CStr, c_void};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::endpoints::area::SLOTS;
use ::endpoints::command::Operation;
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::comm::{Comm, comm_or_next};
use super::elements::Elements;
use super::endpoint::{self, Task};
use super::errors::{named, raise, unknown};
use super::handle::{self, Handle, Kind, any_ours, is_ours};
use super::layer::NEXT;
use super::messages::{Peer, receive, send};
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Send_init,
        MPI_Send_init_c,
        MPI_Ssend_init,
        MPI_Ssend_init_c,
        MPI_Rsend_init,
        MPI_Rsend_init_c,
        MPI_Recv_init,
        MPI_Recv_init_c,
        MPI_Start: start,
        MPI_Startall: start_all,
        ..next
    }
}

/// A persistent request.
#[derive(Clone)]
pub(super) struct Persistent {
    /// Its communicator.
    pub(super) comm: Arc<Comm>,
    operation: Operation,
    data: Elements,
    peer: Peer,
    /// Slot of the operation, while it is active.
    pub(super) active: Option<u32>,
}

/// How often the number was used before, and the request.
type Entry = (u32, Option<Persistent>);

/// The persistent requests of an endpoint, by number.
#[derive(Default)]
pub(super) struct Table(Mutex<Vec<Entry>>);

impl Table {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request; gives its handle.
    fn keep(&self, request: Persistent) -> Option<MPI_Request> {
        let endpoint = request.comm.endpoint;
        let mut entries = self.entries();
        let number = match entries.iter().position(|(_, it)| it.is_none()) {
            Some(number) => number,
            None if entries.len() < SLOTS => {
                entries.push((0, None));
                entries.len() - 1
            }
            None => return None,
        };
        entries[number].1 = Some(request);
        let handle = Handle {
            kind: Kind::Persistent,
            endpoint,
            number: number as u32,
            generation: handle::generation(entries[number].0),
        };
        Some(handle.address())
    }

    /// The request of a handle.
    pub(super) fn find(&self, handle: Handle) -> Option<Persistent> {
        let entries = self.entries();
        let (count, request) = entries.get(handle.number as usize)?;
        request
            .clone()
            .filter(|_| handle::generation(*count) == handle.generation)
    }

    /// Changes the slot of the operation.
    pub(super) fn set_active(&self, number: u32, slot: Option<u32>) {
        if let Some((_, Some(request))) = self.entries().get_mut(number as usize) {
            request.active = slot;
        }
    }

    /// Forgets the request of a handle.
    pub(super) fn forget(&self, handle: Handle) {
        if let Some(entry) = self.entries().get_mut(handle.number as usize) {
            *entry = (entry.0.wrapping_add(1), None);
        }
    }
}

/// Whether a message may have this other side. The proxy's library says so, in a probe.
///
/// # Errors
/// MPI_ERR_RANK or MPI_ERR_TAG.
fn check(comm: &Arc<Comm>, operation: Operation, peer: Peer) -> Result<(), i32> {
    if operation != Operation::Receive {
        if peer.rank == mpi::MPI_ANY_SOURCE {
            return Err(mpi::MPI_ERR_RANK);
        }
        if peer.tag == mpi::MPI_ANY_TAG {
            return Err(mpi::MPI_ERR_TAG);
        }
    }
    let mut command = comm.command(Operation::ProbeNow);
    (command.peer, command.tag) = (peer.rank, peer.tag);
    let endpoint = comm.endpoint();
    let slot = endpoint.start(comm, Task::without_data(command))?;
    match endpoint.wait(slot).code {
        mpi::MPI_SUCCESS => Ok(()),
        class => Err(class),
    }
}

/// Makes a request; gives the call's code.
///
/// # Safety
/// The request is a place of the program.
unsafe fn made(
    comm: Arc<Comm>,
    name: &CStr,
    operation: Operation,
    data: Result<Elements, i32>,
    peer: Peer,
    request: *mut MPI_Request,
) -> i32 {
    let endpoint = comm.endpoint();
    let made = data.and_then(|data| {
        check(&comm, operation, peer)?;
        let new = Persistent {
            comm: comm.clone(),
            operation,
            data,
            peer,
            active: None,
        };
        endpoint.persistent.keep(new).ok_or(mpi::MPI_ERR_NO_MEM)
    });
    let (code, handle) = match made {
        Ok(handle) => (mpi::MPI_SUCCESS, handle),
        Err(class) => (raise(&comm, name, class), mpi::MPI_REQUEST_NULL),
    };
    // SAFETY: the caller's promise.
    unsafe { *request = handle };
    code
}

macro_rules! inits {
    ($($operation:ident $name:ident $pointer:ty, $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $name(
            base: $pointer, count: $count, datatype: MPI_Datatype, rank: i32, tag: i32, comm: MPI_Comm,
            request: *mut MPI_Request,
        ) -> i32 {
            let comm = comm_or_next!(comm, $name(base, count, datatype, rank, tag, comm, request));
            let data = Elements::new(base, count.into(), datatype);
            // SAFETY: the program's argument.
            unsafe { made(comm, named!($name), Operation::$operation, data, Peer { rank, tag }, request) }
        }
    )*};
}

inits! {
    Send MPI_Send_init *const c_void, i32;
    Send MPI_Send_init_c *const c_void, MPI_Count;
    SynchronousSend MPI_Ssend_init *const c_void, i32;
    SynchronousSend MPI_Ssend_init_c *const c_void, MPI_Count;
    Send MPI_Rsend_init *const c_void, i32;
    Send MPI_Rsend_init_c *const c_void, MPI_Count;
    Receive MPI_Recv_init *mut c_void, i32;
    Receive MPI_Recv_init_c *mut c_void, MPI_Count;
}

/// Starts the operation of a request of this layer; gives the call's code.
fn started(name: &CStr, request: MPI_Request) -> i32 {
    let handle = Handle::of(request).filter(|handle| handle.kind == Kind::Persistent);
    let found = handle.and_then(|handle| {
        let endpoint = endpoint::all().get(handle.endpoint)?;
        let found = endpoint.persistent.find(handle)?;
        Some((endpoint, handle.number, found))
    });
    let Some((endpoint, number, found)) = found else {
        return unknown(name, mpi::MPI_ERR_REQUEST);
    };
    let comm = &found.comm;
    let slot = match found.operation {
        _ if found.active.is_some() => Err(mpi::MPI_ERR_REQUEST),
        Operation::Receive => receive(comm, Ok(found.data), found.peer),
        operation => send(comm, operation, Ok(found.data), found.peer),
    };
    match slot {
        Ok(slot) => {
            endpoint.persistent.set_active(number, Some(slot));
            mpi::MPI_SUCCESS
        }
        Err(class) => raise(comm, name, class),
    }
}

unsafe extern "C" fn start(request: *mut MPI_Request) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        if request.is_null() || !is_ours(*request) {
            return (NEXT.get().MPI_Start)(request);
        }
        started(c"MPI_Start", *request)
    }
}

unsafe extern "C" fn start_all(count: i32, requests: *mut MPI_Request) -> i32 {
    // SAFETY: the program's array.
    unsafe {
        if !any_ours(requests, count) {
            return (NEXT.get().MPI_Startall)(count, requests);
        }
        for request in slice::from_raw_parts_mut(requests, count as usize) {
            let code = match is_ours(*request) {
                true => started(c"MPI_Startall", *request),
                false => (NEXT.get().MPI_Start)(request),
            };
            if code != mpi::MPI_SUCCESS {
                return code;
            }
        }
    }
    mpi::MPI_SUCCESS
}
