// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduction operations (MPI-5.0, section 6.9): handles, and the user's functions.

use core::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::datatype::Datatype;
use engine::op::{OPERATORS, Op, Reduction, UserFunction};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{Callback, MPI_Datatype, MPI_Op};

use crate::datatype::lend_handle;
use crate::elements;
use crate::error::run;
use crate::handle::{DATATYPES, OPS, made_by_library};
use crate::sync::AtomicPtr;

pub(crate) fn define_predefined() {
    for row in OPERATORS {
        OPS.define(row.operator as usize, Op::predefined(row.operator));
    }
}

/// The operation of a call, checked against its datatype.
pub(crate) fn bind(op: MPI_Op, datatype: MPI_Datatype) -> Result<Reduction> {
    match OPS.find(op, "op")?.operator() {
        Some(operator) if operator.is_for_accumulate() => {
            let expected = "an operation of a collective, not of one-sided communication only";
            Err(Error::argument(
                ErrorClass::ERR_OP,
                "op",
                operator.name(),
                expected,
            ))
        }
        Some(operator) => Reduction::predefined(operator, DATATYPES.find(datatype, "datatype")?),
        None => Reduction::new(
            &OPS.share(op, "op")?,
            &DATATYPES.share(datatype, "datatype")?,
        ),
    }
}

/// Operations joined with predefined types; kept for ever, because there are few of each.
static KNOWN: [AtomicPtr<Reduction>; OP_HANDLES * TYPE_HANDLES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; OP_HANDLES * TYPE_HANDLES];

/// The handles of predefined operations, and how many there may be.
const FIRST_OP: usize = 0x20;
const OP_HANDLES: usize = 0x20;
/// The same of types.
const FIRST_TYPE: usize = 0x200;
const TYPE_HANDLES: usize = 0x100;

/// As [`bind`], by reference: an earlier result is found at once; `own` holds a result that is not kept.
#[inline(always)]
pub(crate) fn bind_into(
    op: MPI_Op,
    datatype: MPI_Datatype,
    own: &mut Option<Reduction>,
) -> Result<&Reduction> {
    let (row, column) = (op.wrapping_sub(FIRST_OP), datatype.wrapping_sub(FIRST_TYPE));
    if row < OP_HANDLES && column < TYPE_HANDLES {
        let slot = &KNOWN[row * TYPE_HANDLES + column];
        // PAIRS: op.known
        let known = slot.load(Ordering::Acquire);
        // SAFETY: null, or the leaked object that `learn` stored.
        if let Some(known) = unsafe { known.as_ref() } {
            return Ok(known);
        }
        return learn(op, datatype, slot);
    }
    bind_other(op, datatype, own)
}

#[cold]
#[inline(never)]
fn learn<'a>(
    op: MPI_Op,
    datatype: MPI_Datatype,
    slot: &AtomicPtr<Reduction>,
) -> Result<&'a Reduction> {
    let known = Box::leak(Box::new(bind(op, datatype)?));
    // PAIRS: op.known. If two threads learn the same, both are right.
    slot.store(known, Ordering::Release);
    Ok(known)
}

#[inline(never)]
fn bind_other(
    op: MPI_Op,
    datatype: MPI_Datatype,
    own: &mut Option<Reduction>,
) -> Result<&Reduction> {
    Ok(own.insert(bind(op, datatype)?))
}

/// Forgets all kept results, because types or the kernels of operations have changed.
pub(crate) fn forget_known() {
    elements::forget();
    for slot in &KNOWN {
        // The object stays: another thread may be using it.
        slot.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

fn create(call: &'static str, function: Box<UserFunction>, commute: i32, op: *mut MPI_Op) -> i32 {
    run(call, 0, || {
        let object = Op::user(function, commute != 0);
        let handle = OPS.insert(object.clone())?;
        object.handle.store(handle as u64, Ordering::Relaxed);
        // SAFETY: the result is writable (crate head).
        unsafe { *op = handle };
        Ok(())
    })
}

/// Calls a user's function of either width with a handle of the datatype.
fn calling<C: TryFrom<usize> + Copy + 'static>(function: Callback) -> Box<UserFunction> {
    type Function<C> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut C, *mut MPI_Datatype);
    Box::new(move |input, inout, count, datatype: &Arc<Datatype>| {
        // SAFETY: the user registered a function of this type (MPI_Op_create).
        let function = unsafe { std::mem::transmute::<usize, Function<C>>(function) };
        lend_handle(datatype, |mut handle| {
            let (mut input, mut inout) = (input.cast_mut(), inout);
            let mut rest = count;
            let extent = datatype.layout().extent() as isize;
            while rest > 0 {
                // A function with int counts gets more elements than an int holds in parts.
                let now = rest.min(i32::MAX as usize);
                let Ok(mut length) = C::try_from(now) else {
                    return;
                };
                // SAFETY: both operands hold `count` elements (contract of user functions). No lock is held.
                unsafe {
                    function(input.cast(), inout.cast(), &raw mut length, &raw mut handle);
                }
                rest -= now;
                input = input.wrapping_offset(extent.wrapping_mul(now as isize));
                inout = inout.wrapping_offset(extent.wrapping_mul(now as isize));
            }
        });
    })
}

pub(crate) unsafe fn MPI_Op_create(user_fn: Callback, commute: i32, op: *mut MPI_Op) -> i32 {
    create("MPI_Op_create", calling::<i32>(user_fn), commute, op)
}

pub(crate) unsafe fn MPI_Op_create_c(user_fn: Callback, commute: i32, op: *mut MPI_Op) -> i32 {
    create("MPI_Op_create_c", calling::<i64>(user_fn), commute, op)
}

pub(crate) unsafe fn MPI_Op_free(op: *mut MPI_Op) -> i32 {
    run("MPI_Op_free", 0, || {
        // SAFETY: the handle is readable and writable (crate head).
        let handle = unsafe { &mut *op };
        if *handle < 4096 {
            return Err(made_by_library(
                ErrorClass::ERR_OP,
                "op",
                *handle,
                "an operation that the program made",
            ));
        }
        OPS.remove(*handle, "op")?;
        *handle = abi::MPI_OP_NULL;
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Op_commutative(op: MPI_Op, commute: *mut i32) -> i32 {
    run("MPI_Op_commutative", 0, || {
        let commutes = OPS.find(op, "op")?.is_commutative();
        // SAFETY: the result is writable (crate head).
        unsafe { *commute = i32::from(commutes) };
        Ok(())
    })
}
