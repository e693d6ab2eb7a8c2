// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error handlers.

use std::mem::transmute;

use super::slots::{COMM_HANDLERS, FILE_HANDLERS, SESSION_HANDLERS, WIN_HANDLERS, no_slot};
use crate::handle;
use crate::library::types;

macro_rules! handlers {
    ($($create:ident $c_create:ident $function:ident $slots:ident $kind:ident;)*) => {
        $(
            pub(crate) unsafe fn $create(call: types::$c_create, procedure: usize, errhandler: *mut i32) -> i32 {
                // SAFETY: the arguments are those of the Fortran procedure.
                unsafe {
                    let Some(function) = $slots.function_of(procedure) else {
                        *errhandler = handle::null::<handle::Errhandler>() as i32;
                        return no_slot(stringify!($c_create), $slots.len());
                    };
                    let mut made = handle::null::<handle::Errhandler>();
                    let code = call(function as *const () as usize, &mut made);
                    *errhandler = handle::made::<handle::Errhandler>(code, made);
                    code
                }
            }

            /// The C handler of a slot.
            pub(super) unsafe extern "C" fn $function<const SLOT: usize>(object: *mut usize, code: *mut i32) {
                type Procedure = unsafe extern "C" fn(*mut i32, *mut i32);
                // SAFETY: the slot holds the procedure that the handler was made from; the library passes a handler's arguments.
                unsafe {
                    let procedure: Procedure = transmute($slots.procedure(SLOT));
                    let mut number = handle::int::<handle::$kind>(*object);
                    procedure(&mut number, code);
                }
            }
        )*
    };
}

handlers! {
    comm_create_errhandler MPI_Comm_create_errhandler comm_handler COMM_HANDLERS Comm;
    file_create_errhandler MPI_File_create_errhandler file_handler FILE_HANDLERS File;
    session_create_errhandler MPI_Session_create_errhandler session_handler SESSION_HANDLERS Session;
    win_create_errhandler MPI_Win_create_errhandler win_handler WIN_HANDLERS Win;
}
