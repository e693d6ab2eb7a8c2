// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent sends and receives (MPI-5.0, section 3.9).

use core::ffi::c_void;
use std::sync::atomic::Ordering;

use engine::completion::in_array;
use engine::p2p::persistent::Entry;
use engine::p2p::{Mode, persistent};
use engine::request::RequestId;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use crate::env::{is_active, require_process, vci_unlocked};
use crate::error::{inactive, raise, run};
use crate::naming::{Number, named};
use crate::p2p::{decode, decode_target};
use crate::request::{comm_handle, slice};
use crate::sync::AtomicPtr;

macro_rules! send_inits {
    ($($name:ident $mode:ident;)*) => {
        $(
            pub(crate) unsafe fn $name(
                buf: *const c_void, count: impl Number, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> i32 {
                run(named!(stringify!($name), count), comm, || {
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

send_inits! {
    MPI_Send_init Standard;
    MPI_Ssend_init Synchronous;
    MPI_Rsend_init Ready;
    MPI_Bsend_init Buffered;
}

pub(crate) unsafe fn MPI_Recv_init(
    buf: *mut c_void,
    count: impl Number,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    run(named!("MPI_Recv_init", count), comm, || {
        let (comm, memory) = decode_target(buf, count, datatype, comm)?;
        // SAFETY: the program keeps the buffer while the request exists (crate head).
        let id = unsafe { persistent::recv_init(comm, memory, source, tag) }?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

/// The entry of the persistent collective that was started last, where one thread at a time is inside MPI: most starts and
/// waits are for the same collective as the start before.
static RECENT: AtomicPtr<()> = AtomicPtr::new(Entry::nobodys());

/// Ends the persistent collective that was started last, if it is this one and is complete.
// TIER: short
#[inline(always)]
pub(crate) fn end_recent(id: RequestId) -> bool {
    // SAFETY: RECENT holds the address of an entry that was started, or that of the static idle entry.
    unsafe { Entry::end_at(RECENT.load(Ordering::Relaxed), id) }
}

/// Forgets the entry, so that the next start takes the slow path, which reports that MPI has been finalized.
pub(crate) fn forget_recent() {
    RECENT.store(Entry::nobodys(), Ordering::Relaxed);
}

pub(crate) unsafe fn MPI_Start(request: *mut MPI_Request) -> i32 {
    // SAFETY: the handle is readable (crate head).
    let id = RequestId(unsafe { *request } as u64);
    // SAFETY: RECENT holds the address of an entry that was started, or that of the static idle entry.
    if let Some(entry) = unsafe { Entry::inactive_at(RECENT.load(Ordering::Relaxed), id) } {
        return entry.start().code();
    }
    if let Some(vci) = vci_unlocked()
        && let Some(entry) = Entry::inactive(vci, id)
    {
        RECENT.store(entry.address(), Ordering::Relaxed);
        return entry.start().code();
    }
    // SAFETY: passed on.
    unsafe { start("MPI_Start", 1, request) }
}

pub(crate) unsafe fn MPI_Startall(count: i32, requests: *mut MPI_Request) -> i32 {
    // SAFETY: passed on.
    unsafe { start("MPI_Startall", count, requests) }
}

/// Starts requests; an error of a request goes to the handler of its communicator.
#[inline(never)]
unsafe fn start(call: &'static str, count: i32, requests: *mut MPI_Request) -> i32 {
    if !is_active() {
        return inactive(call);
    }
    // SAFETY: the array has `count` entries (crate head).
    let ids = match unsafe { slice(count, requests) } {
        Ok(ids) => ids,
        Err(error) => return raise(call, 0, error),
    };
    let is_array = call != "MPI_Start";
    for (index, &mut id) in ids.iter_mut().enumerate() {
        let started = require_process().and_then(|process| persistent::start(process.vci(), id));
        if let Err(mut error) = started {
            if is_array {
                error = in_array(error, index);
            }
            return raise(call, comm_handle(id), error);
        }
    }
    0
}
