// SPDX-License-Identifier: MIT OR Apache-2.0
//! A communicator of this rank alone, on which nothing travels but what this layer measures and compares.

use std::sync::Mutex;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use crate::table::REAL;

/// It, once it was made. A program without MPI_COMM_SELF has none.
static OWN: Mutex<Option<MPI_Comm>> = Mutex::new(None);

/// Whether the program has MPI_COMM_WORLD and MPI_COMM_SELF now: it has called MPI_Init, and not yet MPI_Finalize.
pub(super) fn is_world() -> bool {
    let (mut is_initialised, mut is_finalised) = (0, 0);
    let library = REAL.get();
    // SAFETY: places of this function; both may be called at any time.
    let codes = unsafe {
        [
            (library.MPI_Initialized)(&raw mut is_initialised),
            (library.MPI_Finalized)(&raw mut is_finalised),
        ]
    };
    codes == [mpi::MPI_SUCCESS; 2] && is_initialised != 0 && is_finalised == 0
}

/// The communicator.
pub(super) fn comm() -> Option<MPI_Comm> {
    let mut own = OWN.lock().ok()?;
    if own.is_none() && is_world() {
        let mut made = mpi::MPI_COMM_NULL;
        // Unlike a duplicate it has no attributes of the program.
        // SAFETY: a place of this function; a call of this rank alone.
        let code = unsafe { (REAL.get().MPI_Comm_split)(mpi::MPI_COMM_SELF, 0, 0, &raw mut made) };
        *own = (code == mpi::MPI_SUCCESS).then_some(made);
    }
    *own
}

/// Frees it, before MPI ends.
pub(super) fn free() {
    let own = OWN.lock().ok().and_then(|mut own| own.take());
    if let Some(mut own) = own {
        // SAFETY: made above, and nobody uses it any more.
        unsafe { (REAL.get().MPI_Comm_free)(&raw mut own) };
    }
}
