// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations with a request (MPI-5.0, section 12.3.5).

use core::ffi::c_void;

use engine::Result;
use engine::request::RequestId;
use engine::rma;
use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Op, MPI_Request, MPI_Win};

use super::accumulate::{Buffer, sides};
use super::on_device;
use super::transfer::{Target, blame_origin};
use crate::datatype::{Count, located_memory, located_target_memory};
use crate::error::run_window;
use crate::naming::called;

/// Stores the request of an operation that was started.
fn hand_out(started: Result<RequestId>, request: *mut MPI_Request) -> Result<()> {
    // SAFETY: the result is writable (crate head).
    unsafe { *request = started?.0 as usize };
    Ok(())
}

pub(crate) unsafe fn MPI_Rput<C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> i32 {
    let target = Target::new(target_rank, target_disp, target_count, target_datatype);
    let call = called::<C>("MPI_Rput", "MPI_Rput_c");
    run_window(call, win, |window| {
        let origin = located_memory(origin_addr, origin_count.into(), origin_datatype);
        let origin = origin.map_err(blame_origin)?;
        let remote = target.find()?;
        if origin.1.is_some() {
            let done = on_device::put(window, origin, &remote, call);
            return hand_out(done.map(|()| RequestId::SENT), request);
        }
        // SAFETY: the program keeps the origin until the request is complete (crate head).
        hand_out(unsafe { rma::rput(window, &origin.0, &remote) }, request)
    })
}

pub(crate) unsafe fn MPI_Rget<C: Count>(
    origin_addr: *mut c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> i32 {
    let target = Target::new(target_rank, target_disp, target_count, target_datatype);
    let call = called::<C>("MPI_Rget", "MPI_Rget_c");
    run_window(call, win, |window| {
        let origin = located_target_memory(origin_addr, origin_count.into(), origin_datatype);
        let origin = origin.map_err(blame_origin)?;
        let remote = target.find()?;
        if origin.1.is_some() {
            let done = on_device::get(window, origin, &remote, call);
            return hand_out(done.map(|()| RequestId::SENT), request);
        }
        // SAFETY: the program keeps the origin until the request is complete (crate head).
        hand_out(unsafe { rma::rget(window, &origin.0, &remote) }, request)
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Raccumulate<C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> i32 {
    let origin = Buffer::new(origin_addr, origin_count, origin_datatype);
    let target = Target::new(target_rank, target_disp, target_count, target_datatype);
    let call = called::<C>("MPI_Raccumulate", "MPI_Raccumulate_c");
    run_window(call, win, |window| {
        let (operator, remote, origin) = sides(origin, target, op)?;
        if origin.device.is_some() {
            let done = on_device::accumulate(window, &origin, &remote, operator, call);
            return hand_out(done.map(|()| RequestId::SENT), request);
        }
        // SAFETY: the program keeps the origin until the request is complete (crate head).
        let started = unsafe { rma::raccumulate(window, &origin.elements, &remote, operator) };
        hand_out(started, request)
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Rget_accumulate<C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    result_addr: *mut c_void,
    result_count: C,
    result_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
    request: *mut MPI_Request,
) -> i32 {
    let origin = Buffer::new(origin_addr, origin_count, origin_datatype);
    let result = Buffer::new(result_addr, result_count, result_datatype);
    let target = Target::new(target_rank, target_disp, target_count, target_datatype);
    let call = called::<C>("MPI_Rget_accumulate", "MPI_Rget_accumulate_c");
    run_window(call, win, |window| {
        let (operator, remote, origin) = sides(origin, target, op)?;
        let result = result.results()?;
        if origin.device.is_some() || result.device.is_some() {
            let both = [&origin, &result];
            let done = on_device::get_accumulate(window, both, &remote, operator, call);
            return hand_out(done.map(|()| RequestId::SENT), request);
        }
        let (origin, result) = (&origin.elements, &result.elements);
        // SAFETY: the program keeps both buffers until the request is complete (crate head).
        let started = unsafe { rma::rget_accumulate(window, origin, result, &remote, operator) };
        hand_out(started, request)
    })
}
