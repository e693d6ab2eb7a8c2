// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the layer knows of the MPI library: its file, and its own `MPIX_Comm_create_endpoints`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mpi_abi_sys::types::*;

/// The prototype of MPIX_Comm_create_endpoints.
pub(super) type Create = unsafe extern "C" fn(MPI_Comm, i32, MPI_Info, *mut MPI_Comm) -> i32;

/// The library.
pub(super) struct Known {
    /// Its file.
    pub(super) path: PathBuf,
    /// Its own function, if it has it.
    pub(super) create: Option<Create>,
}

static LIBRARY: OnceLock<Known> = OnceLock::new();

/// Notes the file of the library, and the address of its `MPIX_Comm_create_endpoints`.
///
/// # Safety
/// An address is that of a function with this prototype.
pub(crate) unsafe fn know(path: &Path, create: Option<*const ()>) {
    // SAFETY: the caller's promise.
    let create = create.map(|address| unsafe { std::mem::transmute::<*const (), Create>(address) });
    let path = path.to_owned();
    // Only the first call of all comes here.
    drop(LIBRARY.set(Known { path, create }));
}

/// The library, once it is open.
pub(super) fn library() -> Option<&'static Known> {
    LIBRARY.get()
}
