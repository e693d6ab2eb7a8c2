// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting a receive: every case, with and without wildcards.

// account: request

use fabric::board::{ANY_TAG, kind as record_kind};

use super::CopiedBy;
use super::arguments::{
    ANY_SOURCE_RANK, ANY_TAG_VALUE, PROC_NULL, check_rank, check_tag, describe, stage,
};
use super::fast::{Posted, post_now, wake_contenders};
use super::promised::NoPromise;
use crate::comm::{COLLECTIVE, Comm};
use crate::datatype::Memory;
use crate::errors::Result;
use crate::identity::{LinkIndex, Rank};
use crate::protocol::{self, kept};
use crate::request::{RequestId, RequestIndex, Role, flag};
use crate::vci::VciState;
use crate::vci::matching::Key;

/// Starts a receive from rank `source` (or any) with `tag` (or any).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_NO_MEM. Truncation is an error of the completed request.
///
/// # Safety
/// The memory stays writable, and is not touched otherwise, until the request is complete.
// TIER: short
#[inline(always)]
pub unsafe fn irecv(comm: &Comm, memory: Memory<'_>, source: i32, tag: i32) -> Result<RequestId> {
    // Before anything of the communicator's own VCI is touched, which may be that of another thread.
    if comm.is_spread() {
        // SAFETY: the caller's promise.
        return unsafe { irecv_on_lane(comm, memory, source, tag) };
    }
    comm.vci().pay_wake();
    if source as u32 >= comm.peers || tag < 0 {
        return irecv_unusual(comm, memory, source, tag);
    }
    let key = Key {
        word: comm.match_base() | tag as u64,
        peer: comm.peer(Rank::new(source as u32)),
    };
    irecv_hinted(comm, memory, key)
}

/// As [`irecv`] on the lane of the tag.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn irecv_on_lane(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
) -> Result<RequestId> {
    let Some(lane) = comm.lane_from(tag, source == ANY_SOURCE_RANK)? else {
        return irecv_unusual(comm, memory, source, tag);
    };
    if memory.layout.is_none() && memory.types.is_none() {
        // SAFETY: the caller's promise.
        match unsafe { post_now::<NoPromise>(lane, memory.base, memory.bytes, source, tag) } {
            Posted::Posted(id) => return Ok(id),
            Posted::PostedWake(id) => {
                wake_contenders(lane);
                return Ok(id);
            }
            Posted::Refused | Posted::Contended | Posted::Unreached => {}
        }
    }
    // SAFETY: the caller's promise.
    unsafe { irecv(lane, memory, source, tag) }
}

/// Starts a receive on a communicator's collective context.
///
/// # Errors
/// MPI_ERR_NO_MEM.
///
/// # Safety
/// As for [`irecv`]; `source` is a valid rank.
pub(crate) unsafe fn irecv_collective(
    comm: &Comm,
    memory: Memory<'_>,
    source: Rank,
    tag: u32,
    copied_by: CopiedBy,
) -> Result<RequestId> {
    let key = Key {
        word: (comm.match_base() + COLLECTIVE) | u64::from(tag),
        peer: comm.peer(source),
    };
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_receive(state, comm, memory)?;
    if copied_by == CopiedBy::Receiver {
        state.slab.entry_mut(index).set(flag::COPIED_BY_RECEIVER);
    }
    post_operation(state, index, key);
    Ok(state.slab.id(index))
}

/// As [`irecv_key`], of a receive of the program, for which the hints of the communicator count.
#[inline(always)]
fn irecv_hinted(comm: &Comm, memory: Memory<'_>, key: Key) -> Result<RequestId> {
    if comm.checks_exact_length() {
        return irecv_exact(comm, memory, key);
    }
    irecv_key(comm, memory, key)
}

/// As [`irecv_key`], of a receive that its message must fill.
#[cold]
#[inline(never)]
fn irecv_exact(comm: &Comm, memory: Memory<'_>, key: Key) -> Result<RequestId> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_receive(state, comm, memory)?;
    state.slab.entry_mut(index).set_exact();
    post_operation(state, index, key);
    Ok(state.slab.id(index))
}

#[inline(always)]
pub(super) fn irecv_key(comm: &Comm, memory: Memory<'_>, key: Key) -> Result<RequestId> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_receive(state, comm, memory)?;
    post_operation(state, index, key);
    Ok(state.slab.id(index))
}

/// Wildcards, MPI_PROC_NULL and errors.
#[cold]
#[inline(never)]
fn irecv_unusual(comm: &Comm, memory: Memory<'_>, source: i32, tag: i32) -> Result<RequestId> {
    if source == PROC_NULL {
        check_tag(tag, true)?;
        let mut guard = comm.vci().enter();
        let state = &mut *guard;
        let index = new_receive(state, comm, memory)?;
        let record = state.slab.record_mut(index);
        (record.peer, record.match_word, record.bytes) = (LinkIndex::NONE, u64::from(ANY_TAG), 0);
        state.complete(index);
        return Ok(state.slab.id(index));
    }
    irecv_hinted(comm, memory, receive_key(comm, source, tag)?)
}

/// The key of a receive or probe, wildcards included.
pub(crate) fn receive_key(comm: &Comm, source: i32, tag: i32) -> Result<Key> {
    check_tag(tag, true)?;
    comm.check_wildcards(source == ANY_SOURCE_RANK, tag == ANY_TAG_VALUE)?;
    let peer = if source == ANY_SOURCE_RANK {
        LinkIndex::ANY
    } else {
        comm.peer(check_rank(comm, "source", source)?)
    };
    let tag = if tag == ANY_TAG_VALUE {
        ANY_TAG
    } else {
        tag as u32
    };
    Ok(Key {
        word: comm.match_base() | u64::from(tag),
        peer,
    })
}

/// A request for a receive; not posted.
#[inline(always)]
pub(crate) fn new_receive(
    state: &mut VciState,
    comm: &Comm,
    memory: Memory<'_>,
) -> Result<RequestIndex> {
    let index = state
        .slab
        .take(Role::Receive, record_kind::RECEIVE_POSTED)?;
    describe(state.slab.entry_mut(index), comm, memory);
    if memory.layout.is_some() {
        stage(state, index, memory)?;
    }
    Ok(index)
}

/// Gives a receive the oldest unexpected message it accepts, or posts it.
#[inline(always)]
pub(crate) fn post_operation(state: &mut VciState, index: RequestIndex, key: Key) {
    if !state.unexpected.is_empty() && post_among_unexpected(state, index, key) {
        return;
    }
    state.slab.record_mut(index).stamp_ms = state.node.now_ms();
    state.posted.post(&mut state.slab, index, key);
    if state.slab.record(index).bytes >= state.node.noted_min_bytes {
        protocol::note_posted(state, index, key);
    }
}

#[inline(never)]
fn post_among_unexpected(state: &mut VciState, index: RequestIndex, key: Key) -> bool {
    match state.unexpected.take(&mut state.slab, key) {
        Some(message) => {
            state.observe_receive(index, key);
            kept::deliver_kept(state, message, index);
            true
        }
        None => false,
    }
}
