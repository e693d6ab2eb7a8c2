// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detached buffers. Only `mpi_f08` has room for their addresses; the two old faces pass a buffer that is not looked at.

use core::ffi::c_void;

use mpi_abi_sys::constants::MPI_SUCCESS;

use crate::library::{profiling, program, types};
use crate::{handle, sentinel, status};

/// Gives a call room for the address.
fn detach(call: impl FnOnce(*mut c_void) -> i32) -> (i32, usize) {
    let mut address: usize = 0;
    let code = call((&raw mut address).cast());
    (code, sentinel::to_fortran(address))
}

macro_rules! detaches {
    ($($name:ident $c_name:ident $size:ty: $symbol:literal $profiled:literal;)*) => {
        $(
            pub(crate) unsafe fn $name(call: types::$c_name, _: *mut c_void, size: *mut $size) -> i32 {
                // SAFETY: the arguments are those of the Fortran procedure.
                detach(|address| unsafe { call(address, size) }).0
            }

            const _: () = {
                #[unsafe(export_name = $symbol)]
                unsafe extern "C" fn by_program(address: *mut usize, size: *mut $size, ierror: *mut i32) {
                    // SAFETY: as above.
                    unsafe { stored(address, ierror, |room| program::$c_name(room, size)) };
                }

                #[unsafe(export_name = $profiled)]
                unsafe extern "C" fn by_profiler(address: *mut usize, size: *mut $size, ierror: *mut i32) {
                    // SAFETY: as above.
                    unsafe { stored(address, ierror, |room| profiling::$c_name(room, size)) };
                }
            };
        )*
    };
}

macro_rules! detaches_of {
    ($($name:ident $c_name:ident $kind:ident $size:ty: $symbol:literal $profiled:literal;)*) => {
        $(
            pub(crate) unsafe fn $name(
                call: types::$c_name,
                object: *mut i32,
                _: *mut c_void,
                size: *mut $size,
            ) -> i32 {
                // SAFETY: the arguments are those of the Fortran procedure.
                unsafe {
                    let object = handle::find::<handle::$kind>(*object);
                    detach(|address| call(object, address, size)).0
                }
            }

            const _: () = {
                #[unsafe(export_name = $symbol)]
                unsafe extern "C" fn by_program(object: *mut i32, address: *mut usize, size: *mut $size, ierror: *mut i32) {
                    // SAFETY: as above.
                    unsafe {
                        let object = handle::find::<handle::$kind>(*object);
                        stored(address, ierror, |room| program::$c_name(object, room, size));
                    }
                }

                #[unsafe(export_name = $profiled)]
                unsafe extern "C" fn by_profiler(object: *mut i32, address: *mut usize, size: *mut $size, ierror: *mut i32) {
                    // SAFETY: as above.
                    unsafe {
                        let object = handle::find::<handle::$kind>(*object);
                        stored(address, ierror, |room| profiling::$c_name(object, room, size));
                    }
                }
            };
        )*
    };
}

/// Detaches and stores the address.
///
/// # Safety
/// Both pointers are the Fortran procedure's.
unsafe fn stored(address: *mut usize, ierror: *mut i32, call: impl FnOnce(*mut c_void) -> i32) {
    let (code, found) = detach(call);
    // SAFETY: the caller's promise.
    unsafe {
        if code == MPI_SUCCESS {
            *address = found;
        }
        status::set(ierror, code);
    }
}

detaches! {
    buffer_detach MPI_Buffer_detach i32: "mpi_buffer_detach_f08_" "pmpi_buffer_detach_f08_";
    buffer_detach_c MPI_Buffer_detach_c i64: "mpi_buffer_detach_c_f08_" "pmpi_buffer_detach_c_f08_";
}

detaches_of! {
    comm_detach_buffer MPI_Comm_detach_buffer Comm i32: "mpi_comm_detach_buffer_f08_" "pmpi_comm_detach_buffer_f08_";
    comm_detach_buffer_c MPI_Comm_detach_buffer_c Comm i64: "mpi_comm_detach_buffer_c_f08_" "pmpi_comm_detach_buffer_c_f08_";
    session_detach_buffer MPI_Session_detach_buffer Session i32: "mpi_session_detach_buffer_f08_" "pmpi_session_detach_buffer_f08_";
    session_detach_buffer_c MPI_Session_detach_buffer_c Session i64: "mpi_session_detach_buffer_c_f08_" "pmpi_session_detach_buffer_c_f08_";
}
