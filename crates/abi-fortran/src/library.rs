// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C functions of whatever MPI library the program has, each found at its first call.
//!
//! The dynamic linker looks where this library's own references would be looked up: first in the program and in preloaded tools,
//! and in what was loaded together with this library, even if that was `RTLD_LOCAL`. A function that the MPI library lacks gives
//! `MPI_ERR_UNSUPPORTED_OPERATION`, and a sentence on standard error names it.

use std::ffi::c_char;
use std::io::Write as _;
use std::mem::transmute_copy;
use std::sync::atomic::Ordering;

use mpi_abi_sys::constants::{MPI_COMM_SELF, MPI_ERR_UNSUPPORTED_OPERATION};

use crate::sync::AtomicUsize;

/// Where a function is, once it was called.
struct Slot(AtomicUsize);

impl Slot {
    /// The function of a NUL-terminated name.
    ///
    /// # Safety
    /// `F` is the function's pointer type.
    #[inline]
    unsafe fn get<F: Copy>(&self, name: &'static str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let mut address = self.0.load(Ordering::Relaxed);
        if address == 0 {
            address = self.find(name);
            if address == 0 {
                return None;
            }
        }
        // SAFETY: a pointer of this type has the same size (above) and this value (the caller's promise).
        Some(unsafe { transmute_copy(&address) })
    }

    #[cold]
    fn find(&self, name: &'static str) -> usize {
        // SAFETY: the name ends with NUL, which the macro below appends.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast::<c_char>()) };
        self.0.store(found as usize, Ordering::Relaxed);
        found as usize
    }
}

/// The result of a function that the MPI library lacks.
trait Missing {
    fn missing(name: &str) -> Self;
}

fn report_missing(name: &str) {
    // There is nowhere else to report that this cannot be written.
    let _ = writeln!(
        std::io::stderr(),
        "libmpifort_rankpoint.so.1: the MPI library of this program has no {name}"
    );
}

impl Missing for i32 {
    #[cold]
    fn missing(name: &str) -> Self {
        report_missing(name);
        // SAFETY: the handler of a predefined communicator gets a predefined error class.
        unsafe {
            profiling::MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_UNSUPPORTED_OPERATION);
        }
        MPI_ERR_UNSUPPORTED_OPERATION
    }
}

macro_rules! no_error_code {
    ($($kind:ty)*) => {
        $(impl Missing for $kind {
            #[cold]
            fn missing(name: &str) -> Self {
                report_missing(name);
                std::process::abort()
            }
        })*
    };
}

no_error_code! { f64 isize usize }

macro_rules! c_functions {
    ($count:literal; $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        c_functions! { program, "", "The functions as programs call them."; $($name($($argument: $kind),*) -> $result;)* }
        c_functions! { profiling, "P", "The functions by their profiling names."; $($name($($argument: $kind),*) -> $result;)* }
    };
    ($module:ident, $prefix:literal, $doc:literal; $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        #[doc = $doc]
        #[allow(dead_code, clippy::too_many_arguments, clippy::allow_attributes, reason = "generated: all functions")]
        pub(crate) mod $module {
            use super::{Missing, Slot, types};
            use crate::sync::AtomicUsize;
            use mpi_abi_sys::types::*;
            $(
                /// Calls it.
                ///
                /// # Safety
                /// As the C function.
                #[inline]
                pub(crate) unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
                    static SLOT: Slot = Slot(AtomicUsize::new(0));
                    // SAFETY: the ABI fixes the type of every name; the arguments are the caller's.
                    unsafe {
                        match SLOT.get::<types::$name>(concat!($prefix, stringify!($name), "\0")) {
                            Some(function) => function($($argument),*),
                            None => <$result as Missing>::missing(concat!($prefix, stringify!($name))),
                        }
                    }
                }
            )*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/library.rs"));
