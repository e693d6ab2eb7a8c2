// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accumulates and atomic operations (MPI-5.0, section 12.3.4).

use core::ffi::c_void;

use engine::datatype::{Datatype, Memory};
use engine::op::Operator;
use engine::rma::{self, Elements};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Op, MPI_Win};

use super::transfer::{Target, blame_origin, called};
use crate::datatype::{Count, memory, target_memory};
use crate::error::run_window;
use crate::handle::{DATATYPES, OPS};

/// The operation of a call, which is a predefined one.
#[inline(always)]
pub(super) fn operator(op: MPI_Op) -> Result<Operator> {
    let found = OPS.find(op, "op")?.operator();
    found.ok_or_else(|| {
        let expected = "a predefined operation: one-sided communication has no others";
        let value = "an operation that the program made";
        Error::argument(ErrorClass::ERR_OP, "op", value, expected)
    })
}

/// A buffer, a count and a datatype of the program's.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) base: *const c_void,
    pub(super) count: i64,
    pub(super) datatype: MPI_Datatype,
}

impl Buffer {
    /// The elements that are combined with those of the target; none for MPI_NO_OP, whose buffer may be anything (MPI-5.0, section
    /// 12.3.4).
    #[inline(always)]
    pub(super) fn operands(self, operator: Operator, target: &Datatype) -> Result<Elements<'_>> {
        if operator == Operator::NoOp {
            return Ok(Elements {
                memory: Memory::contiguous(std::ptr::null_mut(), 0),
                count: 0,
                datatype: target,
            });
        }
        let Self {
            base,
            count,
            datatype,
        } = self;
        Ok(Elements {
            memory: memory(base, count, datatype).map_err(blame_origin)?,
            count: count as usize,
            datatype: DATATYPES.find(datatype, "origin_datatype")?,
        })
    }

    /// The elements that get what the target's were.
    pub(super) fn results(self) -> Result<Elements<'static>> {
        let Self {
            base,
            count,
            datatype,
        } = self;
        Ok(Elements {
            memory: target_memory(base, count, datatype).map_err(blame_result)?,
            count: count as usize,
            datatype: DATATYPES.find(datatype, "result_datatype")?,
        })
    }
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

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
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
    let origin = Buffer {
        base: origin_addr,
        count: origin_count.into(),
        datatype: origin_datatype,
    };
    let target = Target {
        rank: target_rank,
        disp: target_disp,
        count: target_count.into(),
        datatype: target_datatype,
    };
    let call = called::<C>("MPI_Accumulate", "MPI_Accumulate_c");
    run_window(call, win, |window| {
        let operator = operator(op)?;
        let remote = target.find()?;
        let origin = origin.operands(operator, remote.datatype)?;
        // SAFETY: the program keeps the origin until the operation is complete (crate head).
        unsafe { rma::accumulate(window, &origin, &remote, operator) }
    })
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
    let origin = Buffer {
        base: origin_addr,
        count: origin_count.into(),
        datatype: origin_datatype,
    };
    let result = Buffer {
        base: result_addr,
        count: result_count.into(),
        datatype: result_datatype,
    };
    let target = Target {
        rank: target_rank,
        disp: target_disp,
        count: target_count.into(),
        datatype: target_datatype,
    };
    let call = called::<C>("MPI_Get_accumulate", "MPI_Get_accumulate_c");
    run_window(call, win, |window| {
        let operator = operator(op)?;
        let remote = target.find()?;
        let origin = origin.operands(operator, remote.datatype)?;
        let result = result.results()?;
        // SAFETY: the program keeps both buffers until the operation is complete (crate head).
        unsafe { rma::get_accumulate(window, &origin, &result, &remote, operator) }
    })
}

pub(crate) unsafe fn MPI_Fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    op: MPI_Op,
    win: MPI_Win,
) -> i32 {
    run_window("MPI_Fetch_and_op", win, |window| {
        let operator = operator(op)?;
        if operator != Operator::NoOp {
            memory(origin_addr, 1, datatype).map_err(one(blame_origin))?;
        }
        memory(result_addr, 1, datatype).map_err(one(blame_result))?;
        let datatype = DATATYPES.find(datatype, "datatype")?;
        let (origin, result) = (origin_addr.cast(), result_addr.cast());
        let (rank, disp) = (target_rank, target_disp as i64);
        // SAFETY: the program keeps both buffers until the operation is complete (crate head).
        unsafe { rma::fetch_and_op(window, origin, result, datatype, rank, disp, operator) }
    })
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

pub(crate) unsafe fn MPI_Compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: MPI_Datatype,
    target_rank: i32,
    target_disp: MPI_Aint,
    win: MPI_Win,
) -> i32 {
    run_window("MPI_Compare_and_swap", win, |window| {
        memory(origin_addr, 1, datatype).map_err(one(blame_origin))?;
        memory(compare_addr, 1, datatype).map_err(one(blame_compare))?;
        memory(result_addr, 1, datatype).map_err(one(blame_result))?;
        let datatype = DATATYPES.find(datatype, "datatype")?;
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
