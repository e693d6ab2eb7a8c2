// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent requests (MPI-5.0, section 3.9): an operation described once and started many times.

// account: request

use std::ptr::NonNull;

use fabric::board::kind as record_kind;

use super::send::poll_for_offers;
use super::{
    ANY_SOURCE_RANK, Memory, Mode, PROC_NULL, check_rank, check_tag, new_receive, new_send,
    post_operation, receive_key, send_at_once,
};
use crate::comm::Comm;
use crate::completion;
use crate::errors::Result;
use crate::identity::{LinkIndex, Rank};
use crate::progress::{Guard, Vci};
use crate::protocol;
use crate::request::{RequestEntry, RequestId, RequestIndex, Role, Template, flag};
use crate::task::{Started, go_on};
use crate::vci::matching::Key;

/// Describes a send that [`start`] starts.
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_NO_MEM.
///
/// # Safety
/// The memory stays valid while the request exists, and unchanged while it is active.
pub unsafe fn send_init(
    comm: &Comm,
    memory: Memory<'_>,
    dest: i32,
    tag: i32,
    mode: Mode,
) -> Result<RequestId> {
    check_tag(tag, false)?;
    let lane = comm.lane_to(tag)?.filter(|_| mode != Mode::Buffered);
    let comm = lane.unwrap_or(comm);
    let nowhere = dest == PROC_NULL;
    let dest = if nowhere {
        Rank::new(0)
    } else {
        check_rank(comm, "dest", dest)?
    };
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_send(
        state,
        comm,
        memory,
        dest,
        comm.match_base() | tag as u64,
        mode,
    )?;
    state.slab.record_mut(index).kind = record_kind::INACTIVE;
    let entry = state.slab.entry_mut(index);
    entry.record.flags |= flag::PERSISTENT;
    if mode == Mode::Buffered {
        entry.record.flags |= flag::BUFFERED;
    }
    if nowhere {
        entry.send_mut().target = LinkIndex::NONE;
    }
    Ok(state.slab.id(index))
}

/// Describes a receive that [`start`] starts.
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_NO_MEM.
///
/// # Safety
/// The memory stays valid while the request exists, and is not touched while it is active.
pub unsafe fn recv_init(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
) -> Result<RequestId> {
    let comm = comm
        .lane_from(tag, source == ANY_SOURCE_RANK)?
        .unwrap_or(comm);
    let key = if source == PROC_NULL {
        check_tag(tag, true)?;
        Key {
            word: 0,
            peer: LinkIndex::NONE,
        }
    } else {
        receive_key(comm, source, tag)?
    };
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_receive(state, comm, memory)?;
    state.slab.record_mut(index).kind = record_kind::INACTIVE;
    let entry = state.slab.entry_mut(index);
    entry.record.flags |= flag::PERSISTENT;
    if comm.checks_exact_length() {
        entry.set_exact();
    }
    let template = Template {
        match_word: key.word,
        peer: key.peer,
        capacity: entry.record.bytes,
    };
    entry.extra.get_or_insert_default().template = Some(template);
    Ok(state.slab.id(index))
}

/// Starts a persistent request.
///
/// # Errors
/// MPI_ERR_REQUEST when it is not persistent or active already.
pub fn start(vci: &Vci, id: RequestId) -> Result<()> {
    if !vci.is_threaded() && start_at_once(vci, id).is_some() {
        return Ok(());
    }
    let vci = vci.of(id);
    let _entered = completion::enter_one(vci, id, "MPI_Start")?;
    let mut guard = vci.enter();
    let state = &mut *guard;
    let Some(index) = state.slab.find(id) else {
        return Err(completion::not_startable(state, id));
    };
    let entry = state.slab.entry_mut(index);
    if !entry.has(flag::PERSISTENT) || entry.record.kind != record_kind::INACTIVE {
        return Err(completion::not_startable(state, id));
    }
    entry.error = 0;
    entry.record.flags &= !flag::CANCELLED;
    if entry.role() == Role::Partitioned {
        return super::partitioned::start(vci, guard, index);
    }
    if entry.role() == Role::Task {
        drop(guard);
        start_collective(vci, id);
        return Ok(());
    }
    if entry.role() == Role::Receive {
        let template = entry.extra.as_ref().and_then(|extra| extra.template);
        let Some(Template {
            match_word: word,
            peer,
            capacity,
        }) = template
        else {
            return Err(completion::not_startable(state, id));
        };
        if peer == LinkIndex::NONE {
            let record = state.slab.record_mut(index);
            (record.peer, record.match_word, record.bytes) =
                (LinkIndex::NONE, u64::from(fabric::board::ANY_TAG), 0);
            state.complete(index);
        } else {
            let record = state.slab.record_mut(index);
            (record.kind, record.bytes) = (record_kind::RECEIVE_POSTED, capacity);
            post_operation(state, index, Key { word, peer });
        }
        return Ok(());
    }
    if entry.send().target == LinkIndex::NONE {
        state.complete(index);
        return Ok(());
    }
    if entry.has(flag::BUFFERED) {
        return start_buffered(vci, guard, index);
    }
    let entry = state.slab.entry_mut(index);
    if entry.record.flags == flag::PERSISTENT && entry.extra.is_none() {
        let memory = Memory::contiguous(entry.base, entry.record.bytes as usize);
        let (peer, word) = (entry.send().target, entry.record.match_word);
        // SAFETY: the memory of a started send is readable (contract of the request).
        if unsafe { send_at_once(state, memory, peer, word) } {
            state.complete(index);
            return Ok(());
        }
    }
    state.slab.record_mut(index).kind = record_kind::SEND_ACTIVE;
    poll_for_offers(state, index);
    let started = protocol::start_send(state, index);
    if started.is_err() {
        // Nothing is in progress, so no call may wait for it.
        state.slab.record_mut(index).kind = record_kind::INACTIVE;
    }
    started
}

