// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that the layer does not have for endpoints: with a handle of this layer they are refused by name. Generated from the kinds
//! of parameters in the table of the ABI. It has none by their profiling names.

use std::ffi::{CStr, CString};

use mpi_abi_sys::types::*;

use super::errors::refuse;
use super::handle::is_ours;
use super::layer::NEXT;
use crate::table::{Functions, Next};

/// The names by which a program calls.
trait Names {
    /// What stands before `MPI_`.
    const PREFIX: &'static str;
    /// What handles of the library get to.
    fn next() -> &'static Functions;
}

/// `MPI_X`.
struct Usual;

impl Names for Usual {
    const PREFIX: &'static str = "";

    fn next() -> &'static Functions {
        NEXT.get()
    }
}

/// `PMPI_X`.
struct Profiling;

impl Names for Profiling {
    const PREFIX: &'static str = "P";

    fn next() -> &'static Functions {
        PROFILED.get()
    }
}

/// What the refusals by profiling names stand over.
static PROFILED: Next = Next::new();

/// All functions that take a communicator, a request or a message, over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    refusing::<Usual>(next)
}

/// The same by profiling names.
pub(crate) fn profiling(next: Functions) -> Functions {
    // SAFETY: no slot leads to a reader yet.
    unsafe { PROFILED.fill(next) };
    refusing::<Profiling>(next)
}

#[cold]
fn refuse_by<N: Names>(name: &CStr, handle: usize) -> i32 {
    let name = format!("{}{}", N::PREFIX, name.to_string_lossy());
    refuse(&CString::new(name).unwrap_or_default(), handle)
}

/// The first handle of this layer behind a pointer of the program.
///
/// # Safety
/// The program's argument: null, or so many handles.
unsafe fn ours_behind(handles: *const usize, count: i32) -> Option<usize> {
    let count = usize::try_from(count).unwrap_or(0);
    if handles.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let handles = unsafe { std::slice::from_raw_parts(handles, count) };
    handles.iter().copied().find(|&handle| is_ours(handle))
}

/// A handle of this layer.
fn ours(handle: usize) -> Option<usize> {
    is_ours(handle).then_some(handle)
}

macro_rules! refusals {
    ($($name:ident $text:literal ($($argument:ident: $kind:ty),*) ($($passed:ident),*) [$($handle:expr),*];)*) => {
        /// These functions over the next ones.
        fn refusing<N: Names>(next: Functions) -> Functions {
            Functions { $($name: {
                unsafe extern "C" fn refused<N: Names>($($argument: $kind),*) -> i32 {
                    // SAFETY: the program's arguments.
                    unsafe {
                        $(if let Some(handle) = $handle { return refuse_by::<N>($text, handle); })*
                        (N::next().$name)($($passed),*)
                    }
                }
                refused::<N>
            },)* ..next }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/refusals.rs"));
