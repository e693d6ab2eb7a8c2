// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls that make datatypes known, below all layers that read them.

use std::ffi::CStr;

use mpi_abi_sys::types::*;

use super::{leaf, types};
use crate::table::{Functions, Next, lacking};

/// What these functions call.
static NEXT: Next = Next::new();

/// Functions for large counts, without which no datatype is known.
const NEEDED: &[&CStr] = &[
    c"MPI_Type_get_envelope_c",
    c"MPI_Type_get_contents_c",
    c"MPI_Type_size_c",
    c"MPI_Type_get_extent_c",
    c"MPI_Type_get_true_extent_c",
];

/// The functions of this file over the next ones.
pub(crate) fn reading(next: Functions) -> Functions {
    if lacking(NEEDED).is_some() {
        return next;
    }
    // SAFETY: no slot leads to a reader yet.
    unsafe { NEXT.fill(next) };
    Functions {
        MPI_Type_commit: commit,
        MPI_Type_dup: dup,
        MPI_Finalize: finalize,
        ..next
    }
}

unsafe extern "C" fn commit(datatype: *mut MPI_Datatype) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let code = (NEXT.get().MPI_Type_commit)(datatype);
        if code == 0 {
            types::learn(*datatype);
        }
        code
    }
}

/// A duplicate of a committed type is committed, also that of a predefined one.
unsafe extern "C" fn dup(old: MPI_Datatype, new: *mut MPI_Datatype) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let code = (NEXT.get().MPI_Type_dup)(old, new);
        if code == 0 && (leaf::is_predefined(old) || types::find(old).is_some()) {
            types::learn(*new);
        }
        code
    }
}

unsafe extern "C" fn finalize() -> i32 {
    types::clear();
    // SAFETY: the program's call.
    unsafe { (NEXT.get().MPI_Finalize)() }
}
