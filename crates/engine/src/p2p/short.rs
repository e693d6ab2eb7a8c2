// SPDX-License-Identifier: MIT OR Apache-2.0
//! The straight lines: sends of contiguous bytes that are complete when they return, and receives of them, where no other thread
//! is inside MPI and nothing has to be looked at closely. What they refuse, the parent module does.

use std::hint::cold_path;

use fabric::board::kind as record_kind;
use fabric::ring::SHORT_BYTES;
use sys::spin;

use super::{CHECKED, Memory, send_at_once};
use crate::comm::Comm;
use crate::completion;
use crate::errors::Result;
use crate::protocol::{cell, eager};
use crate::request::Status;
use crate::request::{OpIndex, RequestId, Role};
use crate::vci::VciState;
use crate::vci::matching::Key;

/// Messages that are taken without a look at other rings at most.
const IN_A_ROW: u64 = 256;

/// What [`send_short`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// Nothing; [`super::isend`] has to decide.
    NotTaken,
    /// The message is sent.
    Sent,
    /// The message is sent, and the receiver sleeps: call [`wake`].
    SentToSleeper,
}

/// The shortest path: sends contiguous bytes that fit into a cell if the ring has room and no lock is needed. The send is
/// complete when this returns anything but `NotTaken`.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn send_short(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Shortcut {
    // One branch each: merged into one they would cost more instructions.
    if bytes > SHORT_BYTES {
        cold_path();
        return Shortcut::NotTaken;
    }
    if CHECKED && tag < 0 {
        cold_path();
        return Shortcut::NotTaken;
    }
    if dest as u32 >= comm.route.short_ranks {
        cold_path();
        return Shortcut::NotTaken;
    }
    // SAFETY: below `short_ranks` every rank has a link; no other thread is inside MPI (Route::new).
    let link = unsafe { comm.route.link(dest as u32).as_mut() };
    if !link.sender.has_credit() {
        cold_path();
        return Shortcut::NotTaken;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe {
        link.sender
            .put_short(cell::SHORT, comm.match_base() | tag as u64, base, bytes)
    };
    link.short_bytes += bytes as u64;
    if link.needs_doorbell() {
        cold_path();
        Shortcut::SentToSleeper
    } else {
        Shortcut::Sent
    }
}

/// Wakes the receiver of a message that [`send_short`] sent.
#[cold]
#[inline(never)]
pub extern "C" fn wake(comm: &Comm, dest: i32) -> i32 {
    comm.vci.enter().links[comm.peer(dest as u32) as usize].ring_doorbell();
    0
}

/// Sends contiguous bytes that are too many for a cell in one piece, if the ring has room and no lock is needed. The send is complete
/// when this returns true, else nothing was done and [`super::isend`] has to decide.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
#[inline(always)]
pub unsafe fn send_plain(comm: &Comm, base: *const u8, bytes: usize, dest: i32, tag: i32) -> bool {
    if bytes <= SHORT_BYTES || dest as u32 >= comm.route.short_ranks || tag < 0 {
        return false;
    }
    let (peer, word) = (comm.route.peer(dest as u32), comm.match_base() | tag as u64);
    // SAFETY: the caller's promise.
    unsafe { eager::send_plain(&mut comm.vci.enter_unlocked(), peer, word, base, bytes) }
}

/// Takes a message that is there or comes in a moment, without an operation: one of contiguous bytes that lies in the ring as a whole,
/// that no other receive waits for, and that has room in `memory`. `None` when nothing was received and [`super::irecv`] has to decide.
///
/// # Safety
/// The memory is writable.
// TIER: short
#[inline(always)]
pub unsafe fn receive_soon(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
) -> Option<Status> {
    if source as u32 >= comm.route.short_ranks || tag < 0 {
        return None;
    }
    if memory.layout.is_some() || !comm.vci.tasks.is_empty() {
        return None;
    }
    let mut guard = comm.vci.enter_unlocked();
    let key = Key {
        word: comm.match_base() | tag as u64,
        peer: comm.route.peer(source as u32),
    };
    // SAFETY: the caller's promise.
    let bytes = unsafe { take_soon(&mut guard, key, memory, comm.vci.direct_polls()) }?;
    Some(Status {
        source,
        tag,
        bytes,
        ..Status::EMPTY
    })
}

