// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitioned communication (MPI-5.0, chapter 4). Counts are MPI_Count, so the forms that end in `_c` are the same calls.

use core::ffi::c_void;

use engine::comm::read_partition_vcis;
use engine::p2p::partitioned;
use engine::progress::Vci;
use engine::request::RequestId;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_INFO_NULL;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Info, MPI_Request};

use super::decode::{decode, decode_target};
use crate::error::{inactive, raise, run};
use crate::handle::INFOS;
use crate::request::comm_handle;
use crate::state::{is_active, require_process};

/// The elements of all partitions. Less than 0 if `count` or `partitions` is, which is refused where they are used.
fn elements(partitions: i32, count: i64) -> Result<i64> {
    if count < 0 || partitions < 0 {
        return Ok(count.min(0));
    }
    count.checked_mul(partitions.into()).ok_or_else(|| {
        let expected = format!(
            "at most {} for {partitions} partitions",
            i64::MAX / i64::from(partitions)
        );
        Error::argument(ErrorClass::ERR_COUNT, "count", count, expected)
    })
}

/// Over how many VCIs an info object asks to spread the partitions of a send.
fn vcis_of(info: MPI_Info) -> Result<u32> {
    if info == MPI_INFO_NULL {
        return Ok(1);
    }
    let info = INFOS.find(info, "info")?;
    read_partition_vcis(|key| info.get(key))
}

pub(crate) unsafe fn MPI_Psend_init(
    buf: *const c_void,
    partitions: i32,
    count: i64,
    datatype: MPI_Datatype,
    dest: i32,
    tag: i32,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Psend_init", comm, || {
        let (comm, memory) = decode(buf, elements(partitions, count)?, datatype, comm)?;
        let _entered = comm.enter_endpoint("MPI_Psend_init")?;
        let vcis = vcis_of(info)?;
        // SAFETY: the program keeps the buffer while the request exists (crate head).
        let id = unsafe { partitioned::send_init(comm, memory, partitions, dest, tag, vcis) }?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Precv_init(
    buf: *mut c_void,
    partitions: i32,
    count: i64,
    datatype: MPI_Datatype,
    source: i32,
    tag: i32,
    comm: MPI_Comm,
    info: MPI_Info,
    request: *mut MPI_Request,
) -> i32 {
    run("MPI_Precv_init", comm, || {
        let (comm, memory) = decode_target(buf, elements(partitions, count)?, datatype, comm)?;
        let _entered = comm.enter_endpoint("MPI_Precv_init")?;
        // The sender says over how many VCIs the partitions are spread.
        vcis_of(info)?;
        // SAFETY: the program keeps the buffer while the request exists (crate head).
        let id = unsafe { partitioned::recv_init(comm, memory, partitions, source, tag) }?;
        // SAFETY: the result is writable (crate head).
        unsafe { *request = id.0 as usize };
        Ok(())
    })
}

pub(crate) fn MPI_Pready(partition: i32, request: MPI_Request) -> i32 {
    on_request("MPI_Pready", request, |vci, id| {
        partitioned::ready(vci, id, partition)
    })
}

pub(crate) fn MPI_Pready_range(
    partition_low: i32,
    partition_high: i32,
    request: MPI_Request,
) -> i32 {
    on_request("MPI_Pready_range", request, |vci, id| {
        partitioned::ready_range(vci, id, partition_low, partition_high)
    })
}

pub(crate) unsafe fn MPI_Pready_list(
    length: i32,
    array_of_partitions: *const i32,
    request: MPI_Request,
) -> i32 {
    on_request("MPI_Pready_list", request, |vci, id| {
        let length = usize::try_from(length).map_err(|_| {
            Error::argument(
                ErrorClass::ERR_ARG,
                "length",
                length,
                "0 or more partitions",
            )
        })?;
        if length == 0 {
            return partitioned::ready_list(vci, id, &[]);
        }
        // SAFETY: the array has `length` entries (crate head).
        let partitions = unsafe { std::slice::from_raw_parts(array_of_partitions, length) };
        partitioned::ready_list(vci, id, partitions)
    })
}

pub(crate) unsafe fn MPI_Parrived(request: MPI_Request, partition: i32, flag: *mut i32) -> i32 {
    on_request("MPI_Parrived", request, |vci, id| {
        let arrived = partitioned::arrived(vci, id, partition)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = arrived.into() };
        Ok(())
    })
}

/// Runs the body of a call on a request; its error goes to the handler of the request's communicator, which is looked up for an error
/// only.
#[inline]
fn on_request(
    call: &'static str,
    request: MPI_Request,
    body: impl FnOnce(&Vci, RequestId) -> Result<()>,
) -> i32 {
    if !is_active() {
        return inactive(call, 0);
    }
    let id = RequestId(request as u64);
    match require_process().and_then(|process| body(process.vci(), id)) {
        Ok(()) => 0,
        Err(error) => raise(call, comm_handle(id), error),
    }
}
