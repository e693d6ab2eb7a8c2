// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data representations of files.

use core::ffi::c_void;
use std::mem::transmute;

use mpi_abi_sys::constants::MPI_SUCCESS;
use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Offset};

use crate::keep::Keep;
use crate::library::types;
use crate::{handle, predefined, text};

/// What C's `extra_state` points to. A representation lives as long as the process.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Callbacks {
    read: usize,
    write: usize,
    extent: usize,
    extra_state: i64,
}

static CALLBACKS: Keep<Callbacks> = Keep::new();

unsafe extern "C" fn extent(
    datatype: MPI_Datatype,
    extent: *mut MPI_Aint,
    callbacks: *mut c_void,
) -> i32 {
    type Extent = unsafe extern "C" fn(*mut i32, *mut MPI_Aint, *mut i64, *mut i32);
    let mut code = MPI_SUCCESS;
    // SAFETY: the library passes what an extent callback gets, with the record of `register_datarep`.
    unsafe {
        let callbacks = &*callbacks.cast::<Callbacks>();
        let procedure: Extent = transmute(callbacks.extent);
        let mut number = handle::int::<handle::Datatype>(datatype);
        let mut state = callbacks.extra_state;
        procedure(&mut number, extent, &mut state, &mut code);
    }
    code
}

macro_rules! datareps {
    ($($register:ident $c_register:ident $count:ty;)*) => {
        $(
            pub(crate) unsafe fn $register(
                call: types::$c_register,
                name: *mut u8,
                read_fn: usize,
                write_fn: usize,
                extent_fn: usize,
                extra_state: *mut i64,
                name_length: usize,
            ) -> i32 {
                type Conversion = unsafe extern "C" fn(
                    *mut c_void, *mut i32, *mut $count, *mut c_void, *mut MPI_Offset, *mut i64, *mut i32,
                );

                unsafe fn convert(
                    procedure: usize,
                    datatype: MPI_Datatype,
                    mut count: $count,
                    mut position: MPI_Offset,
                    buffers: (*mut c_void, *mut c_void),
                    mut state: i64,
                ) -> i32 {
                    let mut code = MPI_SUCCESS;
                    // SAFETY: the caller passes a conversion procedure and its arguments.
                    unsafe {
                        let procedure: Conversion = transmute(procedure);
                        let mut number = handle::int::<handle::Datatype>(datatype);
                        procedure(buffers.0, &mut number, &mut count, buffers.1, &mut position, &mut state, &mut code);
                    }
                    code
                }

                unsafe extern "C" fn read(
                    user: *mut c_void, datatype: MPI_Datatype, count: $count, file: *mut c_void,
                    position: MPI_Offset, callbacks: *mut c_void,
                ) -> i32 {
                    // SAFETY: the library passes what a conversion callback gets, with the record below.
                    unsafe {
                        let callbacks = &*callbacks.cast::<Callbacks>();
                        convert(callbacks.read, datatype, count, position, (user, file), callbacks.extra_state)
                    }
                }

                unsafe extern "C" fn write(
                    user: *mut c_void, datatype: MPI_Datatype, count: $count, file: *mut c_void,
                    position: MPI_Offset, callbacks: *mut c_void,
                ) -> i32 {
                    // SAFETY: as above.
                    unsafe {
                        let callbacks = &*callbacks.cast::<Callbacks>();
                        convert(callbacks.write, datatype, count, position, (user, file), callbacks.extra_state)
                    }
                }

                // SAFETY: the arguments are those of the Fortran procedure.
                unsafe {
                    let callbacks = CALLBACKS.get(Box::new(Callbacks {
                        read: read_fn,
                        write: write_fn,
                        extent: extent_fn,
                        extra_state: *extra_state,
                    }));
                    let or_none = |procedure, function| {
                        if predefined::is_no_conversion(procedure) { 0 } else { function }
                    };
                    let name = text::given(name, name_length);
                    call(
                        name.as_ptr(),
                        or_none(read_fn, read as *const () as usize),
                        or_none(write_fn, write as *const () as usize),
                        extent as *const () as usize,
                        (&raw const *callbacks).cast_mut().cast(),
                    )
                }
            }
        )*
    };
}

datareps! {
    register_datarep MPI_Register_datarep i32;
    register_datarep_c MPI_Register_datarep_c i64;
}
