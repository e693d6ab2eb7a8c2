// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a function of the library is called.

use std::ffi::c_void;

/// Calls a function of the library; anything but success ends the process.
macro_rules! call {
    ($mpi:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $mpi.library.$name {
            // SAFETY: the prototype is the ABI's, MPI is initialised, and the arguments are those of the caller below,
            // whose borrowed buffers outlive the operation (see the head of this module).
            Some(function) => match unsafe { function($($argument),*) } {
                0 => {}
                code => $mpi.fail(stringify!($name), code),
            },
            None => $mpi.absent(stringify!($name)),
        }
    };
}
pub(super) use call;

pub(super) fn shared(data: &[u8]) -> (*const c_void, i32) {
    (data.as_ptr().cast(), int(data.len()))
}

pub(super) fn exclusive(data: &mut [u8]) -> (*mut c_void, i32) {
    (data.as_mut_ptr().cast(), int(data.len()))
}

/// A length as C counts it; the options bound it.
pub(super) fn int(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
