// SPDX-License-Identifier: MIT OR Apache-2.0
//! File pointers, sync and atomicity (MPI-5.0, sections 14.4.3, 14.4.4 and 14.6).

use engine::file::pointer::{self, Whence};
use engine::file::{shared, size};
use mpi_abi_sys::types::{MPI_File, MPI_Offset};

use crate::error::{compare_accesses, run_file};

pub(crate) fn MPI_File_seek(fh: MPI_File, offset: MPI_Offset, whence: i32) -> i32 {
    run_file("MPI_File_seek", fh, |file| {
        pointer::seek(file, offset, Whence::new(whence)?)
    })
}

pub(crate) fn MPI_File_seek_shared(fh: MPI_File, offset: MPI_Offset, whence: i32) -> i32 {
    let call = "MPI_File_seek_shared";
    run_file(call, fh, |file| {
        shared::seek(file, offset, Whence::new(whence), call)
    })
}

pub(crate) unsafe fn MPI_File_get_position(fh: MPI_File, offset: *mut MPI_Offset) -> i32 {
    run_file("MPI_File_get_position", fh, |file| {
        let position = pointer::position(file)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *offset = position.cast_signed() };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_File_get_position_shared(fh: MPI_File, offset: *mut MPI_Offset) -> i32 {
    run_file("MPI_File_get_position_shared", fh, |file| {
        let position = shared::position(file)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *offset = position.cast_signed() };
        Ok(())
    })
}

pub(crate) fn MPI_File_sync(fh: MPI_File) -> i32 {
    let call = "MPI_File_sync";
    let code = run_file(call, fh, |file| size::sync(file));
    // All ranks compare, also those that have failed.
    let conflict = compare_accesses(call, fh, true);
    if code != 0 { code } else { conflict }
}

pub(crate) fn MPI_File_set_atomicity(fh: MPI_File, flag: i32) -> i32 {
    let call = "MPI_File_set_atomicity";
    run_file(call, fh, |file| size::set_atomicity(file, flag != 0, call))
}

pub(crate) unsafe fn MPI_File_get_atomicity(fh: MPI_File, flag: *mut i32) -> i32 {
    run_file("MPI_File_get_atomicity", fh, |file| {
        // SAFETY: the result is writable (crate head).
        unsafe { *flag = i32::from(file.is_atomic()) };
        Ok(())
    })
}
