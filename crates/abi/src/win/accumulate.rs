// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accumulates and atomic operations (MPI-5.0, section 12.3.4).

use core::ffi::c_void;
use std::hint::cold_path;

use engine::datatype::{Datatype, Memory};
use engine::op::Operator;
use engine::rma::{self, Elements, Remote, Window};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_NO_OP;
use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Op, MPI_Win};

use super::on_device::{self, LocatedElements};
use super::transfer::{Target, blame_origin, locate};
use crate::call::{self, Call};
use crate::datatype::arguments::is_address;
use crate::datatype::{Count, located_memory, located_target_memory};
use crate::elements;
use crate::error::run_window;
use crate::handle::{DATATYPES, OPS};
use crate::naming::called;

/// The operation of a call, which is a predefined one.
#[inline(always)]
fn operator(op: MPI_Op) -> Result<Operator> {
    let found = OPS.find(op, "op")?.operator();
    found.ok_or_else(|| {
        let expected = "a predefined operation: one-sided communication has no others";
        let value = "an operation that the program made";
        Error::argument(ErrorClass::ERR_OP, "op", value, expected)
    })
}

/// A buffer, a count and a datatype of the program's.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) base: *const c_void,
    pub(crate) count: i64,
    pub(crate) datatype: MPI_Datatype,
}

impl Buffer {
    /// The arguments of a call in the standard's order.
    #[inline(always)]
    pub(crate) fn new<C: Count>(base: *const c_void, count: C, datatype: MPI_Datatype) -> Self {
        let count = count.into();
        Self {
            base,
            count,
            datatype,
        }
    }

    /// The elements that are combined with those of the target; none for MPI_NO_OP, whose buffer may be anything (MPI-5.0, section
    /// 12.3.4).
    #[inline(always)]
    pub(super) fn operands(
        self,
        operator: Operator,
        target: &Datatype,
    ) -> Result<LocatedElements<'_>> {
        if operator == Operator::NoOp {
            let elements = Elements {
                memory: Memory::contiguous(std::ptr::null_mut(), 0),
                count: 0,
                datatype: target,
            };
            let device = None;
            return Ok(LocatedElements { elements, device });
        }
        let Self {
            base,
            count,
            datatype,
        } = self;
        let (memory, device) = located_memory(base, count, datatype).map_err(blame_origin)?;
        let elements = Elements {
            memory,
            count: count as usize,
            datatype: DATATYPES.find(datatype, "origin_datatype")?,
        };
        Ok(LocatedElements { elements, device })
    }

    /// The elements that get what the target's were.
    pub(super) fn results(self) -> Result<LocatedElements<'static>> {
        let Self {
            base,
            count,
            datatype,
        } = self;
        let located = located_target_memory(base, count, datatype);
        let (memory, device) = located.map_err(blame_result)?;
        let elements = Elements {
            memory,
            count: count as usize,
            datatype: DATATYPES.find(datatype, "result_datatype")?,
        };
        Ok(LocatedElements { elements, device })
    }
}

/// The operation of an accumulate, the elements at the target, and those that are combined with them.
#[inline(always)]
pub(super) fn sides(
    origin: Buffer,
    target: Target,
    op: MPI_Op,
) -> Result<(Operator, Remote<'static>, LocatedElements<'static>)> {
    let operator = operator(op)?;
    let remote = target.find()?;
    let origin = origin.operands(operator, remote.datatype)?;
    Ok((operator, remote, origin))
}

/// Gives the result's arguments their names.
#[cold]
fn blame_result(error: Error) -> Error {
    error.renamed(|found| match found {
        "buf" => "result_addr",
        "count" => "result_count",
        "datatype" => "result_datatype",
        other => other,
    })
}

#[inline(always)]
pub(crate) unsafe fn MPI_Accumulate<C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> i32 {
    let target = (target_count, target_datatype);
    let place = (target_rank, target_disp);
    if op != MPI_NO_OP
        && origin_datatype == target_datatype
        && origin_count.into() == target_count.into()
        // SAFETY: the origin is readable (crate head).
        && unsafe { combine(origin_addr, std::ptr::null_mut(), target, place, op, win) }
    {
        return 0;
    }
    // SAFETY: passed on. One call with the same arguments in the same places is a jump, and the fast path needs no more of a frame.
    unsafe {
        accumulate_any::<C>(
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            op,
            win,
        )
    }
}

