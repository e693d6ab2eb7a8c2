// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast paths of sends and receives.
//!
//! A send tries three stages; each passes its decoded arguments to the next. [`inject`] is inlined into the caller: up to
//! [`INJECT_BYTES`] contiguous bytes, a linear rank map, no lock. [`send_now`] does the same and eager messages under any lock
//! policy and rank map. [`super::isend`] serves every other send. Receives have the same stages: [`post`], [`post_now`],
//! [`super::irecv`]. [`receive_soon`] takes a message that is in the ring, or arrives in a moment, without a request.

use std::hint::cold_path;
use std::ptr::NonNull;

use fabric::board::kind as record_kind;
use fabric::ring::INJECT_BYTES;
use sys::spin::cpu_relax;

use super::{CHECKED, Memory, send_at_once};
use crate::comm::Comm;
use crate::completion;
use crate::errors::Result;
use crate::progress::Vci;
use crate::protocol::{cell, eager, inject as injection};
use crate::request::{RequestId, RequestIndex, Role, Status};
use crate::vci::VciState;
use crate::vci::link::Link;
use crate::vci::matching::Key;

/// Messages that are taken from one ring in a row before the other rings are polled again.
const IN_A_ROW: u64 = 256;

/// The result of a fast stage of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Nothing was done; the next stage has to decide.
    Refused,
    /// The message is sent.
    Sent,
    /// The message is sent; call [`wake`], because its receiver or another thread sleeps.
    SentWake,
}

/// The result of [`post_now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// Nothing was done; [`super::irecv`] has to decide.
    Refused,
    /// It is posted.
    Posted(RequestId),
    /// It is posted; call [`wake_contenders`].
    PostedWake(RequestId),
}

/// Stage one: sends contiguous bytes that fit into a cell, below MPI_THREAD_MULTIPLE, on a communicator with a linear rank map.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn inject(comm: &Comm, base: *const u8, bytes: usize, dest: i32, tag: i32) -> Injected {
    // One branch each: merged into one they would cost more instructions.
    if bytes > INJECT_BYTES {
        cold_path();
        return Injected::Refused;
    }
    if CHECKED && tag < 0 {
        cold_path();
        return Injected::Refused;
    }
    if dest as u32 >= comm.route().unlocked_ranks {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: below `unlocked_ranks` every rank has a link; no other thread is inside MPI (Route::new).
    let link = unsafe { comm.route().link(dest as u32).as_mut() };
    if !link.sender.has_credit() {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe { injection::write(link, comm.match_base() | tag as u64, base, bytes) };
    if link.needs_doorbell() {
        cold_path();
        Injected::SentWake
    } else {
        Injected::Sent
    }
}

/// Stage two: as [`inject`] at every thread level and with every rank map. The caller passes a refused send to [`super::isend`].
///
/// It ends in a jump, not a call, so that the caller needs no stack frame.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn send_now(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    if bytes > INJECT_BYTES || tag < 0 {
        cold_path();
        return Injected::Refused;
    }
    let rank = dest as u32;
    // One copy of the code for each kind of rank map: a linear one needs neither table nor bounds.
    // SAFETY: ranks of a communicator are ranks of the job, and there is a link for each; the rest is the caller's promise.
    unsafe {
        if rank < comm.route().linear_ranks {
            return inject_inside(comm, base, bytes, tag, || comm.route().link(rank));
        }
        if rank < comm.route().fast_ranks {
            let link = || comm.vci().first_link().add(comm.peer(rank) as usize);
            return inject_inside(comm, base, bytes, tag, link);
        }
    }
    cold_path();
    Injected::Refused
}

