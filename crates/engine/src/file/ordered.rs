// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses in rank order at the shared file pointer (MPI-5.0, section 14.4.4). Only the pointer is serial: ranks learn where they begin,
//! then access the file at once.

use std::sync::Arc;

use super::access::{self, Access, Action, Moved, prepare};
use super::agree::gather;
use super::data::Data;
use super::object::File;
use super::{report, shared, split};
use crate::errors::Result;
use crate::request::RequestId;

/// Where the access of a rank begins, and its data.
fn begin(
    file: &File,
    action: Action,
    data: Result<Data>,
    call: &'static str,
) -> Result<(u64, Data)> {
    split::check_none(file)?;
    let own = data.and_then(|data| Ok((prepare(file, action, &data)?.1, data)));
    // A rank whose arguments are wrong takes part without data.
    let etypes = own.as_ref().map_or(0, |own| own.0);
    let all = gather(&file.comm, call, &[etypes])?;
    let moved = match file.comm.rank() {
        0 => shared::advance(file, all.iter().sum()),
        _ => Ok(0),
    };
    let word = *moved.as_ref().unwrap_or(&u64::MAX);
    let start = gather(&file.comm, call, &[word])?[0];
    moved?;
    let (_, data) = own?;
    let before: u64 = all[..file.comm.rank() as usize].iter().sum();
    Ok((start.saturating_add(before), data))
}

/// Reads or writes in rank order, at all ranks (MPI_File_read_ordered, MPI_File_write_ordered).
pub fn access_ordered(
    file: &Arc<File>,
    action: Action,
    data: Result<Data>,
    call: &'static str,
) -> Moved {
    let access = begin(file, action, data, call)
        .and_then(|(etype, data)| Access::new(file, action, file.view(), etype, data));
    let moved = match access {
        Ok(access) => access.run_here(file.comm.vci(), &mut || file.comm.vci().poll()),
        Err(error) => Moved::failed(error),
    };
    report::count(file, action, &moved);
    moved
}

/// Begins to do the same.
///
/// # Errors
/// Those of the arguments.
pub(super) fn start(
    file: &Arc<File>,
    action: Action,
    data: Result<Data>,
    call: &'static str,
) -> Result<RequestId> {
    let (etype, data) = begin(file, action, data, call)?;
    access::start_at(file, action, etype, data)
}
