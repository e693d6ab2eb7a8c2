// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callbacks of attributes.

use core::ffi::c_void;
use std::mem::transmute;

use mpi_abi_sys::constants::MPI_SUCCESS;

use crate::keep::Keep;
use crate::library::types;
use crate::{attribute, handle, logical, predefined};

/// What C's `extra_state` points to.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Callbacks {
    copy: usize,
    delete: usize,
    extra_state: i64,
}

static CALLBACKS: Keep<Callbacks> = Keep::new();

macro_rules! keyvals {
    ($($create:ident $c_create:ident $kind:ident $value:ty;)*) => {
        $(
            pub(crate) unsafe fn $create(
                call: types::$c_create,
                copy: usize,
                delete: usize,
                keyval: *mut i32,
                extra_state: *mut $value,
            ) -> i32 {
                type Copy = unsafe extern "C" fn(
                    *mut i32, *mut i32, *mut $value, *mut $value, *mut $value, *mut i32, *mut i32,
                );
                type Delete = unsafe extern "C" fn(*mut i32, *mut i32, *mut $value, *mut $value, *mut i32);

                unsafe extern "C" fn copied(
                    object: usize,
                    mut keyval: i32,
                    callbacks: *mut c_void,
                    from: *mut c_void,
                    to: *mut *mut c_void,
                    flag: *mut i32,
                ) -> i32 {
                    // SAFETY: the library passes what a copy callback gets, with the record below.
                    unsafe {
                        let callbacks = &*callbacks.cast::<Callbacks>();
                        let procedure: Copy = transmute(callbacks.copy);
                        let mut object = handle::int::<handle::$kind>(object);
                        let mut state = callbacks.extra_state as $value;
                        let (mut old, mut new) = (attribute::to_fortran(from) as $value, 0);
                        let (mut is_copied, mut code) = (0, MPI_SUCCESS);
                        procedure(&mut object, &mut keyval, &mut state, &mut old, &mut new, &mut is_copied, &mut code);
                        *flag = logical::given(is_copied);
                        if *flag != 0 {
                            *to = attribute::to_c(i64::from(new));
                        }
                        code
                    }
                }

                unsafe extern "C" fn deleted(
                    object: usize,
                    mut keyval: i32,
                    value: *mut c_void,
                    callbacks: *mut c_void,
                ) -> i32 {
                    // SAFETY: the library passes what a delete callback gets, with the record below.
                    unsafe {
                        let callbacks = &*callbacks.cast::<Callbacks>();
                        let procedure: Delete = transmute(callbacks.delete);
                        let mut object = handle::int::<handle::$kind>(object);
                        let mut state = callbacks.extra_state as $value;
                        let mut value = attribute::to_fortran(value) as $value;
                        let mut code = MPI_SUCCESS;
                        procedure(&mut object, &mut keyval, &mut value, &mut state, &mut code);
                        code
                    }
                }

                // SAFETY: the arguments are those of the Fortran procedure.
                unsafe {
                    let callbacks = CALLBACKS.get(Box::new(Callbacks {
                        copy,
                        delete,
                        extra_state: i64::from(*extra_state),
                    }));
                    let constant = predefined::attribute_constant;
                    let copy = constant(copy).unwrap_or(copied as *const () as usize);
                    let delete = constant(delete).unwrap_or(deleted as *const () as usize);
                    call(copy, delete, keyval, (&raw const *callbacks).cast_mut().cast())
                }
            }
        )*
    };
}

keyvals! {
    comm_create_keyval MPI_Comm_create_keyval Comm i64;
    type_create_keyval MPI_Type_create_keyval Datatype i64;
    win_create_keyval MPI_Win_create_keyval Win i64;
    keyval_create MPI_Keyval_create Comm i32;
}