/// Enters the VCI if it is free, and injects a message.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`; `link_of` gives a link of this communicator's VCI.
#[inline(always)]
unsafe fn inject_inside(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    tag: i32,
    link_of: impl FnOnce() -> NonNull<Link>,
) -> Injected {
    let Some(guard) = comm.vci().try_enter() else {
        return Injected::Refused;
    };
    // SAFETY: a link of this VCI (caller), which nobody else refers to before the guard is left.
    let link = unsafe { link_of().as_mut() };
    if !link.sender.has_credit() {
        cold_path();
        guard.leave_owing();
        return Injected::Refused;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe { injection::write(link, comm.match_base() | tag as u64, base, bytes) };
    #[cfg(feature = "ablate-requests")]
    crate::request::ablation::use_complete_request();
    let must_ring = link.needs_doorbell();
    if guard.leave() | must_ring {
        cold_path();
        Injected::SentWake
    } else {
        Injected::Sent
    }
}

/// As [`send_now`], of contiguous bytes that do not fit into a cell; false when nothing was done.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
#[inline(always)]
pub unsafe fn send_eager(comm: &Comm, base: *const u8, bytes: usize, dest: i32, tag: i32) -> bool {
    if bytes <= INJECT_BYTES || dest as u32 >= comm.route().fast_ranks || tag < 0 {
        return false;
    }
    let (peer, word) = (comm.peer(dest as u32), comm.match_base() | tag as u64);
    let source = eager::Source::Contiguous(base);
    // SAFETY: the caller's promise.
    unsafe { eager::send(&mut comm.vci().enter(), peer, word, source, bytes) }
}

/// Wakes the receiver of a message that went by [`Injected::SentWake`], and threads that wait for the VCI.
#[cold]
#[inline(never)]
pub extern "C" fn wake(comm: &Comm, dest: i32) -> i32 {
    if comm.vci().is_threaded() {
        comm.vci().wake_contenders();
    }
    comm.vci().enter().links[comm.peer(dest as u32) as usize].ring_doorbell();
    0
}

/// Takes a message that is in the ring or arrives in a moment, without a request. The message must be contiguous, lie in the ring as a
/// whole, match no posted receive, and fit into `memory`. `None` when nothing was received and [`super::irecv`] has to decide.
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
    if source as u32 >= comm.route().fast_ranks || tag < 0 {
        return None;
    }
    if memory.layout.is_some() || !comm.vci().has_no_tasks() {
        return None;
    }
    let mut guard = comm.vci().enter();
    let key = Key {
        word: comm.match_base() | tag as u64,
        peer: comm.peer(source as u32),
    };
    // SAFETY: the caller's promise.
    let bytes = unsafe { take_soon(comm.vci(), &mut guard, key, memory) }?;
    Some(Status {
        source,
        tag,
        bytes,
        ..Status::EMPTY
    })
}

