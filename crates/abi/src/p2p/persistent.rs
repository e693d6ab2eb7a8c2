// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent sends and receives (MPI-5.0, section 3.9).

use core::ffi::c_void;

use engine::completion::in_array;
use engine::p2p::persistent::start_at_once;
use engine::p2p::{Mode, persistent};
use engine::request::RequestId;
use engine::rma::BufferUse;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::decode::{decode, decode_target};
use crate::error::{inactive, raise, run};
use crate::exposed;
use crate::naming::{Number, named};
use crate::request::{comm_handle, slice};
use crate::state::{is_active, require_process, vci_unlocked};

macro_rules! send_inits {
    ($($name:ident $mode:ident;)*) => {
        $(
            pub(crate) unsafe fn $name(
                buf: *const c_void, count: impl Number, datatype: MPI_Datatype, dest: i32, tag: i32, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) -> i32 {
                let call = named!(stringify!($name), count);
                run(call, comm, || {
                    let (comm, memory) = decode(buf, count, datatype, comm)?;
                    let _entered = comm.enter_endpoint(call)?;
                    // SAFETY: the program keeps the buffer while the request exists (crate head).
                    let id = unsafe { persistent::send_init(comm, memory, dest, tag, Mode::$mode) }?;
                    exposed::plan(id, &memory, BufferUse::Read, call);
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
    let call = named!("MPI_Recv_init", count);
    run(call, comm, || {
        let (comm, memory) = decode_target(buf, count, datatype, comm)?;
        let _entered = comm.enter_endpoint(call)?;
        // SAFETY: the program keeps the buffer while the request exists (crate head).
        let id = unsafe { persistent::recv_init(comm, memory, source, tag) }?;
        exposed::plan(id, &memory, BufferUse::Written, call);
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Start(request: *mut MPI_Request) -> i32 {
    // SAFETY: the handle is readable (crate head).
    let id = RequestId(unsafe { *request } as u64);
    if let Some(vci) = vci_unlocked()
        && let Some(started) = start_at_once(vci, id)
    {
        return started.code();
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
        return inactive(call, 0);
    }
    // SAFETY: the array has `count` entries (crate head).
    let ids = match unsafe { slice(count, requests) } {
        Ok(ids) => ids,
        Err(error) => return raise(call, 0, error),
    };
    let is_array = call != "MPI_Start";
    for (index, &mut id) in ids.iter_mut().enumerate() {
        let started = require_process().and_then(|process| {
            let started = persistent::start(process.vci(), id);
            started.inspect(|()| exposed::note_started(process, id))
        });
        if let Err(mut error) = started {
            if is_array {
                error = in_array(error, index);
            }
            return raise(call, comm_handle(id), error);
        }
    }
    0
}
