// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast stages of receives.

use std::hint::cold_path;

use fabric::board::kind as record_kind;

use super::lane::{Stage, lane_of_receive, stage_of_receive};
use crate::comm::Comm;
use crate::completion;
use crate::errors::Result;
use crate::identity::{LinkIndex, Rank};
use crate::p2p::promised::{Promises, local_rank};
use crate::progress::{Guard, LockPolicy};
use crate::request::{RequestId, RequestIndex, Role, Status, flag};
use crate::vci::VciState;
use crate::vci::matching::{Key, in_order_key};

/// The result of a fast stage of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// Nothing was done; [`crate::p2p::irecv`] has to decide.
    Refused,
    /// Nothing was done, because another thread is inside the VCI; call [`super::let_owner_work`], then as after `Refused`.
    Contended,
    /// Nothing was done, because stage one does not reach the rank; [`stage_of_receive`] tells which one does.
    Unreached,
    /// It is posted.
    Posted(RequestId),
    /// It is posted; call [`wake_contenders`].
    PostedWake(RequestId),
}

/// Stage one of a receive: posts it below MPI_THREAD_MULTIPLE on a communicator with a linear rank map, when nothing unexpected
/// waits and an entry of the slab is free. `source` and `tag` mean nothing where there is no matching.
///
/// # Safety
/// As for [`crate::p2p::irecv`], with `base` writable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn post<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    // account: proc-null
    let route = comm.route();
    if P::NO_MATCH {
        if route.unlocked_members == 0 {
            cold_path();
            return Posted::Unreached;
        }
    } else {
        // account: argument-checks
        if tag < 0 {
            cold_path();
            return Posted::Refused;
        }
        // account: proc-null
        let reached = if P::GLOBAL {
            route.unlocked_world
        } else {
            route.unlocked_ranks
        };
        if source as u32 >= reached {
            cold_path();
            return Posted::Unreached;
        }
    }
    // account: thread-safety
    let mut guard = comm.vci().enter_unlocked();
    // account: rank-translation
    let key = || {
        key_of::<P>(comm, tag, || match P::GLOBAL {
            true => LinkIndex::new(source as u32),
            false => route.linear_peer(Rank::new(source as u32)),
        })
    };
    // account: request
    // SAFETY: passed on.
    match unsafe { post_in::<P>(&mut guard, comm, base, bytes, key) } {
        Some(id) => Posted::Posted(id),
        None => {
            cold_path();
            Posted::Refused
        }
    }
}

/// The key of a receive.
// account: match-bits
#[inline(always)]
fn key_of<P: Promises>(comm: &Comm, tag: i32, peer: impl FnOnce() -> LinkIndex) -> Key {
    if P::NO_MATCH {
        return in_order_key(comm.match_base());
    }
    Key {
        word: comm.match_base() | tag as u64,
        peer: peer(),
    }
}

/// [`post`], and where that is needed the next stages.
///
/// # Safety
/// As for [`post`].
#[inline(always)]
pub unsafe fn post_now<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    // account: caller
    // SAFETY: passed on.
    unsafe {
        let done = post::<P>(comm, base, bytes, source, tag);
        if done != Posted::Unreached {
            return done;
        }
        let done = match stage_of_receive::<P>(comm, source) {
            Stage::Locked => post_locked::<P>(comm, base, bytes, source, tag),
            Stage::Mapped => post_mapped::<P>(comm, base, bytes, source, tag),
            Stage::Lane => return post_on_lane::<P>(comm, base, bytes, source, tag),
        };
        if done == Posted::Contended {
            let_owner_work(comm);
            return Posted::Refused;
        }
        done
    }
}

/// [`post_locked`] on the lane of the tag. It wakes the threads that wait for the lane's VCI.
///
/// # Safety
/// As for [`post`].
#[inline(never)]
unsafe fn post_on_lane<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    // account: rank-translation
    let Some(lane) = lane_of_receive::<P>(comm, source, tag) else {
        return Posted::Refused;
    };
    // account: caller
    // SAFETY: passed on.
    let done = unsafe { post_locked::<P>(lane, base, bytes, source, tag) };
    match done {
        Posted::PostedWake(id) => {
            wake_contenders(lane);
            Posted::Posted(id)
        }
        Posted::Contended => {
            let_owner_work(lane);
            Posted::Refused
        }
        done => done,
    }
}

