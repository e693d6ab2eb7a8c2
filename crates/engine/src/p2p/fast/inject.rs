// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast stages of sends.

use std::hint::cold_path;
use std::ptr::NonNull;

use fabric::ring::INJECT_BYTES;

use super::lane::{Stage, lane_of_send, stage_of_send};
use super::let_owner_work;
use crate::comm::{Comm, Predefined};
use crate::identity::Rank;
use crate::p2p::arguments::CHECKED;
use crate::p2p::promised::{Promises, local_rank};
use crate::progress::{Guard, LockPolicy};
use crate::protocol::{eager, inject as injection};
use crate::vci::cell;
use crate::vci::link::Link;
use crate::vci::matching::in_order_key;

/// The result of a fast stage of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Nothing was done; [`send_eager`] or [`crate::p2p::isend`] has to decide.
    Refused,
    /// Nothing was done, because another thread is inside the VCI; call [`super::let_owner_work`], then as after `Refused`.
    Contended,
    /// Nothing was done, because stage one does not reach the rank; [`stage_of_send`] tells which one does.
    Unreached,
    /// The message is sent.
    Sent,
    /// The message is sent; call [`wake`], because its receiver or another thread sleeps.
    SentWake,
}

/// Stage one: sends contiguous bytes that fit into a cell, below MPI_THREAD_MULTIPLE, on a communicator with a linear rank map.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn inject<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    // One branch each: merged into one they would cost more instructions.
    // account: fabric
    if bytes > INJECT_BYTES {
        cold_path();
        return Injected::Refused;
    }
    // account: argument-checks
    if CHECKED && !P::NO_MATCH && tag < 0 {
        cold_path();
        return Injected::Refused;
    }
    // account: proc-null
    let reached = if P::GLOBAL {
        comm.route().unlocked_world
    } else {
        comm.route().unlocked_ranks
    };
    // One compare tells the range, MPI_PROC_NULL, the thread level and the kind of map.
    if dest as u32 >= reached {
        cold_path();
        return Injected::Unreached;
    }
    // account: rank-translation
    // SAFETY: below `unlocked_ranks` and `unlocked_world` every rank has a link; no other thread is inside MPI (Route::new).
    let link = unsafe {
        if P::GLOBAL {
            comm.vci().first_link().add(dest as usize).as_mut()
        } else {
            comm.route().link(Rank::new(dest as u32)).as_mut()
        }
    };
    // account: fabric
    if !link.sender.has_credit() {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe { write_cell::<P>(link, comm, tag, base, bytes) };
    if link.needs_doorbell() {
        cold_path();
        Injected::SentWake
    } else {
        Injected::Sent
    }
}

/// Writes the cell of a message.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`; the link has a credit.
// account: match-bits
#[inline(always)]
unsafe fn write_cell<P: Promises>(
    link: &mut Link,
    comm: &Comm,
    tag: i32,
    base: *const u8,
    bytes: usize,
) {
    let word = word_of::<P>(comm, tag);
    // SAFETY: the caller's promise.
    unsafe {
        if P::NO_MATCH {
            injection::write_as::<{ cell::INJECT_IN_ORDER }>(link, word, base, bytes);
        } else {
            injection::write_as::<{ cell::INJECT }>(link, word, base, bytes);
        }
    }
}

/// The match word of a message.
// account: match-bits
#[inline(always)]
fn word_of<P: Promises>(comm: &Comm, tag: i32) -> u64 {
    if P::NO_MATCH {
        in_order_key(comm.match_base()).word
    } else {
        comm.match_base() | tag as u64
    }
}

/// [`inject`], and where that is needed the next stages.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
#[inline(always)]
pub unsafe fn send_now<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    // account: caller
    // SAFETY: the caller's promise.
    unsafe {
        let done = inject::<P>(comm, base, bytes, dest, tag);
        if done != Injected::Unreached {
            return done;
        }
        let done = match stage_of_send::<P>(comm, dest) {
            Stage::Locked => inject_locked::<P>(comm, base, bytes, dest, tag),
            Stage::Mapped => inject_mapped::<P>(comm, base, bytes, dest, tag),
            Stage::Lane => return inject_on_lane::<P>(comm, base, bytes, dest, tag),
        };
        if done == Injected::Contended {
            let_owner_work(comm);
            return Injected::Refused;
        }
        done
    }
}

/// [`inject_locked`] on the lane of the tag. It wakes whom the message has to wake.
///
/// # Safety
/// As for [`send_now`], with at most `INJECT_BYTES`.
#[inline(never)]
unsafe fn inject_on_lane<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    // account: rank-translation
    let Some(lane) = lane_of_send::<P>(comm, dest, tag) else {
        return Injected::Refused;
    };
    // account: caller
    // SAFETY: passed on.
    let done = unsafe { inject_locked::<P>(lane, base, bytes, dest, tag) };
    match done {
        Injected::SentWake => {
            wake::<P>(lane, dest);
            Injected::Sent
        }
        Injected::Contended => {
            let_owner_work(lane);
            Injected::Refused
        }
        done => done,
    }
}

