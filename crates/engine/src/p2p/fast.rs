// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast paths of sends and receives.
//!
//! A send tries stages; each passes its decoded arguments to the next. [`inject`] is inlined into the caller: up to
//! [`INJECT_BYTES`] contiguous bytes, a linear rank map, no lock. Where it does not reach the rank, [`inject_locked`] does the same
//! with a lock or a table. [`send_eager`] takes longer messages, [`super::isend`] everything. Receives have the same stages:
//! [`post`], [`post_locked`], [`super::irecv`]. [`receive_soon`] takes a message that is in the ring, or arrives in a moment, without
//! a request.

use std::hint::cold_path;
use std::ptr::NonNull;

use fabric::board::kind as record_kind;
use fabric::ring::INJECT_BYTES;
use sys::spin::cpu_relax;

use super::arguments::CHECKED;
use super::send::send_at_once;
use crate::comm::Comm;
use crate::completion;
use crate::datatype::Memory;
use crate::errors::Result;
use crate::identity::Rank;
use crate::progress::{Guard, LockPolicy, Vci};
use crate::protocol::{cell, eager, inject as injection};
use crate::request::{RequestEntry, RequestId, RequestIndex, Role, Status};
use crate::vci::VciState;
use crate::vci::link::Link;
use crate::vci::matching::Key;

/// Messages that are taken from one ring in a row before the other rings are polled again.
const IN_A_ROW: u64 = 256;

/// The result of a fast stage of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Nothing was done; [`send_eager`] or [`super::isend`] has to decide.
    Refused,
    /// Nothing was done, because [`inject`] does not reach the rank; [`inject_locked`] has to decide.
    Unreached,
    /// The message is sent.
    Sent,
    /// The message is sent; call [`wake`], because its receiver or another thread sleeps.
    SentWake,
}

/// The result of a fast stage of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// Nothing was done; [`super::irecv`] has to decide.
    Refused,
    /// Nothing was done, because [`post`] does not reach the rank; [`post_locked`] has to decide.
    Unreached,
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
        return Injected::Unreached;
    }
    // SAFETY: below `unlocked_ranks` every rank has a link; no other thread is inside MPI (Route::new).
    let link = unsafe { comm.route().link(Rank::new(dest as u32)).as_mut() };
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

/// [`inject`], and [`inject_locked`] where that is needed.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
#[inline(always)]
pub unsafe fn send_now(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    // SAFETY: the caller's promise.
    unsafe {
        match inject(comm, base, bytes, dest, tag) {
            Injected::Unreached => inject_locked(comm, base, bytes, dest, tag),
            done => done,
        }
    }
}

/// Stage two, of a message that [`inject`] found `Unreached`: at every thread level and with every rank map. What it refuses goes to
/// [`super::isend`].
///
/// It calls nothing, so that it needs no stack frame.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`.
// TIER: short
#[inline(always)]
pub unsafe fn inject_locked(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    let (rank, route, vci) = (Rank::new(dest as u32), comm.route(), comm.vci());
    if !CHECKED && tag < 0 {
        cold_path();
        return Injected::Refused;
    }
    let word = || comm.match_base() | tag as u64;
    // One copy of the code for each kind of rank map: a linear one needs no table, and the lock is needed.
    // SAFETY: ranks of a communicator are ranks of the job, and there is a link for each; the rest is the caller's promise.
    unsafe {
        if rank.get() < route.locked_ranks {
            let guard = vci.try_lock();
            return inject_inside::<_, { cell::INJECT }>(guard, word, base, bytes, || {
                route.link(rank)
            });
        }
        if rank.get() < route.fast_ranks {
            let link = || vci.first_link().add(route.peer(rank).get() as usize);
            let guard = vci.try_enter();
            return inject_inside::<_, { cell::INJECT }>(guard, word, base, bytes, link);
        }
    }
    cold_path();
    Injected::Refused
}