/// Stage two of a receive for which [`stage_of_receive`] or [`lane_of_receive`] said so: under the lock, with a linear rank map. Without
/// matching the map does not count.
///
/// # Safety
/// As for [`post`]; `source` is a rank that the stage reaches.
// TIER: short
#[inline(always)]
pub unsafe fn post_locked<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    // account: thread-safety
    let (route, vci) = (comm.route(), comm.vci());
    // SAFETY: passed on.
    unsafe {
        // account: proc-null
        if P::NO_MATCH {
            if route.fast_ranks == 0 {
                cold_path();
                return Posted::Refused;
            }
            let key = || in_order_key(comm.match_base()); // account: match-bits
            return post_inside::<P, _>(vci.try_enter(), comm, base, bytes, key);
        }
        // account: rank-translation
        let key = || {
            key_of::<P>(comm, tag, || match P::GLOBAL {
                true => LinkIndex::new(source as u32),
                false => route.linear_peer(Rank::new(source as u32)),
            })
        };
        post_inside::<P, _>(vci.try_lock(), comm, base, bytes, key)
    }
}

/// The same at every thread level and with any rank map. What the fast stages refuse goes to [`crate::p2p::irecv`].
///
/// # Safety
/// As for [`post`].
// TIER: short
#[inline(always)]
pub unsafe fn post_mapped<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    // account: rank-translation
    let Some(rank) = local_rank::<P>(comm, source) else {
        return Posted::Refused;
    };
    // account: thread-safety
    let (route, vci) = (comm.route(), comm.vci());
    // account: proc-null
    if rank.get() >= route.fast_ranks {
        cold_path();
        return Posted::Refused;
    }
    // SAFETY: passed on; the rank is below `fast_ranks`.
    unsafe {
        let key = || key_of::<P>(comm, tag, || route.peer(rank)); // account: rank-translation
        post_inside::<P, _>(vci.try_enter(), comm, base, bytes, key)
    }
}

/// Posts a receive under the guard of the communicator's VCI, unless another thread has that.
///
/// # Safety
/// As for [`post`].
#[inline(always)]
unsafe fn post_inside<P: Promises, L: LockPolicy>(
    guard: Option<Guard<'_, L>>,
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    key_of: impl FnOnce() -> Key,
) -> Posted {
    // account: thread-safety
    let Some(mut guard) = guard else {
        return Posted::Contended;
    };
    // SAFETY: passed on.
    match unsafe { post_in::<P>(&mut guard, comm, base, bytes, key_of) } {
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

/// Lets the thread that is inside the communicator's VCI go on, after a stage that returned `Contended`.
#[cold]
#[inline(never)]
pub extern "C" fn let_owner_work(comm: &Comm) {
    comm.vci().let_owner_work();
}

/// Wakes the threads that wait for a VCI, after [`Posted::PostedWake`].
#[cold]
#[inline(never)]
pub extern "C" fn wake_contenders(comm: &Comm) -> i32 {
    comm.vci().wake_contenders();
    0
}

/// Posts a receive with a key, if nothing unexpected waits and an entry of the slab is free.
///
/// # Safety
/// As for [`post`]; `state` is that of the communicator's VCI.
#[inline(always)]
unsafe fn post_in<P: Promises>(
    state: &mut VciState,
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    key_of: impl FnOnce() -> Key,
) -> Option<RequestId> {
    // account: match-bits
    if !state.unexpected.lets_post(bytes as u64) {
        return None;
    }
    // account: request
    let entry = state
        .slab
        .take_free(Role::Receive, record_kind::RECEIVE_POSTED)?;
    entry.record.stamp_ms = state.node.now_ms();
    (entry.base, entry.record.bytes) = (base, bytes as u64);
    // SAFETY: the guard of the communicator's VCI is held.
    entry.owner = unsafe { comm.hold_operation() };
    if P::NO_REQUEST {
        entry.set(flag::FREED | flag::IN_BULK);
        // SAFETY: as above.
        unsafe { comm.owner.hold_in_bulk() };
    }
    let (id, index) = (entry.id(), entry.index());
    // account: match-bits
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
// account: request
#[inline(always)]
pub fn receive_posted(comm: &Comm, id: RequestId, call: &'static str) -> Result<Status> {
    let index = RequestIndex(id.0 as u32);
    match completion::wait_received_at(comm.vci(), index, call)? {
        Some(status) => Ok(status),
        None => completion::take_outcome(&mut comm.vci().enter(), index),
    }
}
