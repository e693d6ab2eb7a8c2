// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the layer over the next ones.

use mpi_abi_sys::types::*;

use super::{
    blocking, complete, costs, exchange, nonblocking, packing, pending, persistent, pool, types,
};
use crate::output::say;
use crate::settings::Settings;
use crate::table::{Functions, Next, lacking};

/// What the layer calls.
pub(super) static NEXT: Next = Next::new();

/// Functions for large counts, without which the layer does not work.
const NEEDED: &[&std::ffi::CStr] = &[
    c"MPI_Type_get_envelope_c",
    c"MPI_Type_get_contents_c",
    c"MPI_Type_size_c",
    c"MPI_Type_get_extent_c",
    c"MPI_Type_get_true_extent_c",
    c"MPI_Type_create_hindexed_block_c",
    c"MPI_Type_create_hvector_c",
    c"MPI_Get_count_c",
    c"MPI_Pack_c",
    c"MPI_Unpack_c",
];

/// The layer over these functions.
pub(crate) fn over(settings: &Settings, next: Functions) -> Functions {
    if let Some(name) = lacking(NEEDED) {
        let name = name.to_string_lossy();
        say(&format!(
            "datatypes: the MPI library does not have {name}: no data are packed"
        ));
        return next;
    }
    costs::set_path(settings.path, settings.verbose);
    pool::limit(settings.pool_limit);
    // SAFETY: no slot leads to a reader yet.
    unsafe { NEXT.fill(next) };
    let functions = Functions {
        MPI_Type_commit: commit,
        MPI_Type_dup: dup,
        MPI_Finalize: finalize,
        MPI_Session_finalize: session_finalize,
        ..next
    };
    let functions = exchange::over(packing::over(blocking::over(functions)));
    complete::over(persistent::over(nonblocking::over(functions)))
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

/// A duplicate of a committed type is committed.
unsafe extern "C" fn dup(old: MPI_Datatype, new: *mut MPI_Datatype) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let code = (NEXT.get().MPI_Type_dup)(old, new);
        if code == 0 && types::find(old).is_some() {
            types::learn(*new);
        }
        code
    }
}

unsafe extern "C" fn finalize() -> i32 {
    pending::finish_all();
    types::clear();
    // SAFETY: the program's call.
    unsafe { (NEXT.get().MPI_Finalize)() }
}

unsafe extern "C" fn session_finalize(session: *mut MPI_Session) -> i32 {
    pending::finish_all();
    types::clear();
    // SAFETY: the program's argument.
    unsafe { (NEXT.get().MPI_Session_finalize)(session) }
}
