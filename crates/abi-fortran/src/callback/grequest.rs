// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generalised requests.

use core::ffi::c_void;
use std::mem::transmute;

use mpi_abi_sys::constants::MPI_SUCCESS;
use mpi_abi_sys::types::MPI_Status;

use crate::library::types;
use crate::{handle, logical};

/// What C's `extra_state` points to, from the start of the request until it is freed.
struct Callbacks {
    query: unsafe extern "C" fn(*mut i64, *mut MPI_Status, *mut i32),
    free: unsafe extern "C" fn(*mut i64, *mut i32),
    cancel: unsafe extern "C" fn(*mut i64, *mut i32, *mut i32),
    extra_state: i64,
}

unsafe extern "C" fn query(callbacks: *mut c_void, status: *mut MPI_Status) -> i32 {
    let mut code = MPI_SUCCESS;
    // SAFETY: the library passes the record of `grequest_start` and a status.
    unsafe {
        let callbacks = &mut *callbacks.cast::<Callbacks>();
        (callbacks.query)(&mut callbacks.extra_state, status, &mut code);
    }
    code
}

unsafe extern "C" fn free(callbacks: *mut c_void) -> i32 {
    let mut code = MPI_SUCCESS;
    // SAFETY: the library passes the record of `grequest_start`, once, and not again.
    unsafe {
        let mut callbacks = Box::from_raw(callbacks.cast::<Callbacks>());
        (callbacks.free)(&mut callbacks.extra_state, &mut code);
    }
    code
}

unsafe extern "C" fn cancel(callbacks: *mut c_void, is_complete: i32) -> i32 {
    let (mut complete, mut code) = (logical::taken(is_complete), MPI_SUCCESS);
    // SAFETY: the library passes the record of `grequest_start`.
    unsafe {
        let callbacks = &mut *callbacks.cast::<Callbacks>();
        (callbacks.cancel)(&mut callbacks.extra_state, &mut complete, &mut code);
    }
    code
}

pub(crate) unsafe fn grequest_start(
    call: types::MPI_Grequest_start,
    query_fn: usize,
    free_fn: usize,
    cancel_fn: usize,
    extra_state: *mut i64,
    request: *mut i32,
) -> i32 {
    // SAFETY: the arguments are those of the Fortran procedure, whose three procedures have these types.
    unsafe {
        let callbacks = Box::into_raw(Box::new(Callbacks {
            query: transmute::<usize, unsafe extern "C" fn(*mut i64, *mut MPI_Status, *mut i32)>(
                query_fn,
            ),
            free: transmute::<usize, unsafe extern "C" fn(*mut i64, *mut i32)>(free_fn),
            cancel: transmute::<usize, unsafe extern "C" fn(*mut i64, *mut i32, *mut i32)>(
                cancel_fn,
            ),
            extra_state: *extra_state,
        }));
        let mut made = handle::null::<handle::Request>();
        let code = call(
            query as *const () as usize,
            free as *const () as usize,
            cancel as *const () as usize,
            callbacks.cast(),
            &mut made,
        );
        if code != MPI_SUCCESS {
            drop(Box::from_raw(callbacks));
        }
        *request = handle::made::<handle::Request>(code, made);
        code
    }
}