/// Sends a message that can go at once, and does [`receive_soon`]: `None` when nothing was done, `Some(None)` when the message is sent and the
/// other one has not come. Each is memory, rank and tag.
///
/// # Safety
/// The one memory is readable, the other one writable.
#[inline(always)]
pub unsafe fn exchange_soon(
    comm: &Comm,
    send: (Memory<'_>, i32, i32),
    receive: (Memory<'_>, i32, i32),
) -> Option<Option<Status>> {
    let ranks = comm.route.short_ranks;
    // What is wrong with the receive must be said before anything is sent.
    if send.1 as u32 >= ranks || send.2 < 0 || receive.1 as u32 >= ranks || receive.2 < 0 {
        return None;
    }
    let (peer, word) = (
        comm.route.peer(send.1 as u32),
        comm.match_base() | send.2 as u64,
    );
    // SAFETY: the caller's promise.
    if !unsafe { send_at_once(&mut comm.vci.enter_unlocked(), send.0, peer, word) } {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { receive_soon(comm, receive.0, receive.1, receive.2) })
}

/// Takes the next message of the sender that `key` names, if it is the wanted one; its bytes.
#[inline(always)]
unsafe fn take_soon(
    state: &mut VciState,
    key: Key,
    memory: Memory<'_>,
    mut polls: u32,
) -> Option<u64> {
    // What has come before is older, and what others wait for, or ask this rank for, comes in through their rings.
    if !state.unexpected.is_empty() || !state.is_drained() || state.offered != 0 {
        return None;
    }
    // One sender that never pauses must not keep out the others.
    if state.events.is_multiple_of(IN_A_ROW) {
        return None;
    }
    if state.posted.may_want(&state.ops, key) {
        return None;
    }
    let ring = state.ring_from(key.peer)?;
    let incoming = &mut state.incoming[ring];
    let arrival = loop {
        if let Some(arrival) = incoming.ring.peek() {
            break arrival;
        }
        polls = polls.checked_sub(1)?;
        spin::cpu_relax();
    };
    if incoming.ring.match_word() != key.word {
        return None;
    }
    if arrival.kind() != cell::SHORT {
        // SAFETY: the caller's promise.
        return unsafe { eager::take_plain(state, ring, arrival, memory.base, memory.bytes) };
    }
    let bytes = arrival.bytes();
    if bytes > memory.bytes {
        return None;
    }
    // SAFETY: writable (caller) for so many bytes (checked).
    unsafe { incoming.ring.copy_short(memory.base, bytes) };
    incoming.ring.advance();
    incoming.short_bytes += bytes as u64;
    state.took_one(ring);
    Some(bytes as u64)
}

/// The shortest path of a receive that waits: posts it when its arguments are ordinary, nothing unexpected waits, an operation is free
/// and no lock is needed; `None` when nothing was done and [`super::irecv`] has to decide.
///
/// # Safety
/// As for [`super::irecv`], with `base` writable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn post_short(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Option<RequestId> {
    if source as u32 >= comm.route.short_ranks {
        cold_path();
        return None;
    }
    if tag < 0 {
        cold_path();
        return None;
    }
    let mut guard = comm.vci.enter_unlocked();
    let state = &mut *guard;
    if !state.unexpected.is_empty() {
        return None;
    }
    let op = state
        .ops
        .take_free(Role::Receive, record_kind::RECEIVE_POSTED)?;
    op.record.stamp_ms = state.node.now_ms();
    (op.base, op.record.bytes) = (base, bytes as u64);
    // SAFETY: the guard of the communicator's VCI is held.
    op.owner = unsafe { comm.hold_operation() };
    let key = Key {
        word: comm.match_base() | tag as u64,
        peer: comm.route.peer(source as u32),
    };
    let (id, index) = (op.id(), op.index());
    let last = state.posted.post_exact(op, key);
    if last != OpIndex::NONE {
        state.ops.record_mut(last).next = index.0;
    }
    Some(id)
}

/// Waits for a receive that [`post_short`] has posted; `call` is the MPI call that waits.
///
/// # Errors
/// MPI_ERR_TRUNCATE; MPI_ERR_INTERN when a peer broke the protocol.
#[inline(always)]
pub fn receive_posted(comm: &Comm, id: RequestId, call: &'static str) -> Result<Status> {
    let index = OpIndex(id.0 as u32);
    match completion::wait_received_at(comm.vci, index, call)? {
        Some(status) => Ok(status),
        None => completion::take_outcome(&mut comm.vci.enter_unlocked(), index),
    }
}