/// The states of a persistent collective.
const INACTIVE: u32 = RequestEntry::planned_state_of(record_kind::INACTIVE);
const COMPLETE: u32 = RequestEntry::planned_state_of(record_kind::COMPLETE);

/// Starts a persistent collective; `None` if the request is another one, about which nothing is done. Below MPI_THREAD_MULTIPLE only.
// TIER: short
#[inline(always)]
pub fn start_at_once(vci: &Vci, id: RequestId) -> Option<Started> {
    let entry = NonNull::from(vci.enter_unlocked().slab.named(id)?);
    // SAFETY: entries never move, and nobody refers to this one.
    unsafe {
        if entry.as_ref().state() != INACTIVE {
            return None;
        }
        // A planned entry has one (`flag::PLANNED`); it says how far it comes.
        let start = entry.as_ref().task().start.unwrap_unchecked();
        Some(start(entry))
    }
}

/// Ends a persistent collective that is complete without an error, as most are when they are waited for; false if the request is
/// another one, about which nothing is done. Below MPI_THREAD_MULTIPLE only.
// TIER: short
#[inline(always)]
pub fn end_at_once(vci: &Vci, id: RequestId) -> bool {
    let mut guard = vci.enter_unlocked();
    let Some(entry) = guard.slab.named(id) else {
        return false;
    };
    if entry.state() != COMPLETE {
        return false;
    }
    entry.record.kind = record_kind::INACTIVE;
    true
}

/// Starts a collective by its plan.
fn start_collective(vci: &Vci, id: RequestId) {
    let mut guard = vci.enter();
    if let Some(index) = guard.slab.find(id) {
        let stamp = guard.node.now_ms();
        let record = guard.slab.record_mut(index);
        (record.kind, record.stamp_ms) = (record_kind::COLLECTIVE, stamp);
    }
    drop(guard);
    go_on(vci, id, None);
}

/// The message is sent from a copy, by an operation of its own.
fn start_buffered(vci: &Vci, mut guard: Guard<'_>, index: RequestIndex) -> Result<()> {
    let state = &mut *guard;
    let entry = state.slab.entry_mut(index);
    let (owner, target, base, bytes) = (
        entry.owner,
        entry.send().target,
        entry.base,
        entry.record.bytes as usize,
    );
    let tag = state.slab.record(index).match_word as u32 as i32;
    let extra = state.slab.entry(index).extra.as_ref();
    let layout = extra.and_then(|extra| extra.layout.clone());
    let types = extra.and_then(|extra| Some(extra.types.as_ref()?.parts()));
    drop(guard);
    // SAFETY: the communicator lives while this persistent request counts as pending on it.
    let comm = unsafe { Comm::of_owner(owner) };
    let dest = Rank::new(comm.rank_of_peer(target) as u32);
    let layout = layout.as_ref().map(|(layout, count)| (layout, *count));
    super::buffered::isend(
        comm,
        Memory {
            base,
            bytes,
            layout,
            types: types.as_ref().map(|(typed, count)| (typed, *count)),
        },
        dest,
        tag,
    )?;
    vci.enter().complete(index);
    Ok(())
}
