// SPDX-License-Identifier: MIT OR Apache-2.0
//! What calls profiling tools.

use std::mem::transmute;

use mpi_abi_sys::types::*;

use crate::table::Functions;
use crate::tools;

/// Functions that call tools. `THROUGH` goes from the level that the thread is at to the next one; `ENTER` is what programs and tools
/// call: the program's calls and those of tools part there; `PROFILED` is what they call by profiling names.
macro_rules! wrappers {
    ($($number:literal $name:ident($($argument:ident: $kind:ty),*) -> $result:ty = ($($passed:ident),*);)*) => {
        /// The next tool, or the MPI library.
        pub(crate) static THROUGH: Functions = Functions { $($name: {
            unsafe extern "C" fn through($($argument: $kind),*) -> $result {
                let (target, _step) = tools::next($number);
                // SAFETY: an address of a function of this name, with the caller's arguments.
                unsafe { transmute::<*const (), unsafe extern "C" fn($($kind),*) -> $result>(target)($($passed),*) }
            }
            through
        }),* };
        /// The first tool, or statistics before it, where the program calls, and the next tool where a tool does.
        pub(crate) static ENTER: Functions = Functions { $($name: {
            unsafe extern "C" fn enter($($argument: $kind),*) -> $result {
                let functions = if tools::in_program() { tools::ENTERED.get() } else { &THROUGH };
                // SAFETY: the caller's arguments.
                unsafe { (functions.$name)($($passed),*) }
            }
            enter
        }),* };
        /// The MPI library where the program calls, or a layer that needs to see the call; the next tool where a tool does.
        pub(crate) static PROFILED: Functions = Functions { $($name: {
            unsafe extern "C" fn profiled($($argument: $kind),*) -> $result {
                let functions = if tools::in_program() { tools::PROFILED.get() } else { &THROUGH };
                // SAFETY: the caller's arguments.
                unsafe { (functions.$name)($($passed),*) }
            }
            profiled
        }),* };
    };
}

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