/// Combines elements of a predefined type with those of an open target in memory that this process maps; false, and nothing done, if that
/// needs a closer look.
///
/// # Safety
/// The origin is readable, and the result writable or null, for the elements.
// TIER: short
#[inline(always)]
unsafe fn combine<C: Count>(
    origin: *const c_void,
    result: *mut c_void,
    (count, datatype): (C, MPI_Datatype),
    (rank, disp): (i32, MPI_Aint),
    op: MPI_Op,
    win: MPI_Win,
) -> bool {
    let Some(reduction) = elements::reduction(op, datatype) else {
        cold_path();
        return false;
    };
    let place = (rank, disp);
    let located = locate::<call::Accumulate<C>, C>(origin, (count, datatype), place, win);
    let Some((window, target, bytes, end)) = located else {
        cold_path();
        return false;
    };
    let sides = [
        origin.cast_mut().cast(),
        end.wrapping_sub(bytes),
        result.cast(),
    ];
    // SAFETY: the caller's promise; the place lies inside the window of the target.
    unsafe { window.combine(target, reduction, sides, count.into() as usize) };
    true
}

#[inline(never)]
unsafe extern "C" fn accumulate_any<C: Count>(
    origin_addr: *const c_void,
    origin_count: C,
    origin_datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    target_count: C,
    target_datatype: MPI_Datatype,
    op: MPI_Op,
    win: MPI_Win,
) -> i32 {
    let origin = Buffer::new(origin_addr, origin_count, origin_datatype);
    let target = Target::new(target_rank, target_disp, target_count, target_datatype);
    let call = call::Accumulate::<C>::NAME;
    run_window(call, win, |window| {
        // SAFETY: passed on.
        unsafe { accumulate_to(window, origin, target, op, call) }
    })
}

