// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes, and receives of matched messages (MPI-5.0, section 3.8).

use core::ffi::c_void;
use std::sync::atomic::Ordering;

use engine::Result;
use engine::completion;
use engine::p2p::probe::{self, Message};
use engine::request::RequestId;
use mpi_abi_sys::constants::MPI_MESSAGE_NULL;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status};

use super::decode::target;
use crate::error::run;
use crate::handle::COMMS;
use crate::state::require_process;
use crate::status::store_single;

pub(crate) unsafe fn MPI_Probe(
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    run("MPI_Probe", comm, || {
        let comm = COMMS.find(comm, "comm")?;
        let _entered = comm.enter_endpoint("MPI_Probe")?;
        store_single(status, probe::probe(comm, source, tag)?);
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
        let comm = COMMS.find(comm, "comm")?;
        let _entered = comm.enter_endpoint("MPI_Iprobe")?;
        let found = probe::iprobe(comm, source, tag)?;
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
        let comm = COMMS.find(comm, "comm")?;
        let _entered = comm.enter_endpoint("MPI_Mprobe")?;
        let (found, what) = probe::mprobe(comm, source, tag)?;
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
        let comm = COMMS.find(comm, "comm")?;
        let _entered = comm.enter_endpoint("MPI_Improbe")?;
        let found = probe::improbe(comm, source, tag)?;
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
    let target = target(buf, count, datatype)?;
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
            completion::wait(require_process()?.vci(), &mut id, "MPI_Mrecv")?,
        );
        Ok(())
    })
}