/// Sends a message by a fast path, then calls [`receive_soon`]: `None` when nothing was done, `Some(None)` when the message is sent and
/// none was received. Each argument is memory, rank and tag.
///
/// # Safety
/// The one memory is readable, the other one writable.
#[inline(always)]
pub unsafe fn exchange_soon(
    comm: &Comm,
    send: (Memory<'_>, i32, i32),
    receive: (Memory<'_>, i32, i32),
) -> Option<Option<Status>> {
    let ranks = comm.route().fast_ranks;
    // Errors of the receive must be returned before anything is sent.
    if send.1 as u32 >= ranks || send.2 < 0 || receive.1 as u32 >= ranks || receive.2 < 0 {
        return None;
    }
    let (peer, word) = (comm.peer(send.1 as u32), comm.match_base() | send.2 as u64);
    // SAFETY: the caller's promise.
    if !unsafe { send_at_once(&mut comm.vci().enter(), send.0, peer, word) } {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { receive_soon(comm, receive.0, receive.1, receive.2) })
}

/// Takes the next message of the sender that `key` names, if `key` matches it; returns its length.
#[inline(always)]
unsafe fn take_soon(vci: &Vci, state: &mut VciState, key: Key, memory: Memory<'_>) -> Option<u64> {
    // Earlier unexpected messages are older, and the other rings hold messages that other calls and ranks wait for.
    if !state.unexpected.is_empty() || !state.is_drained() || state.offered != 0 {
        return None;
    }
    // A sender that never pauses must not keep the other rings from being polled.
    if state.events.is_multiple_of(IN_A_ROW) {
        return None;
    }
    if state.posted.may_want(&state.slab, key) {
        return None;
    }
    let ring = state.ring_from(key.peer)?;
    let incoming = &mut state.incoming[ring];
    let mut polls = vci.direct_polls();
    let arrival = loop {
        if let Some(arrival) = incoming.ring.peek() {
            break arrival;
        }
        polls = polls.checked_sub(1)?;
        if vci.is_contended() {
            return None;
        }
        cpu_relax();
    };
    if incoming.ring.match_word() != key.word {
        return None;
    }
    if arrival.kind() != cell::INJECT {
        // SAFETY: the caller's promise.
        return unsafe {
            eager::take_untyped_eager(state, ring, arrival, memory.base, memory.bytes)
        };
    }
    let bytes = arrival.bytes();
    if bytes > memory.bytes {
        return None;
    }
    // SAFETY: writable (caller) for so many bytes (checked).
    unsafe { incoming.ring.copy_injected(memory.base, bytes) };
    incoming.ring.advance();
    incoming.injected_bytes += bytes as u64;
    state.took_one(ring);
    Some(bytes as u64)
}

/// Stage one of a receive: posts it below MPI_THREAD_MULTIPLE on a communicator with a linear rank map, when nothing unexpected
/// waits and an entry of the slab is free; `None` when nothing was done and [`post_now`] has to decide.
///
/// # Safety
/// As for [`super::irecv`], with `base` writable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn post(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Option<RequestId> {
    if source as u32 >= comm.route().unlocked_ranks {
        cold_path();
        return None;
    }
    if tag < 0 {
        cold_path();
        return None;
    }
    let mut guard = comm.vci().enter_unlocked();
    // SAFETY: passed on.
    unsafe {
        post_in(
            &mut guard,
            comm,
            base,
            bytes,
            |rank| comm.route().peer(rank),
            (source, tag),
        )
    }
}

/// Stage two of a receive: as [`post`], at every thread level and with every rank map.
///
/// # Safety
/// As for [`post`].
// TIER: short
#[inline(always)]
pub unsafe fn post_now(comm: &Comm, base: *mut u8, bytes: usize, source: i32, tag: i32) -> Posted {
    let rank = source as u32;
    if tag < 0 {
        cold_path();
        return Posted::Refused;
    }
    if rank < comm.route().linear_ranks {
        // SAFETY: passed on.
        return unsafe {
            post_inside(
                comm,
                base,
                bytes,
                |rank| comm.route().peer(rank),
                (source, tag),
            )
        };
    }
    if rank < comm.route().fast_ranks {
        // SAFETY: passed on.
        return unsafe { post_inside(comm, base, bytes, |rank| comm.peer(rank), (source, tag)) };
    }
    cold_path();
    Posted::Refused
}

/// Enters the VCI if it is free, and posts a receive.
///
/// # Safety
/// As for [`post`].
#[inline(always)]
unsafe fn post_inside(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    peer_of: impl Fn(u32) -> u32,
    envelope: (i32, i32),
) -> Posted {
    let Some(mut guard) = comm.vci().try_enter() else {
        return Posted::Refused;
    };
    // SAFETY: passed on.
    match unsafe { post_in(&mut guard, comm, base, bytes, peer_of, envelope) } {
        None => {
            cold_path();
            guard.leave_owing();
            Posted::Refused
        }
        Some(id) if guard.leave() => {
            cold_path();
            Posted::PostedWake(id)
        }
        Some(id) => Posted::Posted(id),
    }
}

/// Wakes the threads that wait for a VCI, after [`Posted::PostedWake`].
#[cold]
#[inline(never)]
pub extern "C" fn wake_contenders(comm: &Comm) -> i32 {
    comm.vci().wake_contenders();
    0
}

#[inline(always)]
unsafe fn post_in(
    state: &mut VciState,
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    peer_of: impl Fn(u32) -> u32,
    (source, tag): (i32, i32),
) -> Option<RequestId> {
    if !state.unexpected.is_empty() {
        return None;
    }
    let entry = state
        .slab
        .take_free(Role::Receive, record_kind::RECEIVE_POSTED)?;
    entry.record.stamp_ms = state.node.now_ms();
    (entry.base, entry.record.bytes) = (base, bytes as u64);
    // SAFETY: the guard of the communicator's VCI is held.
    entry.owner = unsafe { comm.hold_operation() };
    let key = Key {
        word: comm.match_base() | tag as u64,
        peer: peer_of(source as u32),
    };
    let (id, index) = (entry.id(), entry.index());
    let last = state.posted.post_exact(entry, key);
    if last != RequestIndex::NONE {
        state.slab.record_mut(last).next = index.0;
    }
    Some(id)
}

/// Waits for a receive that [`post`] or [`post_now`] has posted; `call` is the MPI call that waits.
///
/// # Errors
/// MPI_ERR_TRUNCATE; MPI_ERR_INTERN when a peer broke the protocol.
#[inline(always)]
pub fn receive_posted(comm: &Comm, id: RequestId, call: &'static str) -> Result<Status> {
    let index = RequestIndex(id.0 as u32);
    match completion::wait_received_at(comm.vci(), index, call)? {
        Some(status) => Ok(status),
        None => completion::take_outcome(&mut comm.vci().enter(), index),
    }
}
