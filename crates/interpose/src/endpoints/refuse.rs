// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that the layer does not have for endpoints: with a handle of this layer they are refused by name. Generated from the kinds
//! of parameters in the table of the ABI.

use mpi_abi_sys::types::*;

use super::errors::refuse;
use super::handle::is_ours;
use super::layer::NEXT;
use crate::table::Functions;

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
        /// All functions that take a communicator or a request, over the next ones.
        pub(super) fn over(next: Functions) -> Functions {
            Functions { $($name: {
                unsafe extern "C" fn refused($($argument: $kind),*) -> i32 {
                    // SAFETY: the program's arguments.
                    unsafe {
                        $(if let Some(handle) = $handle { return refuse($text, handle); })*
                        (NEXT.get().$name)($($passed),*)
                    }
                }
                refused
            },)* ..next }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/refusals.rs"));
