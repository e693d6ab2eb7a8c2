// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file pointer of a rank (MPI-5.0, section 14.4.3).

use sys::sync::Ordering;

use super::failure::failed;
use super::object::File;
use super::view::View;
use crate::errors::{Error, ErrorClass, Result};

/// Where a seek counts from; the numbers are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Whence {
    /// The pointer (MPI_SEEK_CUR).
    Current = 401,
    /// The end of the file (MPI_SEEK_END).
    End = 402,
    /// The begin of the view (MPI_SEEK_SET).
    Set = 403,
}

impl Whence {
    /// The one with a number.
    ///
    /// # Errors
    /// MPI_ERR_ARG.
    pub fn new(whence: i32) -> Result<Self> {
        let all = [Self::Current, Self::End, Self::Set];
        let found = all.into_iter().find(|&it| it as i32 == whence);
        found.ok_or_else(|| {
            let expected = "MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END";
            Error::argument(ErrorClass::ERR_ARG, "whence", whence, expected)
        })
    }
}

/// The etypes of a view before the end of the file.
pub(super) fn end_of(file: &File, view: &View) -> Result<u64> {
    let size = file.storage.size();
    let size = size.map_err(|fault| failed(fault, "find the size of the file"))?;
    view.etypes_before(size)
}

/// Where a seek leads.
pub(super) fn target_of(
    file: &File,
    view: &View,
    offset: i64,
    whence: Whence,
    current: impl FnOnce() -> Result<u64>,
) -> Result<u64> {
    let from = match whence {
        Whence::Set => 0,
        Whence::Current => current()?,
        Whence::End => end_of(file, view)?,
    };
    let target = i64::try_from(from)
        .ok()
        .and_then(|from| from.checked_add(offset));
    let target = target.and_then(|target| u64::try_from(target).ok());
    target.ok_or_else(|| {
        let expected = format!("a place in the view: it counts from etype {from}");
        Error::argument(ErrorClass::ERR_ARG, "offset", offset, expected)
    })
}

/// Moves the pointer (MPI_File_seek).
///
/// # Errors
/// MPI_ERR_ARG, MPI_ERR_UNSUPPORTED_OPERATION.
pub fn seek(file: &File, offset: i64, whence: Whence) -> Result<()> {
    file.check_random()?;
    let view = file.view();
    let target = target_of(file, &view, offset, whence, || Ok(position_of(file)))?;
    file.pointer.store(target, Ordering::Relaxed);
    Ok(())
}

fn position_of(file: &File) -> u64 {
    file.pointer.load(Ordering::Relaxed)
}

/// Where the pointer is, in etypes (MPI_File_get_position).
///
/// # Errors
/// MPI_ERR_UNSUPPORTED_OPERATION.
pub fn position(file: &File) -> Result<u64> {
    file.check_random()?;
    Ok(position_of(file))
}