/// Injects a message with a match word in a cell of a kind, under the guard of the communicator's VCI, unless another thread has that.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`; `link_of` gives a link of this communicator's VCI.
#[inline(always)]
pub(super) unsafe fn inject_inside<P: LockPolicy, const KIND: u8>(
    guard: Option<Guard<'_, P>>,
    word: impl FnOnce() -> u64,
    base: *const u8,
    bytes: usize,
    link_of: impl FnOnce() -> NonNull<Link>,
) -> Injected {
    let Some(guard) = guard else {
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
    unsafe { injection::write_as::<KIND>(link, word(), base, bytes) };
    #[cfg(feature = "ablate-requests")]
    crate::request::ablation::use_complete_request();
    // One branch for both: neither is likely.
    let attention = link.attention_word();
    if guard.leave_word() | attention != 0 {
        cold_path();
        Injected::SentWake
    } else {
        Injected::Sent
    }
}

/// Sends contiguous bytes that do not fit into a cell; false when nothing was done.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
#[inline(always)]
pub unsafe fn send_eager(comm: &Comm, base: *const u8, bytes: usize, dest: i32, tag: i32) -> bool {
    if bytes <= INJECT_BYTES || dest as u32 >= comm.route().fast_ranks || tag < 0 {
        return false;
    }
    let word = comm.match_base() | tag as u64;
    let source = eager::Source::Contiguous(base);
    // SAFETY: the rank is below `fast_ranks`; the caller's promise.
    unsafe {
        let peer = comm.route().peer(Rank::new(dest as u32));
        eager::send(&mut comm.vci().enter(), peer, word, source, bytes)
    }
}

/// Wakes the receiver of a message that went by [`Injected::SentWake`], and threads that wait for the VCI.
#[cold]
#[inline(never)]
pub extern "C" fn wake(comm: &Comm, dest: i32) -> i32 {
    if comm.vci().is_threaded() {
        comm.vci().wake_contenders();
    }
    comm.vci().enter().links[comm.peer(Rank::new(dest as u32))].ring_doorbell();
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
        // SAFETY: the rank is below `fast_ranks`.
        peer: unsafe { comm.route().peer(Rank::new(source as u32)) },
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
    // SAFETY: the rank is below `fast_ranks`.
    let peer = unsafe { comm.route().peer(Rank::new(send.1 as u32)) };
    let word = comm.match_base() | send.2 as u64;
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
/// waits and an entry of the slab is free.
///
/// # Safety
/// As for [`super::irecv`], with `base` writable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn post(comm: &Comm, base: *mut u8, bytes: usize, source: i32, tag: i32) -> Posted {
    if tag < 0 {
        cold_path();
        return Posted::Refused;
    }
    if source as u32 >= comm.route().unlocked_sources {
        cold_path();
        return Posted::Unreached;
    }
    let mut guard = comm.vci().enter_unlocked();
    let key = || Key {
        word: comm.match_base() | tag as u64,
        peer: comm.route().linear_peer(Rank::new(source as u32)),
    };
    // SAFETY: passed on.
    match unsafe { post_in(&mut guard, comm, base, bytes, key, |_| ()) } {
        Some(id) => Posted::Posted(id),
        None => {
            cold_path();
            Posted::Refused
        }
    }
}

/// [`post`], and [`post_locked`] where that is needed.
///
/// # Safety
/// As for [`post`].
#[inline(always)]
pub unsafe fn post_now(comm: &Comm, base: *mut u8, bytes: usize, source: i32, tag: i32) -> Posted {
    // SAFETY: passed on.
    unsafe {
        match post(comm, base, bytes, source, tag) {
            Posted::Unreached => post_locked(comm, base, bytes, source, tag),
            done => done,
        }
    }
}

/// Stage two of a receive, which [`post`] found `Unreached`: at every thread level and with every rank map.
///
/// # Safety
/// As for [`post`].
// TIER: short
#[inline(always)]
pub unsafe fn post_locked(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    let (rank, route, vci) = (Rank::new(source as u32), comm.route(), comm.vci());
    let word = || comm.match_base() | tag as u64;
    // SAFETY: passed on; the rank is below `fast_ranks` where a table may be.
    unsafe {
        if rank.get() < route.locked_sources {
            let key = || Key {
                word: word(),
                peer: route.linear_peer(rank),
            };
            return post_inside(vci.try_lock(), comm, base, bytes, key, |_| ());
        }
        if rank.get() < route.fast_sources {
            let key = || Key {
                word: word(),
                peer: route.peer(rank),
            };
            return post_inside(vci.try_enter(), comm, base, bytes, key, |_| ());
        }
    }
    cold_path();
    Posted::Refused
}

/// Posts a receive under the guard of the communicator's VCI, unless another thread has that.
///
/// # Safety
/// As for [`post`].
#[inline(always)]
pub(super) unsafe fn post_inside<P: LockPolicy>(
    guard: Option<Guard<'_, P>>,
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    key_of: impl FnOnce() -> Key,
    mark: impl FnOnce(&mut RequestEntry),
) -> Posted {
    let Some(mut guard) = guard else {
        return Posted::Refused;
    };
    // SAFETY: passed on.
    match unsafe { post_in(&mut guard, comm, base, bytes, key_of, mark) } {
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

/// Posts a receive with a key, if nothing unexpected waits and an entry of the slab is free; `mark` gives the entry what is special to
/// the call.
///
/// # Safety
/// As for [`post`]; `state` is that of the communicator's VCI.
#[inline(always)]
pub(super) unsafe fn post_in(
    state: &mut VciState,
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    key_of: impl FnOnce() -> Key,
    mark: impl FnOnce(&mut RequestEntry),
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
    mark(entry);
    let (id, index) = (entry.id(), entry.index());
    let last = state.posted.post_exact(entry, key_of());
    if last != RequestIndex::NONE {
        state.slab.record_mut(last).next = index.0;
    }
    Some(id)
}

/// Waits for a receive that [`post`] or [`post_locked`] has posted; `call` is the MPI call that waits.
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
