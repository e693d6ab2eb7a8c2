// SPDX-License-Identifier: MIT OR Apache-2.0
//! A send and a receive in one call (MPI-5.0, sections 3.10 and 3.7.8).

use core::ffi::c_void;

use engine::Result;
use engine::comm::Comm;
use engine::completion;
use engine::p2p::{self, Memory, Mode, PROC_NULL};
use engine::rma::{self, BufferUse};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status};

use super::decode::{decode, decode_target, target};
use crate::datatype::arguments;
use crate::error::run;
use crate::naming::{Number, named};
use crate::status::store_single;

/// A receive and a send at once; waits for both.
unsafe fn exchange(
    call: &'static str,
    comm: &'static Comm,
    send: (Memory<'_>, i32, i32),
    receive: (Memory<'_>, i32, i32),
) -> Result<engine::request::Status> {
    let vci = comm.vci();
    // SAFETY: the program keeps both buffers during the call (crate head).
    let soon = unsafe { p2p::exchange_soon(comm, send, receive) };
    if let Some(Some(status)) = soon {
        return Ok(status);
    }
    let _entered = (
        rma::enter_message(comm, call, &send.0, BufferUse::Read)?,
        rma::enter_message(comm, call, &receive.0, BufferUse::Written)?,
    );
    // SAFETY: as above.
    let mut arrival = unsafe { p2p::irecv(comm, receive.0, receive.1, receive.2) }?;
    if soon.is_some() {
        return completion::wait(vci, &mut arrival, call);
    }
    // SAFETY: as above.
    let departure = unsafe { p2p::isend(comm, send.0, send.1, send.2, Mode::Standard) };
    let mut departure = match departure {
        Ok(id) => id,
        Err(error) => {
            completion::cancel_receive(vci, arrival)?;
            completion::wait(vci, &mut arrival, call)?;
            return Err(error);
        }
    };
    let status = completion::wait(vci, &mut arrival, call);
    completion::wait(vci, &mut departure, call)?;
    status
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Sendrecv(
    sendbuf: *const c_void,
    sendcount: impl Number,
    sendtype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: impl Number,
    recvtype: MPI_Datatype,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    run(named!("MPI_Sendrecv", sendcount), comm, || {
        let (comm, send) = decode(sendbuf, sendcount, sendtype, comm)?;
        let receive = target(recvbuf, recvcount.into(), recvtype)?;
        // SAFETY: passed on.
        let found = unsafe {
            exchange(
                named!("MPI_Sendrecv", sendcount),
                comm,
                (send, dest, sendtag),
                (receive, source, recvtag),
            )
        }?;
        store_single(status, found);
        Ok(())
    })
}

/// The packed data that a call sends out of the buffer that it receives into; nothing goes to MPI_PROC_NULL.
fn copy_for(dest: i32, buffer: Memory<'_>) -> Result<Vec<u8>> {
    if dest == PROC_NULL {
        return Ok(Vec::new());
    }
    arguments::packed(buffer)
}

pub(crate) unsafe fn MPI_Sendrecv_replace(
    buf: *mut c_void,
    count: impl Number,
    datatype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    status: *mut MPI_Status,
) -> i32 {
    run(named!("MPI_Sendrecv_replace", count), comm, || {
        let (comm, receive) = decode_target(buf, count, datatype, comm)?;
        let mut copy = copy_for(dest, receive)?;
        let send = Memory::contiguous(copy.as_mut_ptr(), copy.len()).typed(receive.types);
        // SAFETY: the copy outlives the exchange.
        let found = unsafe {
            exchange(
                named!("MPI_Sendrecv_replace", count),
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
    sendcount: impl Number,
    sendtype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: impl Number,
    recvtype: MPI_Datatype,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    run(named!("MPI_Isendrecv", sendcount), comm, || {
        let (comm, send) = decode(sendbuf, sendcount, sendtype, comm)?;
        let receive = target(recvbuf, recvcount.into(), recvtype)?;
        let call = named!("MPI_Isendrecv", sendcount);
        let _entered = (
            rma::enter_message(comm, call, &send, BufferUse::Read)?,
            rma::enter_message(comm, call, &receive, BufferUse::Written)?,
        );
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

pub(crate) unsafe fn MPI_Isendrecv_replace(
    buf: *mut c_void,
    count: impl Number,
    datatype: MPI_Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    run(named!("MPI_Isendrecv_replace", count), comm, || {
        let (comm, receive) = decode_target(buf, count, datatype, comm)?;
        let mut copy = copy_for(dest, receive)?;
        let send = Memory::contiguous(copy.as_mut_ptr(), copy.len()).typed(receive.types);
        let call = named!("MPI_Isendrecv_replace", count);
        let _entered = (
            rma::enter_message(comm, call, &send, BufferUse::Read)?,
            rma::enter_message(comm, call, &receive, BufferUse::Written)?,
        );
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
