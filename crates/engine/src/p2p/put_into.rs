// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts into memory that a process on another node keeps open: the network writes it, and no message tells of them.
#![expect(unsafe_code, reason = "the network reads the memory of programs")]

use std::ptr::NonNull;

use fabric::counters::Counter;
use fabric::transport::{Opening, PutBegun};

use super::send::{Mode, new_send};
use crate::comm::Comm;
use crate::datatype::Memory;
use crate::errors::Result;
use crate::identity::Rank;
use crate::protocol::begin_put;
use crate::request::RequestId;

/// How a put began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PutInto {
    /// This memory cannot be put from.
    No,
    /// A message that is sent from now on arrives after the data. The request is complete when they have left.
    Whole(RequestId),
    /// A message arrives after the data if it is sent when the request is complete.
    InParts(RequestId),
}

/// Puts bytes into memory that a rank has opened.
///
/// # Errors
/// MPI_ERR_NO_MEM.
///
/// # Safety
/// The bytes stay readable and unchanged until the request is complete.
pub(crate) unsafe fn put_into(
    comm: &Comm,
    dest: Rank,
    (start, bytes): (NonNull<u8>, usize),
    target: Opening,
) -> Result<PutInto> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let memory = Memory::contiguous(start.as_ptr(), bytes);
    let word = comm.match_base();
    let index = new_send(state, comm, memory, dest, word, Mode::Standard)?;
    let entry = state.slab.entry_mut(index);
    // No receive is told of the end.
    entry.send_mut().receiver = 0;
    let id = entry.id();
    // SAFETY: the caller's promise; the request is complete when the put has ended.
    let begun = unsafe { begin_put(state, index, (start, bytes), target) };
    let begun = match begun {
        Ok(PutBegun::Whole) => PutInto::Whole(id),
        Ok(PutBegun::InParts) => PutInto::InParts(id),
        Ok(PutBegun::No) => PutInto::No,
        Err(error) => {
            // Every wait fails from now on.
            state.fail(&error);
            PutInto::No
        }
    };
    if begun == PutInto::No {
        state.retire(index);
        return Ok(PutInto::No);
    }
    state.offered += 1;
    state.count(Counter::Puts);
    state.count_many(Counter::BytesSent, bytes as u64);
    Ok(begun)
}
