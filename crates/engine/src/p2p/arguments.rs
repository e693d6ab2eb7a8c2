// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks, tags and memory as arguments of sends and receives.

// account: argument-checks

use crate::comm::Comm;
use crate::datatype::{Memory, Types};
use crate::device::Staged;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::Rank;
use crate::request::{RequestEntry, RequestIndex, flag};
use crate::vci::VciState;

/// MPI_ANY_SOURCE.
pub const ANY_SOURCE_RANK: i32 = -1;
/// MPI_ANY_TAG.
pub const ANY_TAG_VALUE: i32 = -2;
/// MPI_PROC_NULL.
pub const PROC_NULL: i32 = -3;
/// Largest tag (attribute MPI_TAG_UB).
pub const TAG_UPPER_BOUND: i32 = i32::MAX;

/// Whether the fast paths check their arguments; the slow path always does.
pub const CHECKED: bool = cfg!(not(feature = "unchecked"));

/// A rank of the communicator that can be addressed.
pub(crate) fn check_rank(comm: &Comm, argument: &'static str, rank: i32) -> Result<Rank> {
    if (rank as u32) < comm.peers {
        return Ok(Rank::new(rank as u32));
    }
    let wild = if argument == "source" {
        ", MPI_ANY_SOURCE"
    } else {
        ""
    };
    let expected = format!("0..{}{wild} or MPI_PROC_NULL", comm.peers as i32 - 1);
    Err(comm.annotate(Error::argument(
        ErrorClass::ERR_RANK,
        argument,
        rank,
        expected,
    )))
}

pub(crate) fn check_tag(tag: i32, any_allowed: bool) -> Result<()> {
    if tag >= 0 || (any_allowed && tag == ANY_TAG_VALUE) {
        return Ok(());
    }
    let wild = if any_allowed { " or MPI_ANY_TAG" } else { "" };
    Err(Error::argument(
        ErrorClass::ERR_TAG,
        "tag",
        tag,
        format!("0..{TAG_UPPER_BOUND}{wild}"),
    ))
}

/// Fills in the fields that sends and receives have in common.
#[inline(always)]
pub(super) fn describe(entry: &mut RequestEntry, comm: &Comm, memory: Memory<'_>) {
    entry.base = memory.base;
    entry.record.bytes = memory.bytes as u64;
    // SAFETY: callers hold the guard of the communicator's VCI (they have its state).
    entry.owner = unsafe { comm.hold_operation() };
    if let Some((layout, count)) = memory.layout {
        entry.extra.get_or_insert_default().layout = Some((layout.clone(), count));
    }
    if let Some(types) = memory.types {
        entry.record.flags |= flag::TYPED;
        entry.extra.get_or_insert_default().types = Some(Types::new(types));
    }
}

/// Adds a staging buffer to a request whose memory is a GPU's.
#[inline(never)]
pub(super) fn stage(state: &mut VciState, index: RequestIndex, memory: Memory<'_>) -> Result<()> {
    match Staged::of(memory) {
        Ok(None) => {}
        Ok(staged) => {
            state
                .slab
                .entry_mut(index)
                .extra
                .get_or_insert_default()
                .staged = staged
        }
        Err(error) => {
            state.retire(index);
            return Err(error);
        }
    }
    Ok(())
}
