// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers for buffered sends (MPI-5.0, section 3.6.1).

use core::ffi::c_void;

use engine::comm::AttachedBuffer;
use engine::p2p::buffered;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_BUFFER_AUTOMATIC;
use mpi_abi_sys::types::{MPI_Comm, MPI_Request};

use crate::datatype::arguments::need_memory;
use crate::error::run;
use crate::handle::COMMS;
use crate::naming::named;
use crate::state::require_process;

/// Attaches memory of the program's.
pub(crate) fn attach_to(place: &AttachedBuffer, buffer: *mut c_void, size: i64) -> Result<()> {
    let automatic = buffer as usize == MPI_BUFFER_AUTOMATIC;
    let bytes = usize::try_from(size)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "size", size, "0 or more bytes"))?;
    if !automatic {
        need_memory(ErrorClass::ERR_BUFFER, "buffer", buffer, bytes as u64)?;
    }
    place.attach(buffer as usize, (!automatic).then_some(bytes))
}

/// Waits until attached memory is free, stores its address, and gives its length.
pub(crate) fn detach_from(
    place: &AttachedBuffer,
    call: &'static str,
    buffer_addr: *mut c_void,
) -> Result<i64> {
    buffered::flush(require_process()?, place, call)?;
    let (address, bytes) = place.detach();
    // SAFETY: `buffer_addr` is the address of a pointer (MPI-5.0, section 3.6.1).
    unsafe { *buffer_addr.cast::<usize>() = address };
    Ok(bytes.unwrap_or(0) as i64)
}

/// The buffer of a communicator, or of the process for `None`.
fn place(comm: Option<MPI_Comm>) -> Result<&'static AttachedBuffer> {
    match comm {
        None => Ok(require_process()?.buffer()),
        Some(comm) => Ok(COMMS.find(comm, "comm")?.send_buffer()),
    }
}

fn attach(call: &'static str, comm: Option<MPI_Comm>, buffer: *mut c_void, size: i64) -> i32 {
    run(call, comm.unwrap_or(0), || {
        attach_to(place(comm)?, buffer, size)
    })
}

fn detach(
    call: &'static str,
    comm: Option<MPI_Comm>,
    buffer_addr: *mut c_void,
    size: &mut dyn FnMut(i64),
) -> i32 {
    run(call, comm.unwrap_or(0), || {
        size(detach_from(place(comm)?, call, buffer_addr)?);
        Ok(())
    })
}

pub(crate) fn MPI_Buffer_attach(buffer: *mut c_void, size: impl Into<i64>) -> i32 {
    attach("MPI_Buffer_attach", None, buffer, size.into())
}

pub(crate) fn MPI_Comm_attach_buffer(
    comm: MPI_Comm,
    buffer: *mut c_void,
    size: impl Into<i64>,
) -> i32 {
    attach("MPI_Comm_attach_buffer", Some(comm), buffer, size.into())
}

pub(crate) unsafe fn MPI_Buffer_detach<C: crate::status::CountOut>(
    buffer_addr: *mut c_void,
    size: *mut C,
) -> i32 {
    // SAFETY: the result is writable (crate head).
    detach(
        named!("MPI_Buffer_detach", size),
        None,
        buffer_addr,
        &mut |bytes| unsafe { *size = C::from_count(bytes) },
    )
}

pub(crate) unsafe fn MPI_Comm_detach_buffer<C: crate::status::CountOut>(
    comm: MPI_Comm,
    buffer_addr: *mut c_void,
    size: *mut C,
) -> i32 {
    // SAFETY: the result is writable (crate head).
    detach(
        named!("MPI_Comm_detach_buffer", size),
        Some(comm),
        buffer_addr,
        &mut |bytes| unsafe { *size = C::from_count(bytes) },
    )
}

pub(crate) fn MPI_Buffer_flush() -> i32 {
    run("MPI_Buffer_flush", 0, || {
        let process = require_process()?;
        buffered::flush(process, process.buffer(), "MPI_Buffer_flush")
    })
}

pub(crate) fn MPI_Comm_flush_buffer(comm: MPI_Comm) -> i32 {
    run("MPI_Comm_flush_buffer", comm, || {
        buffered::flush(
            require_process()?,
            COMMS.find(comm, "comm")?.send_buffer(),
            "MPI_Comm_flush_buffer",
        )
    })
}

pub(crate) unsafe fn MPI_Buffer_iflush(request: *mut MPI_Request) -> i32 {
    run("MPI_Buffer_iflush", 0, || {
        let process = require_process()?;
        let id = buffered::iflush(process.world(), process.buffer())?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Comm_iflush_buffer(comm: MPI_Comm, request: *mut MPI_Request) -> i32 {
    run("MPI_Comm_iflush_buffer", comm, || {
        require_process()?;
        let object = COMMS.find(comm, "comm")?;
        let id = buffered::iflush(object, object.send_buffer())?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}
