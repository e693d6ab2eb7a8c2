// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of files: those of calls on a file go to its handler; those of opening and deleting, and of handles that name no file, to the
//! handler of MPI_FILE_NULL, which files get when they are opened and which at first is MPI_ERRORS_RETURN (MPI-5.0, section 14.7).

use std::sync::atomic::Ordering;

use engine::file::{File, conflicts};
use engine::{Error, Result};
use mpi_abi_sys::constants::{MPI_ERRORS_RETURN, MPI_FILE_NULL};
use mpi_abi_sys::types::{MPI_Errhandler, MPI_File};

use super::handlers;
use super::raise::{Null, inactive_on, invoke, raise_to, raise_to_none};
use crate::handle::{Borrowed, FILES};
use crate::objects::HandlerOf;
use crate::state::is_active;
use crate::sync::AtomicU64;

/// The handler of MPI_FILE_NULL.
static HANDLER: AtomicU64 = AtomicU64::new(MPI_ERRORS_RETURN as u64);

/// The handler of MPI_FILE_NULL, which a file has at first.
pub(crate) fn default_handler() -> u64 {
    HANDLER.load(Ordering::Relaxed)
}

/// The handler of a file.
pub(super) fn handler_of_file(file: &File) -> usize {
    file.error_handler.load(Ordering::Relaxed) as usize
}

/// Runs a body on a file; an error goes to the file's handler.
pub(crate) fn run_file(
    call: &'static str,
    fh: MPI_File,
    body: impl FnOnce(&Borrowed<File>) -> Result<()>,
) -> i32 {
    if !is_active() {
        return inactive(call, fh);
    }
    match FILES.borrow(fh, "fh").and_then(|file| body(&file)) {
        Ok(()) => 0,
        Err(error) => raise(call, fh, error),
    }
}

/// Runs the body of a call that has no file; an error goes to the handler of MPI_FILE_NULL.
pub(crate) fn run_without_file(call: &'static str, body: impl FnOnce() -> Result<()>) -> i32 {
    if !is_active() {
        return inactive(call, MPI_FILE_NULL);
    }
    match body() {
        Ok(()) => 0,
        Err(error) => raise(call, MPI_FILE_NULL, error),
    }
}

/// A call on a file outside MPI_Init ... MPI_Finalize, or in a forked child.
#[cold]
fn inactive(call: &'static str, fh: MPI_File) -> i32 {
    inactive_on(call, || match FILES.closed(fh) {
        Some(file) => Some((handler_of_file(file), fh)),
        None => Some((default_handler() as usize, MPI_FILE_NULL)),
    })
}

/// Hands an error to the handler of a file, or to that of MPI_FILE_NULL.
#[cold]
#[inline(never)]
fn raise(call: &'static str, fh: MPI_File, error: Error) -> i32 {
    match FILES.get(fh) {
        Some(file) => {
            let error = file.annotate(error.in_call(call));
            invoke(handler_of_file(file), fh, &error)
        }
        None => raise_to(call, default_handler() as usize, MPI_FILE_NULL, error),
    }
}

/// Compares what the ranks of a file have accessed, where `RANKPOINT_CHECK=files` asks for it. A conflict goes to the file's handler, and
/// from one that is MPI_ERRORS_RETURN, as at first, to that of calls that belong to no object: few programs look at what these calls
/// return.
pub(crate) fn compare_accesses(call: &'static str, fh: MPI_File, syncs: bool) -> i32 {
    let Some(file) = is_active().then(|| FILES.get(fh)).flatten() else {
        return 0;
    };
    let Err(error) = conflicts::compare(file, syncs, call) else {
        return 0;
    };
    let error = file.annotate(error.in_call(call));
    match handler_of_file(file) {
        MPI_ERRORS_RETURN => raise_to_none(error),
        handler => invoke(handler, fh, &error),
    }
}

/// Refuses a null pointer through a file's error handler; that of MPI_FILE_NULL in calls without a file.
#[cold]
#[inline(never)]
pub(crate) fn refuse_null(null: &'static Null, file: MPI_File) -> i32 {
    if !is_active() {
        return inactive(null.call, file);
    }
    raise(null.call, file, null.error())
}

/// The place of the handler of a file, or of MPI_FILE_NULL.
fn place_of(file: MPI_File) -> Result<&'static AtomicU64> {
    match file {
        MPI_FILE_NULL => Ok(&HANDLER),
        _ => Ok(&FILES.find(file, "file")?.error_handler),
    }
}

pub(crate) fn MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) -> i32 {
    on_any("MPI_File_set_errhandler", file, |place| {
        handlers::check(errhandler, HandlerOf::Files)?;
        place.store(errhandler as u64, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_File_get_errhandler(
    file: MPI_File,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    on_any("MPI_File_get_errhandler", file, |place| {
        let handle = handlers::lend(place.load(Ordering::Relaxed));
        // SAFETY: the result is writable (crate head).
        unsafe { *errhandler = handle };
        Ok(())
    })
}

pub(crate) fn MPI_File_call_errhandler(fh: MPI_File, errorcode: i32) -> i32 {
    let call = "MPI_File_call_errhandler";
    on_any(call, fh, |place| {
        let error = handlers::raised_by_program(errorcode).in_call(call);
        invoke(place.load(Ordering::Relaxed) as usize, fh, &error);
        Ok(())
    })
}

/// Runs the body of a call on the handler of a file or of MPI_FILE_NULL.
fn on_any(
    call: &'static str,
    file: MPI_File,
    body: impl FnOnce(&'static AtomicU64) -> Result<()>,
) -> i32 {
    if !is_active() {
        return inactive(call, file);
    }
    match place_of(file).and_then(body) {
        Ok(()) => 0,
        Err(error) => raise(call, file, error),
    }
}
