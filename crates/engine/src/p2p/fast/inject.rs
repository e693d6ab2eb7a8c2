// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast stages of sends.

use std::hint::cold_path;
use std::ptr::NonNull;

use fabric::ring::INJECT_BYTES;

use super::lane::inject_on_lane;
use super::let_owner_work;
use crate::comm::{Comm, Predefined};
use crate::identity::Rank;
use crate::p2p::arguments::CHECKED;
use crate::p2p::promised::{Promises, local_rank};
use crate::progress::{Guard, LockPolicy};
use crate::protocol::{cell, eager, inject as injection};
use crate::vci::link::Link;
use crate::vci::matching::in_order_key;

/// The result of a fast stage of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Nothing was done; [`send_eager`] or [`crate::p2p::isend`] has to decide.
    Refused,
    /// Nothing was done, because another thread is inside the VCI; call [`super::let_owner_work`], then as after `Refused`.
    Contended,
    /// Nothing was done, because the stage does not reach the rank; the next one has to decide: [`inject_locked`] after [`inject`], and
    /// after that one the lane of [`super::lane_of_send`].
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

/// [`inject`], and where that is needed [`inject_locked`], and the same on the lane of the tag.
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
        match inject::<P>(comm, base, bytes, dest, tag) {
            Injected::Unreached => match inject_locked::<P>(comm, base, bytes, dest, tag) {
                Injected::Unreached => inject_on_lane::<P>(comm, base, bytes, dest, tag),
                Injected::Contended => {
                    let_owner_work(comm);
                    Injected::Refused
                }
                done => done,
            },
            done => done,
        }
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

/// Stage two, of a message that stage one found `Unreached`: at every thread level and with every rank map. What it refuses goes to
/// [`crate::p2p::isend`].
///
/// It calls nothing, so that it needs no stack frame; only a call that names ranks of MPI_COMM_WORLD may have to look up its rank.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`.
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
    // One copy of the code for each kind of rank map: a linear one needs no table, and the lock is needed.
    // SAFETY: ranks of a communicator are ranks of the job, and there is a link for each; the rest is the caller's promise.
    unsafe {
        // account: proc-null
        if P::GLOBAL && (dest as u32) < route.locked_world {
            let link = || vci.first_link().add(dest as usize); // account: rank-translation
            return inject_inside::<P, _>(vci.try_lock(), comm, base, bytes, tag, link);
        }
        // account: rank-translation
        let Some(rank) = local_rank::<P>(comm, dest) else {
            return Injected::Refused;
        };
        // account: proc-null
        if rank.get() < route.locked_ranks {
            let link = || route.link(rank); // account: rank-translation
            return inject_inside::<P, _>(vci.try_lock(), comm, base, bytes, tag, link);
        }
        if rank.get() < route.fast_ranks {
            let link = || vci.first_link().add(route.peer(rank).get() as usize); // account: rank-translation
            return inject_inside::<P, _>(vci.try_enter(), comm, base, bytes, tag, link);
        }
    }
    cold_path();
    Injected::Unreached
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
    #[cfg(feature = "ablate-requests")]
    crate::request::ablation::use_complete_request();
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
    if rank.get() >= comm.route().fast_ranks {
        return false;
    }
    let source = eager::Source::Contiguous(base);
    // SAFETY: the rank is below `fast_ranks`; the caller's promise.
    unsafe {
        let peer = comm.route().peer(rank);
        let word = word_of::<P>(comm, tag);
        eager::send(&mut comm.vci().enter(), peer, word, source, bytes)
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
