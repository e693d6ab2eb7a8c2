// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes, sync and atomicity (MPI-5.0, sections 14.2.4 to 14.2.6 and 14.6).

use storage::{Fault, Hold};
use sys::sync::Ordering;

use super::agree::{self, Argument};
use super::failure::failed;
use super::object::File;
use super::report;
use crate::errors::{Error, ErrorClass, Result};

/// EINVAL: what the system says to a sync of a device that stores nothing.
const INVALID: Fault = Fault { errno: 22 };

/// Has one rank change the size of the file, as all ask for.
fn change(
    file: &File,
    size: i64,
    call: &'static str,
    what: &str,
    action: impl FnOnce(u64) -> std::result::Result<(), Fault>,
) -> Result<()> {
    agree::same(&file.comm, call, &[Argument::number("size", size)])?;
    file.check_random()?;
    file.check_writes()?;
    let bytes = u64::try_from(size)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, "size", size, "0 or more bytes"))?;
    let acts = file.comm.rank() == 0;
    let fault = acts.then(|| action(bytes).err()).flatten();
    agree::settle_fault(&file.comm, call, fault, what)
}

/// Truncates or extends the file, at all ranks (MPI_File_set_size).
///
/// # Errors
/// MPI_ERR_NOT_SAME, MPI_ERR_ARG, MPI_ERR_UNSUPPORTED_OPERATION, those of the system.
pub fn set_size(file: &File, size: i64, call: &'static str) -> Result<()> {
    let what = format!("set the size to {size} bytes");
    change(file, size, call, &what, |bytes| {
        file.storage.set_size(bytes)
    })
}

/// Has the device space for so many bytes, at all ranks (MPI_File_preallocate).
///
/// # Errors
/// As for [`set_size`].
pub fn preallocate(file: &File, size: i64, call: &'static str) -> Result<()> {
    let what = format!("allocate {size} bytes");
    change(file, size, call, &what, |bytes| {
        file.storage.allocate(bytes)
    })
}

/// Size of the file in bytes (MPI_File_get_size).
///
/// # Errors
/// Those of the system.
pub fn size(file: &File) -> Result<u64> {
    let size = file.storage.size();
    size.map_err(|fault| failed(fault, "find the size of the file"))
}

/// Brings what this rank has written to the device; waits for no other rank (MPI_File_sync).
///
/// # Errors
/// MPI_ERR_IO while accesses are in progress, those of the system.
pub fn sync(file: &File) -> Result<()> {
    file.check_idle()?;
    report::count_sync(file);
    match file.storage.sync() {
        Ok(()) | Err(INVALID) => Ok(()),
        Err(fault) => Err(failed(fault, "bring the file to its device")),
    }
}

/// Has accesses be atomic or not, at all ranks (MPI_File_set_atomicity).
///
/// # Errors
/// MPI_ERR_NOT_SAME; MPI_ERR_UNSUPPORTED_OPERATION where the file system has no locks.
pub fn set_atomicity(file: &File, flag: bool, call: &'static str) -> Result<()> {
    let flags = [Argument::number("flag", i64::from(flag))];
    agree::same(&file.comm, call, &flags)?;
    let hold = match file.mode.writes() {
        true => Hold::Exclusive,
        false => Hold::Shared,
    };
    let tried = match flag {
        // A lock that another one has says that there are locks.
        true => file.storage.try_lock(hold, 0..1).map(drop),
        false => Ok(()),
    };
    let tried = tried.map_err(|fault| {
        let text = format!(
            "atomic accesses need locks, which the file system refuses: {fault}; a mount option may permit them"
        );
        Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text)
    });
    agree::settle(&file.comm, call, tried)?;
    file.is_atomic.store(flag, Ordering::Relaxed);
    Ok(())
}
