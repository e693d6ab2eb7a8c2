// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduction operations (MPI-5.0, section 6.9): predefined and the user's.

use core::ffi::c_void;
use std::sync::Arc;

use engine::coll::Combine;
use engine::op::{self, Predefined};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{Callback, MPI_Datatype, MPI_Op};

use crate::datatype::memory;
use crate::error::run;
use crate::handle::{DATATYPES, OPS};

/// An operation as C programs know it.
pub(crate) enum Op {
    /// One of the standard's.
    Predefined(Predefined),
    /// A function of the user.
    User {
        function: Callback,
        commutes: bool,
        large: bool,
    },
}

const PREDEFINED: &[(usize, Predefined)] = &[
    (abi::MPI_SUM, Predefined::Sum),
    (abi::MPI_MIN, Predefined::Min),
    (abi::MPI_MAX, Predefined::Max),
    (abi::MPI_PROD, Predefined::Prod),
    (abi::MPI_BAND, Predefined::Band),
    (abi::MPI_BOR, Predefined::Bor),
    (abi::MPI_BXOR, Predefined::Bxor),
    (abi::MPI_LAND, Predefined::Land),
    (abi::MPI_LOR, Predefined::Lor),
    (abi::MPI_LXOR, Predefined::Lxor),
    (abi::MPI_MINLOC, Predefined::MinLoc),
    (abi::MPI_MAXLOC, Predefined::MaxLoc),
    (abi::MPI_REPLACE, Predefined::Replace),
    (abi::MPI_NO_OP, Predefined::NoOp),
];

pub(crate) fn define_predefined() {
    for &(handle, operation) in PREDEFINED {
        OPS.define(handle, Arc::new(Op::Predefined(operation)));
    }
}

/// An operation bound to the datatype of a call.
struct Bound {
    op: Arc<Op>,
    datatype: MPI_Datatype,
}

impl Combine for Bound {
    fn combine(&self, input: *const u8, inout: *mut u8, count: usize) -> Result<()> {
        match *self.op {
            Op::Predefined(operation) => {
                let element = DATATYPES.find(self.datatype, "datatype")?.element;
                // SAFETY: both operands hold `count` elements (contract of Combine).
                unsafe { op::apply(operation, element, input, inout, count) }
            }
            Op::User {
                function, large, ..
            } => {
                let mut datatype = self.datatype;
                let input = input.cast_mut().cast::<c_void>();
                let inout = inout.cast::<c_void>();
                // SAFETY: the user registered a function of this type (MPI_Op_create); no lock is held.
                unsafe {
                    if large {
                        let function: unsafe extern "C" fn(
                            *mut c_void,
                            *mut c_void,
                            *mut i64,
                            *mut usize,
                        ) = std::mem::transmute(function);
                        let mut count = count as i64;
                        function(input, inout, &raw mut count, &raw mut datatype);
                    } else {
                        let function: unsafe extern "C" fn(
                            *mut c_void,
                            *mut c_void,
                            *mut i32,
                            *mut usize,
                        ) = std::mem::transmute(function);
                        let mut count = count as i32;
                        function(input, inout, &raw mut count, &raw mut datatype);
                    }
                }
                Ok(())
            }
        }
    }
}

/// The operation of a call, checked against its datatype.
pub(crate) fn bind(op: MPI_Op, datatype: MPI_Datatype) -> Result<Arc<dyn Combine>> {
    let object = OPS.share(op, "op")?;
    let element = DATATYPES.find(datatype, "datatype")?.element;
    if let Op::Predefined(operation) = *object {
        let named = datatype < 4096;
        if !named || !op::is_defined(operation, element) {
            let expected = format!(
                "an operation that is defined for the datatype (MPI-5.0, section 6.9.2), not {operation:?}"
            );
            return Err(Error::argument(
                ErrorClass::ERR_OP,
                "op",
                format!("{op:#x}"),
                expected,
            ));
        }
    }
    Ok(Arc::new(Bound {
        op: object,
        datatype,
    }))
}

fn create(
    call: &'static str,
    function: Callback,
    commute: i32,
    op: *mut MPI_Op,
    large: bool,
) -> i32 {
    run(call, 0, || {
        let handle = OPS.insert(Arc::new(Op::User {
            function,
            commutes: commute != 0,
            large,
        }))?;
        // SAFETY: the result is writable (crate head).
        unsafe { *op = handle };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Op_create(user_fn: Callback, commute: i32, op: *mut MPI_Op) -> i32 {
    create("MPI_Op_create", user_fn, commute, op, false)
}

pub(crate) unsafe fn MPI_Op_create_c(user_fn: Callback, commute: i32, op: *mut MPI_Op) -> i32 {
    create("MPI_Op_create_c", user_fn, commute, op, true)
}

pub(crate) unsafe fn MPI_Op_free(op: *mut MPI_Op) -> i32 {
    run("MPI_Op_free", 0, || {
        // SAFETY: the handle is readable and writable (crate head).
        let handle = unsafe { &mut *op };
        if *handle < 4096 {
            return Err(Error::argument(
                ErrorClass::ERR_OP,
                "op",
                "predefined or null",
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
        let commutes = match OPS.find(op, "op")? {
            Op::Predefined(operation) => {
                !matches!(operation, Predefined::Replace | Predefined::NoOp)
            }
            Op::User { commutes, .. } => *commutes,
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *commute = i32::from(commutes) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> i32 {
    run("MPI_Reduce_local", 0, || {
        let count = count.into();
        memory(inbuf, count, datatype)?;
        bind(op, datatype)?.combine(inbuf.cast(), inoutbuf.cast(), count as usize)
    })
}
