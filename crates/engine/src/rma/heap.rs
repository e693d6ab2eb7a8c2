// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the node segment for windows.
#![expect(unsafe_code, reason = "memory that other processes map")]

use super::window::Owned;
use crate::comm::Process;
use crate::errors::Result;

/// Takes zeroed memory that every process of the node can map.
///
/// # Errors
/// MPI_ERR_NO_MEM.
pub(super) fn take(process: &Process, bytes: usize) -> Result<Owned> {
    let address = process.allocate_shared(bytes)?;
    Ok(Owned { address, bytes })
}

/// Gives memory of [`take`] back.
pub(super) fn give_back(process: &Process, owned: Vec<Owned>) {
    for part in owned {
        // SAFETY: from `take`; all members have done with the window.
        unsafe { process.release_shared(part.address, part.bytes) };
    }
}
