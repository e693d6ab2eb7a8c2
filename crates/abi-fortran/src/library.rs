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

use crate::sync::AtomicPtr;

/// Where a function is: at first one that looks for it.
pub(crate) struct Slot(AtomicPtr<()>);

impl Slot {
    /// A slot with the function that looks for it.
    const fn new(first: *const ()) -> Self {
        Self(AtomicPtr::new(first.cast_mut()))
    }

    /// The function.
    ///
    /// # Safety
    /// `F` is the function's pointer type.
    #[inline]
    unsafe fn get<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut ()>()) };
        let address = self.0.load(Ordering::Relaxed);
        // SAFETY: a pointer of this type has the same size (above) and this value (the caller's promise).
        unsafe { transmute_copy(&address) }
    }

    /// Looks for the function of a NUL-terminated name; none if the MPI library lacks it.
    ///
    /// # Safety
    /// `F` is the function's pointer type.
    #[cold]
    unsafe fn find<F: Copy>(&self, name: &'static str) -> Option<F> {
        // SAFETY: the name ends with NUL, which the macro below appends.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast::<c_char>()) };
        if found.is_null() {
            return None;
        }
        self.0.store(found.cast(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        Some(unsafe { self.get() })
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
            use mpi_abi_sys::types::*;
            $(
                /// Calls it.
                ///
                /// # Safety
                /// As the C function.
                #[inline]
                pub(crate) unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
                    static SLOT: Slot = Slot::new(first as *const ());

                    unsafe extern "C" fn first($($argument: $kind),*) -> $result {
                        // SAFETY: as below.
                        unsafe {
                            match SLOT.find::<types::$name>(concat!($prefix, stringify!($name), "\0")) {
                                Some(function) => function($($argument),*),
                                None => <$result as Missing>::missing(concat!($prefix, stringify!($name))),
                            }
                        }
                    }

                    // SAFETY: the ABI fixes the type of every name; the arguments are the caller's.
                    unsafe { SLOT.get::<types::$name>()($($argument),*) }
                }
            )*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/library.rs"));
