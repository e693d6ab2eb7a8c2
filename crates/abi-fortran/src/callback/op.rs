// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduction operations.

use core::ffi::c_void;
use std::mem::transmute;

use super::slots::{LARGE_OPERATIONS, OPERATIONS, no_slot};
use crate::library::types;
use crate::{handle, logical};

macro_rules! operations {
    ($($create:ident $c_create:ident $function:ident $slots:ident $count:ty;)*) => {
        $(
            pub(crate) unsafe fn $create(
                call: types::$c_create,
                procedure: usize,
                commute: *mut i32,
                op: *mut i32,
            ) -> i32 {
                // SAFETY: the arguments are those of the Fortran procedure.
                unsafe {
                    let Some(function) = $slots.function_of(procedure) else {
                        *op = handle::null::<handle::Op>() as i32;
                        return no_slot(stringify!($c_create), $slots.len());
                    };
                    let mut made = handle::null::<handle::Op>();
                    let code = call(function as *const () as usize, logical::given(*commute), &mut made);
                    *op = handle::made::<handle::Op>(code, made);
                    code
                }
            }

            /// The C operation of a slot.
            pub(super) unsafe extern "C" fn $function<const SLOT: usize>(
                from: *mut c_void,
                to: *mut c_void,
                count: *mut $count,
                datatype: *mut usize,
            ) {
                type Procedure = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut $count, *mut i32);
                // SAFETY: the slot holds the procedure that the operation was made from; the library passes an operation's arguments.
                unsafe {
                    let procedure: Procedure = transmute($slots.procedure(SLOT));
                    let mut number = handle::int::<handle::Datatype>(*datatype);
                    procedure(from, to, count, &mut number);
                }
            }
        )*
    };
}

operations! {
    op_create MPI_Op_create operation OPERATIONS i32;
    op_create_c MPI_Op_create_c large_operation LARGE_OPERATIONS i64;
}
