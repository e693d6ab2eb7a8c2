// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for messages (MPI-5.0, section 9.2).

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use engine::{Error, ErrorClass};
use mpi_abi_sys::types::{MPI_Aint, MPI_Info};

use crate::error::run;
use crate::info::check;
use crate::state::require_process;

/// Sizes of memory from MPI_Alloc_mem, by address.
static ALLOCATED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

pub(crate) unsafe fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) -> i32 {
    run("MPI_Alloc_mem", 0, || {
        check(info)?;
        let bytes = usize::try_from(size)
            .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "size", size, "0 or more bytes"))?;
        let memory = require_process()?.allocate_shared(bytes)?;
        ALLOCATED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(memory as usize, bytes);
        // SAFETY: `baseptr` is the address of a pointer (MPI-5.0, section 9.2).
        unsafe { *baseptr.cast::<*mut u8>() = memory };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Free_mem(base: *mut c_void) -> i32 {
    run("MPI_Free_mem", 0, || {
        let bytes = ALLOCATED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&(base as usize));
        let bytes = bytes.ok_or_else(|| {
            Error::argument(
                ErrorClass::ERR_BASE,
                "base",
                format!("{base:p}"),
                "memory from MPI_Alloc_mem",
            )
        })?;
        // SAFETY: allocated by MPI_Alloc_mem with this size; the program says that it is done with it.
        unsafe { require_process()?.release_shared(base.cast(), bytes) };
        Ok(())
    })
}
