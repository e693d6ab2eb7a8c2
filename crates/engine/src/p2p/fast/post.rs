// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast stages of receives.

use std::hint::cold_path;

use fabric::board::kind as record_kind;

use crate::comm::Comm;
use crate::completion;
use crate::errors::Result;
use crate::identity::{LinkIndex, Rank};
use crate::p2p::promised::{Promises, local_rank};
use crate::progress::{Guard, LockPolicy};
use crate::request::{RequestId, RequestIndex, Role, Status};
use crate::vci::VciState;
use crate::vci::matching::{Key, in_order_key};

/// The result of a fast stage of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// Nothing was done; [`crate::p2p::irecv`] has to decide.
    Refused,
    /// Nothing was done, because another thread is inside the VCI; call [`super::let_owner_work`], then as after `Refused`.
    Contended,
    /// Nothing was done, because the stage does not reach the rank; the next one has to decide: [`post_locked`] after [`post`], and
    /// after that one the lane of [`super::lane_of_receive`].
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

/// [`post`], and [`post_locked`] where that is needed.
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
        match post::<P>(comm, base, bytes, source, tag) {
            Posted::Unreached => match post_locked::<P>(comm, base, bytes, source, tag) {
                Posted::Contended => {
                    let_owner_work(comm);
                    Posted::Refused
                }
                done => done,
            },
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
pub unsafe fn post_locked<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    // account: thread-safety
    let (route, vci) = (comm.route(), comm.vci());
    // SAFETY: passed on; the rank is below `fast_ranks` where a table may be.
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
        if P::GLOBAL && (source as u32) < route.locked_world {
            let key = || key_of::<P>(comm, tag, || LinkIndex::new(source as u32)); // account: rank-translation
            return post_inside::<P, _>(vci.try_lock(), comm, base, bytes, key);
        }
        // account: rank-translation
        let Some(rank) = local_rank::<P>(comm, source) else {
            return Posted::Refused;
        };
        // account: proc-null
        if rank.get() < route.locked_ranks {
            let key = || key_of::<P>(comm, tag, || route.linear_peer(rank)); // account: rank-translation
            return post_inside::<P, _>(vci.try_lock(), comm, base, bytes, key);
        }
        if rank.get() < route.fast_ranks {
            let key = || key_of::<P>(comm, tag, || route.peer(rank)); // account: rank-translation
            return post_inside::<P, _>(vci.try_enter(), comm, base, bytes, key);
        }
    }
    cold_path();
    Posted::Unreached
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
        entry.set_in_bulk();
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
