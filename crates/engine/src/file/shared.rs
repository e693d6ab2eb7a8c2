// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared file pointer (MPI-5.0, section 14.4.4): a word of the file's window at rank 0, in etypes. There is no hidden file.
#![expect(unsafe_code, reason = "elements of the window are named by addresses")]

use super::agree::{self, Argument};
use super::object::File;
use super::pointer::{Whence, target_of};
use crate::datatype::predefined::{self, Predefined};
use crate::errors::{Error, ErrorClass, Result};
use crate::op::Operator;
use crate::rma::{self, passive};

/// Applies an operation to the pointer; returns what it was.
fn exchange(file: &File, operator: Operator, value: u64) -> Result<u64> {
    let Some(row) = Predefined::find(predefined::UINT64_T) else {
        let text = "there is no MPI_UINT64_T";
        return Err(Error::new(ErrorClass::ERR_INTERN, text));
    };
    let mut old = 0u64;
    let (origin, result) = ((&raw const value).cast::<u8>(), (&raw mut old).cast::<u8>());
    // SAFETY: both are words of this function, which flushes before it returns.
    unsafe {
        rma::fetch_and_op(&file.window, origin, result, row.datatype(), 0, 0, operator)?;
    }
    passive::flush(&file.window, 0)?;
    Ok(old)
}

/// Moves the pointer; returns where it was.
pub(super) fn advance(file: &File, etypes: u64) -> Result<u64> {
    exchange(file, Operator::Sum, etypes)
}

/// Sets the pointer. One rank does.
pub(super) fn set(file: &File, position: u64) -> Result<()> {
    exchange(file, Operator::Replace, position).map(drop)
}

/// Where the pointer is, in etypes (MPI_File_get_position_shared).
///
/// # Errors
/// Those of the messages.
pub fn position(file: &File) -> Result<u64> {
    exchange(file, Operator::NoOp, 0)
}

/// Sets the pointer, at all ranks (MPI_File_seek_shared).
///
/// # Errors
/// MPI_ERR_NOT_SAME, MPI_ERR_ARG.
pub fn seek(file: &File, offset: i64, whence: Result<Whence>, call: &'static str) -> Result<()> {
    let comm = &file.comm;
    let number = whence.as_ref().map_or(-1, |&whence| whence as i64);
    let arguments = [
        Argument::number("offset", offset),
        Argument::number("whence", number),
    ];
    agree::same(comm, call, &arguments)?;
    let mut done = whence.and_then(|whence| {
        let view = file.view();
        target_of(file, &view, offset, whence, || position(file))
    });
    // Nobody sets it while others still ask where it is.
    agree::barrier(comm, call)?;
    if comm.rank() == 0 {
        done = done.and_then(|target| set(file, target).map(|()| target));
    }
    agree::settle(comm, call, done).map(drop)
}