/// Stage one on a predefined communicator, with all promises.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn inject_predefined(
    place: &Predefined,
    base: *const u8,
    bytes: usize,
    dest: i32,
) -> Injected {
    // account: fabric
    if bytes > INJECT_BYTES {
        cold_path();
        return Injected::Refused;
    }
    // account: proc-null
    if dest as u32 >= place.ranks() {
        cold_path();
        return Injected::Unreached;
    }
    // account: rank-translation
    // SAFETY: the rank is in range; no other thread is inside MPI where ranks are reached without a lock (Route::new).
    let link = unsafe { place.link(dest as u32).as_mut() };
    // account: fabric
    if !link.sender.has_credit() {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe {
        // account: match-bits
        injection::write_as::<{ cell::INJECT_IN_ORDER }>(link, place.word(), base, bytes);
    }
    if link.needs_doorbell() {
        cold_path();
        Injected::SentWake
    } else {
        Injected::Sent
    }
}

/// Stage two, of a message for which [`stage_of_send`] or [`lane_of_send`] said so: under the lock, with a linear rank map.
///
/// It calls nothing, so that it needs no stack frame.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`; `dest` is a rank that the stage reaches.
// TIER: short
#[inline(always)]
pub unsafe fn inject_locked<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    // account: thread-safety
    let (route, vci) = (comm.route(), comm.vci());
    // account: argument-checks
    if !CHECKED && !P::NO_MATCH && tag < 0 {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: below `locked_world` and `locked_ranks` (caller) every rank has a link; the rest is the caller's promise.
    unsafe {
        // account: rank-translation
        let link = || match P::GLOBAL {
            true => vci.first_link().add(dest as usize),
            false => route.link(Rank::new(dest as u32)),
        };
        inject_inside::<P, _>(vci.try_lock(), comm, base, bytes, tag, link)
    }
}

/// The same at every thread level and with any rank map. What the fast stages refuse goes to [`crate::p2p::isend`].
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`.
// TIER: short
#[inline(always)]
pub unsafe fn inject_mapped<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    // account: rank-translation
    let Some(rank) = local_rank::<P>(comm, dest) else {
        return Injected::Refused;
    };
    // account: thread-safety
    let (route, vci) = (comm.route(), comm.vci());
    // account: argument-checks
    if rank.get() >= route.fast_ranks || (!CHECKED && !P::NO_MATCH && tag < 0) {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: the rank is below `fast_ranks`, and there is a link for each; the rest is the caller's promise.
    unsafe {
        let link = || vci.first_link().add(route.peer(rank).get() as usize); // account: rank-translation
        inject_inside::<P, _>(vci.try_enter(), comm, base, bytes, tag, link)
    }
}

/// Injects a message under the guard of the communicator's VCI, unless another thread has that.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`; `link_of` gives a link of this communicator's VCI.
#[inline(always)]
unsafe fn inject_inside<P: Promises, L: LockPolicy>(
    guard: Option<Guard<'_, L>>,
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    tag: i32,
    link_of: impl FnOnce() -> NonNull<Link>,
) -> Injected {
    // account: thread-safety
    let Some(guard) = guard else {
        return Injected::Contended;
    };
    // account: rank-translation
    // SAFETY: a link of this VCI (caller), which nobody else refers to before the guard is left.
    let link = unsafe { link_of().as_mut() };
    // account: fabric
    if !link.sender.has_credit() {
        cold_path();
        guard.leave_owing();
        return Injected::Refused;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe { write_cell::<P>(link, comm, tag, base, bytes) };
    // One branch for both: neither is likely.
    let attention = link.attention_word();
    // account: thread-safety
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
// account: fabric
#[inline(always)]
pub unsafe fn send_eager<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> bool {
    if bytes <= INJECT_BYTES || (!P::NO_MATCH && tag < 0) {
        return false;
    }
    let Some(rank) = local_rank::<P>(comm, dest) else {
        return false;
    };
    let mut taker = comm;
    if rank.get() >= comm.route().fast_ranks {
        match lane_of_send::<P>(comm, dest, tag) {
            Some(lane) => taker = lane,
            None => return false,
        }
    }
    let source = eager::Source::Contiguous(base);
    // SAFETY: the rank is below `fast_ranks`; the caller's promise.
    unsafe {
        let peer = taker.route().peer(rank);
        let word = word_of::<P>(taker, tag);
        eager::send(&mut taker.vci().enter(), peer, word, source, bytes)
    }
}

/// Wakes the receiver of a message that went by [`Injected::SentWake`], and threads that wait for the VCI; 0, so that a call ends with it.
#[inline(always)]
pub fn wake<P: Promises>(comm: &Comm, dest: i32) -> i32 {
    if P::GLOBAL {
        wake_process(comm, dest)
    } else {
        wake_rank(comm, dest)
    }
}

/// [`wake`] of a rank of the communicator.
#[cold]
#[inline(never)]
extern "C" fn wake_rank(comm: &Comm, dest: i32) -> i32 {
    if comm.vci().is_threaded() {
        comm.vci().wake_contenders();
    }
    comm.vci().enter().links[comm.peer(Rank::new(dest as u32))].ring_doorbell();
    0
}

/// [`wake`] of a rank of MPI_COMM_WORLD.
#[cold]
#[inline(never)]
extern "C" fn wake_process(comm: &Comm, dest: i32) -> i32 {
    match comm.rank_of_world(dest) {
        Some(rank) => wake_rank(comm, rank.to_mpi()),
        None => 0,
    }
}
