// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the layer over the next ones.

use std::sync::atomic::Ordering::Relaxed;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::{
    blocking, collectives, complete, costs, exchange, leaf, nonblocking, own, packing, pending,
    persistent, pool, route, types,
};
use crate::output::say;
use crate::settings::Settings;
use crate::sync::AtomicBool;
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
    route::set(settings);
    leaf::look_at_contiguous(settings.stages_contiguous);
    pool::limit(settings.pool_limit);
    // SAFETY: no slot leads to a reader yet.
    unsafe { NEXT.fill(next) };
    IS_THERE.store(true, Relaxed);
    let functions = Functions {
        MPI_Finalize: finalize,
        MPI_Session_init: session_init,
        MPI_Session_finalize: session_finalize,
        ..next
    };
    let functions = match settings.collectives {
        true => collectives::over(functions),
        false => functions,
    };
    let functions = exchange::over(packing::over(blocking::over(functions)));
    complete::over(persistent::over(nonblocking::over(functions)))
}

/// What takes requests, over these functions. A program that completes by a profiling name what it has started otherwise needs
/// this layer there, too.
pub(crate) fn of_requests(next: Functions) -> Functions {
    match IS_THERE.load(Relaxed) {
        true => complete::over(persistent::of_requests(next)),
        false => next,
    }
}

/// Whether the layer has been put between.
static IS_THERE: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn session_init(
    info: MPI_Info,
    handler: MPI_Errhandler,
    session: *mut MPI_Session,
) -> i32 {
    // SAFETY: the program's arguments.
    let code = unsafe { (NEXT.get().MPI_Session_init)(info, handler, session) };
    if code == mpi::MPI_SUCCESS {
        own::begin_session();
    }
    code
}

unsafe extern "C" fn session_finalize(session: *mut MPI_Session) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        let is_session = !session.is_null() && *session != mpi::MPI_SESSION_NULL;
        if is_session && own::end_session() {
            end();
        }
        (NEXT.get().MPI_Session_finalize)(session)
    }
}

unsafe extern "C" fn finalize() -> i32 {
    end();
    // SAFETY: the program's call.
    unsafe { (NEXT.get().MPI_Finalize)() }
}

/// Ends what this layer has in MPI, before that ends.
fn end() {
    pending::finish_all();
    types::clear();
    own::free();
}
