// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening and closing files, their sizes and hints (MPI-5.0, section 14.2).

use core::ffi::{CStr, c_char};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use engine::file::{FileHints, open, size};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_FILE_NULL;
use mpi_abi_sys::types::{MPI_Comm, MPI_File, MPI_Group, MPI_Info, MPI_Offset};

use crate::comm::hints_of;
use crate::error::file::default_handler;
use crate::error::{compare_accesses, run_file, run_without_file};
use crate::group;
use crate::handle::{COMMS, FILES};
use crate::info;
use crate::kinds;

/// The path in a C text.
fn path_of<'a>(filename: *const c_char) -> Result<&'a Path> {
    // SAFETY: the text is NUL-terminated (crate head).
    let name = unsafe { CStr::from_ptr(filename) };
    if name.is_empty() {
        let class = ErrorClass::ERR_BAD_FILE;
        return Err(Error::argument(
            class,
            "filename",
            "empty",
            "the name of a file",
        ));
    }
    Ok(Path::new(OsStr::from_bytes(name.to_bytes())))
}

pub(crate) unsafe fn MPI_File_open(
    comm: MPI_Comm,
    filename: *const c_char,
    amode: i32,
    info: MPI_Info,
    fh: *mut MPI_File,
) -> i32 {
    let call = "MPI_File_open";
    // SAFETY: the result is writable (crate head). A handler of the program may call the error off.
    unsafe { *fh = MPI_FILE_NULL };
    run_without_file(call, || {
        let comm = COMMS.share(comm, "comm")?;
        let reserved = FILES.reserve();
        let given = hints_of(info)
            .map(|info| FileHints::of(|key| info.and_then(|info| info.get(key))))
            .and_then(|hints| reserved.map(|handle| (hints, handle)));
        let (hints, handle) = match given {
            Ok((hints, handle)) => (Ok(hints), Some(handle)),
            Err(error) => (Err(error), None),
        };
        let name = path_of(filename);
        let hints = hints.and_then(|hints| name.as_ref().map(|_| hints).map_err(Clone::clone));
        let name = name.unwrap_or(Path::new(""));
        let file = open::open(&comm, name, amode, hints, call)?;
        if let Some(handle) = handle {
            file.error_handler
                .store(default_handler(), Ordering::Relaxed);
            let handle = handle.fill(file.clone());
            file.comm().handle.store(handle as u64, Ordering::Relaxed);
            // SAFETY: the result is writable (crate head).
            unsafe { *fh = handle };
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_File_close(fh: *mut MPI_File) -> i32 {
    let call = "MPI_File_close";
    // SAFETY: the handle is readable and writable (crate head).
    let handle = unsafe { &mut *fh };
    let conflict = compare_accesses(call, *handle, false);
    let mut last = None;
    let code = run_file(call, *handle, |file| {
        last = open::close(file, call)?;
        Ok(())
    });
    if code != 0 {
        return code;
    }
    // The file is closed, whatever the system said of it at the end.
    let code = last.map_or(conflict, |error| run_file(call, *handle, |_| Err(error)));
    // The handle was found above.
    let _ = FILES.remove(*handle, "fh");
    *handle = MPI_FILE_NULL;
    code
}

pub(crate) unsafe fn MPI_File_delete(filename: *const c_char, info: MPI_Info) -> i32 {
    run_without_file("MPI_File_delete", || {
        info::check(info)?;
        open::delete(path_of(filename)?)
    })
}

pub(crate) fn MPI_File_set_size(fh: MPI_File, size: MPI_Offset) -> i32 {
    let call = "MPI_File_set_size";
    run_file(call, fh, |file| size::set_size(file, size, call))
}

pub(crate) fn MPI_File_preallocate(fh: MPI_File, size: MPI_Offset) -> i32 {
    let call = "MPI_File_preallocate";
    run_file(call, fh, |file| size::preallocate(file, size, call))
}

pub(crate) unsafe fn MPI_File_get_size(fh: MPI_File, size: *mut MPI_Offset) -> i32 {
    run_file("MPI_File_get_size", fh, |file| {
        let bytes = size::size(file)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *size = bytes.cast_signed() };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_File_get_group(fh: MPI_File, group: *mut MPI_Group) -> i32 {
    run_file("MPI_File_get_group", fh, |file| {
        group::store(file.group().clone(), group)
    })
}

pub(crate) unsafe fn MPI_File_get_amode(fh: MPI_File, amode: *mut i32) -> i32 {
    run_file("MPI_File_get_amode", fh, |file| {
        // SAFETY: the result is writable (crate head).
        unsafe { *amode = file.mode().bits() };
        Ok(())
    })
}

pub(crate) fn MPI_File_set_info(fh: MPI_File, info: MPI_Info) -> i32 {
    let call = "MPI_File_set_info";
    run_file(call, fh, |file| {
        let hints = hints_of(info)?;
        file.set_info(|key| hints.and_then(|hints| hints.get(key)), call)
    })
}

pub(crate) unsafe fn MPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info) -> i32 {
    run_file("MPI_File_get_info", fh, |file| {
        let pairs = file.info();
        let kinds = kinds::of_objects();
        let pairs = pairs.iter().map(|(key, value)| (*key, &**value));
        let pairs: Vec<_> = pairs.chain([(kinds::KEY, &*kinds)]).collect();
        // SAFETY: the result is writable (crate head).
        unsafe { *info_used = info::of_pairs(&pairs)? };
        Ok(())
    })
}