/// An accumulate of whatever memory.
///
/// # Safety
/// The program keeps the origin until the operation is complete.
#[inline(always)]
pub(crate) unsafe fn accumulate_to(
    window: &Window,
    origin: Buffer,
    target: Target,
    op: MPI_Op,
    call: &'static str,
) -> Result<()> {
    let (operator, remote, origin) = sides(origin, target, op)?;
    if origin.device.is_some() {
        return on_device::accumulate(window, &origin, &remote, operator, call);
    }
    // SAFETY: the caller's promise.
    unsafe { rma::accumulate(window, &origin.elements, &remote, operator) }
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Get_accumulate<C: Count>(
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
) -> i32 {
    let origin = Buffer::new(origin_addr, origin_count, origin_datatype);
    let result = Buffer::new(result_addr, result_count, result_datatype);
    let target = Target::new(target_rank, target_disp, target_count, target_datatype);
    let call = called::<C>("MPI_Get_accumulate", "MPI_Get_accumulate_c");
    run_window(call, win, |window| {
        let (operator, remote, origin) = sides(origin, target, op)?;
        let result = result.results()?;
        if origin.device.is_some() || result.device.is_some() {
            let both = [&origin, &result];
            return on_device::get_accumulate(window, both, &remote, operator, call);
        }
        let (origin, result) = (&origin.elements, &result.elements);
        // SAFETY: the program keeps both buffers until the operation is complete (crate head).
        unsafe { rma::get_accumulate(window, origin, result, &remote, operator) }
    })
}

#[inline(always)]
pub(crate) unsafe fn MPI_Fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> i32 {
    let (one, place) = ((1, datatype), (target_rank, target_disp));
    if is_address(result_addr)
        // SAFETY: the origin is readable and the result writable (crate head).
        && unsafe { combine(origin_addr, result_addr, one, place, op, win) }
    {
        return 0;
    }
    // SAFETY: passed on.
    unsafe {
        fetch_any(
            origin_addr,
            result_addr,
            datatype,
            target_rank,
            target_disp,
            op,
            win,
        )
    }
}

#[inline(never)]
unsafe extern "C" fn fetch_any(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> i32 {
    let call = "MPI_Fetch_and_op";
    run_window(call, win, |window| {
        let operator = operator(op)?;
        let given = match operator {
            Operator::NoOp => None,
            _ => Some(located_memory(origin_addr, 1, datatype).map_err(one(blame_origin))?),
        };
        let got = located_memory(result_addr, 1, datatype).map_err(one(blame_result))?;
        let datatype = DATATYPES.find(datatype, "datatype")?;
        if got.1.is_some() || given.is_some_and(|given| given.1.is_some()) {
            let remote = one_element(target_rank, target_disp, datatype);
            return on_device::fetch_and_op(window, given, got, &remote, operator, call);
        }
        let (origin, result) = (origin_addr.cast(), result_addr.cast());
        let (rank, disp) = (target_rank, target_disp as i64);
        // SAFETY: the program keeps both buffers until the operation is complete (crate head).
        unsafe { rma::fetch_and_op(window, origin, result, datatype, rank, disp, operator) }
    })
}

/// One element at a target.
const fn one_element(rank: i32, disp: MPI_Aint, datatype: &Datatype) -> Remote<'_> {
    Remote {
        unit: None,
        rank,
        disp: disp as i64,
        count: 1,
        datatype,
    }
}

/// For calls with one datatype, and without counts: gives the buffer its name.
fn one(blame: fn(Error) -> Error) -> impl Fn(Error) -> Error {
    move |error| {
        blame(error).renamed(|found| match found {
            "origin_datatype" | "result_datatype" => "datatype",
            other => other,
        })
    }
}

#[inline(always)]
pub(crate) unsafe fn MPI_Compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    win: MPI_Win,
) -> i32 {
    if is_address(compare_addr)
        && is_address(result_addr)
        && elements::is_swapped(datatype)
        && let Some((window, target, bytes, end)) = locate::<call::CompareAndSwap<i32>, i32>(
            origin_addr,
            (1, datatype),
            (target_rank, target_disp),
            win,
        )
    {
        let operands = [origin_addr.cast(), compare_addr.cast()];
        let there = end.wrapping_sub(bytes);
        // SAFETY: the operands are readable and the result writable (crate head); the element lies inside the window of the target.
        unsafe { window.swap(target, operands, result_addr.cast(), there, bytes) };
        return 0;
    }
    // SAFETY: passed on.
    unsafe {
        swap_any(
            origin_addr,
            compare_addr,
            result_addr,
            datatype,
            target_rank,
            target_disp,
            win,
        )
    }
}

#[inline(never)]
unsafe extern "C" fn swap_any(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    win: MPI_Win,
) -> i32 {
    let call = "MPI_Compare_and_swap";
    run_window(call, win, |window| {
        let given = located_memory(origin_addr, 1, datatype).map_err(one(blame_origin))?;
        let compared = located_memory(compare_addr, 1, datatype).map_err(one(blame_compare))?;
        let got = located_memory(result_addr, 1, datatype).map_err(one(blame_result))?;
        let datatype = DATATYPES.find(datatype, "datatype")?;
        let all = [given, compared, got];
        if all.iter().any(|(_, device)| device.is_some()) {
            let remote = one_element(target_rank, target_disp, datatype);
            return on_device::compare_and_swap(window, all, &remote, call);
        }
        let (origin, compare) = (origin_addr.cast(), compare_addr.cast());
        let (rank, disp) = (target_rank, target_disp as i64);
        let result = result_addr.cast();
        // SAFETY: the program keeps the buffers until the operation is complete (crate head).
        unsafe { rma::compare_and_swap(window, origin, compare, result, datatype, rank, disp) }
    })
}

/// Gives the compared element its name.
#[cold]
fn blame_compare(error: Error) -> Error {
    error.renamed(|found| match found {
        "buf" => "compare_addr",
        other => other,
    })
}
