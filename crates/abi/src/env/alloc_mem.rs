// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for messages (MPI-5.0, section 9.2).

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use engine::device::{self, GpuMemory, MEMORY_KEY};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_INFO_NULL;
use mpi_abi_sys::types::{MPI_Aint, MPI_Info};

use crate::error::run;
use crate::handle::INFOS;
use crate::state::require_process;

/// Memory from MPI_Alloc_mem.
enum Allocated {
    /// Memory of the node segment, with its length in bytes.
    Shared(usize),
    /// Memory of a GPU.
    OnGpu(GpuMemory),
}

/// Memory from MPI_Alloc_mem, by address.
static ALLOCATED: Mutex<BTreeMap<usize, Allocated>> = Mutex::new(BTreeMap::new());

/// Memory as an info object asks for it.
fn allocate(bytes: usize, info: MPI_Info) -> Result<(*mut u8, Allocated)> {
    let requested = match info {
        MPI_INFO_NULL => None,
        _ => INFOS.find(info, "info")?.get(MEMORY_KEY),
    };
    if let Some(memory) = requested.and_then(|value| device::allocate_as(&value, bytes)) {
        return Ok((memory.address(), Allocated::OnGpu(memory)));
    }
    let memory = require_process()?.allocate_shared(bytes)?;
    Ok((memory, Allocated::Shared(bytes)))
}

pub(crate) unsafe fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) -> i32 {
    run("MPI_Alloc_mem", 0, || {
        let bytes = usize::try_from(size)
            .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "size", size, "0 or more bytes"))?;
        let (memory, allocated) = allocate(bytes, info)?;
        ALLOCATED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(memory as usize, allocated);
        // SAFETY: `baseptr` is the address of a pointer (MPI-5.0, section 9.2).
        unsafe { *baseptr.cast::<*mut u8>() = memory };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Free_mem(base: *mut c_void) -> i32 {
    run("MPI_Free_mem", 0, || {
        let allocated = ALLOCATED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&(base as usize));
        let allocated = allocated.ok_or_else(|| {
            Error::argument(
                ErrorClass::ERR_BASE,
                "base",
                format!("{base:p}"),
                "memory from MPI_Alloc_mem",
            )
        })?;
        match allocated {
            // SAFETY: allocated by MPI_Alloc_mem with this size; the program says that it is done with it.
            Allocated::Shared(bytes) => unsafe {
                require_process()?.release_shared(base.cast(), bytes);
            },
            Allocated::OnGpu(memory) => drop(memory),
        }
        Ok(())
    })
}
