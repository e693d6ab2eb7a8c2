// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of files: as no file can be opened yet, all of them go to the handler of MPI_FILE_NULL, which at first is MPI_ERRORS_RETURN
//! (MPI-5.0, section 14.7).

use std::sync::atomic::Ordering;

use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{MPI_ERRORS_RETURN, MPI_FILE_NULL};
use mpi_abi_sys::types::{MPI_Errhandler, MPI_File};

use super::handlers;
use super::raise::{Null, inactive_on, invoke, missing_error, raise_to};
use crate::objects::HandlerOf;
use crate::state::is_active;
use crate::sync::AtomicU64;

/// The handler of MPI_FILE_NULL.
static HANDLER: AtomicU64 = AtomicU64::new(MPI_ERRORS_RETURN as u64);

/// The same, for those who look for handlers in use.
pub(super) fn handler() -> u64 {
    HANDLER.load(Ordering::Relaxed)
}

/// Runs the body of a call on the null file; an error goes to its handler.
fn run(call: &'static str, file: MPI_File, body: impl FnOnce() -> Result<()>) -> i32 {
    if !is_active() {
        return inactive(call);
    }
    let done = if file == MPI_FILE_NULL {
        body()
    } else {
        let (value, expected) = (
            format!("{file:#x}, which is no file"),
            "MPI_FILE_NULL: no file can be opened yet",
        );
        Err(Error::argument(
            ErrorClass::ERR_FILE,
            "file",
            value,
            expected,
        ))
    };
    match done {
        Ok(()) => 0,
        Err(error) => raise(call, error),
    }
}

/// A call on a file outside MPI_Init ... MPI_Finalize, or in a forked child.
#[cold]
fn inactive(call: &'static str) -> i32 {
    inactive_on(call, || Some((handler() as usize, MPI_FILE_NULL)))
}

#[cold]
fn raise(call: &'static str, error: Error) -> i32 {
    raise_to(call, handler() as usize, MPI_FILE_NULL, error)
}

/// Refuses a null pointer through a file's error handler.
#[cold]
#[inline(never)]
pub(crate) fn refuse_null(null: &'static Null, file: MPI_File) -> i32 {
    let _ = file;
    if !is_active() {
        return inactive(null.call);
    }
    raise(null.call, null.error())
}

/// A call on files that is not written yet.
#[cold]
#[inline(never)]
pub(crate) fn missing(call: &'static str) -> i32 {
    if !is_active() {
        return inactive(call);
    }
    raise(call, missing_error())
}

pub(crate) fn MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) -> i32 {
    run("MPI_File_set_errhandler", file, || {
        handlers::check(errhandler, HandlerOf::Files)?;
        HANDLER.store(errhandler as u64, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_File_get_errhandler(
    file: MPI_File,
    errhandler: *mut MPI_Errhandler,
) -> i32 {
    run("MPI_File_get_errhandler", file, || {
        let handle = handlers::lend(handler());
        // SAFETY: the result is writable (crate head).
        unsafe { *errhandler = handle };
        Ok(())
    })
}

pub(crate) fn MPI_File_call_errhandler(fh: MPI_File, errorcode: i32) -> i32 {
    let call = "MPI_File_call_errhandler";
    run(call, fh, || {
        let error = handlers::raised_by_program(errorcode).in_call(call);
        invoke(handler() as usize, fh, &error);
        Ok(())
    })
}
