// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends and receives whose callers promise what MPI leaves open, so that less has to be decided at run time: the proposals of Raffenetti
//! et al., "Why Is MPI So Slow?" (SC'17), section 3.
//!
//! [`Promises`] are constants of a call. They have the stages of ordinary messages: [`inject_promised`] and [`post_promised`] are inlined
//! into the caller, [`inject_promised_locked`] and [`post_promised_locked`] take the lock or translate the rank, [`isend_promised`] and
//! [`irecv_promised`] take everything and check all arguments. A message without a tag ([`Promises::NO_MATCH`]) is received in the order of
//! arrival within its communicator, by receives that make the same promise only.

use std::hint::cold_path;

use fabric::ring::INJECT_BYTES;

use super::arguments::{ANY_SOURCE_RANK, CHECKED, PROC_NULL, check_rank};
use super::fast::{
    Injected, Posted, inject_inside, inject_locked, post_in, post_inside, post_locked,
};
use super::receive::{irecv, irecv_key};
use super::send::{Mode, isend, new_send, send_at_once, start};
use crate::comm::{Comm, Predefined};
use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{LinkIndex, PeerIndex, Rank};
use crate::protocol::{cell, inject as injection};
use crate::request::{RequestEntry, RequestId};
use crate::vci::matching::{Key, in_order_key};

/// What a call promises; constants, so that the fast stages contain only what is left to decide.
pub trait Promises {
    /// The other rank is one of MPI_COMM_WORLD.
    const GLOBAL: bool = false;
    /// The other rank is not MPI_PROC_NULL.
    const NO_PROC_NULL: bool = false;
    /// The message has no tag, and its receive names no source.
    const NO_MATCH: bool = false;
    /// The operation has no request: [`crate::completion::wait_bulk`] waits for all of a communicator.
    const NO_REQUEST: bool = false;
}

/// The same as values, for the stages that serve all calls.
#[derive(Clone, Copy, Debug)]
struct Promised {
    global: bool,
    no_proc_null: bool,
    no_match: bool,
}

impl Promised {
    const fn of<P: Promises>() -> Self {
        Self {
            global: P::GLOBAL,
            no_proc_null: P::NO_PROC_NULL,
            no_match: P::NO_MATCH,
        }
    }
}

/// Stage one of a send: as [`super::inject`], with a communicator that reaches the rank without a lock and without a table.
///
/// # Safety
/// `base` is readable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn inject_promised<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    if bytes > INJECT_BYTES {
        cold_path();
        return Injected::Refused;
    }
    if CHECKED && !P::NO_MATCH && tag < 0 {
        cold_path();
        return Injected::Refused;
    }
    let route = comm.route();
    let reached = if P::GLOBAL {
        route.unlocked_world
    } else {
        route.unlocked_ranks
    };
    // One compare tells the range, MPI_PROC_NULL, the thread level and the kind of map.
    if dest as u32 >= reached {
        cold_path();
        return Injected::Unreached;
    }
    // SAFETY: below `unlocked_world` and `unlocked_ranks` every rank has a link; no other thread is inside MPI (Route::new).
    let link = unsafe {
        if P::GLOBAL {
            comm.vci().first_link().add(dest as usize).as_mut()
        } else {
            route.link(Rank::new(dest as u32)).as_mut()
        }
    };
    if !link.sender.has_credit() {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe {
        if P::NO_MATCH {
            let word = in_order_key(comm.match_base()).word;
            injection::write_as::<{ cell::INJECT_IN_ORDER }>(link, word, base, bytes);
        } else {
            injection::write(link, comm.match_base() | tag as u64, base, bytes);
        }
    }
    if link.needs_doorbell() {
        cold_path();
        Injected::SentWake
    } else {
        Injected::Sent
    }
}

/// Stage one of a send with all promises, on a predefined communicator.
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
    if bytes > INJECT_BYTES {
        cold_path();
        return Injected::Refused;
    }
    if dest as u32 >= place.ranks() {
        cold_path();
        return Injected::Unreached;
    }
    // SAFETY: the rank is in range; no other thread is inside MPI where ranks are reached without a lock (Route::new).
    let link = unsafe { place.link(dest as u32).as_mut() };
    if !link.sender.has_credit() {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: the memory is readable (caller), the length fits, and a credit is there (both checked).
    unsafe {
        injection::write_as::<{ cell::INJECT_IN_ORDER }>(link, place.word(), base, bytes);
    }
    if link.needs_doorbell() {
        cold_path();
        Injected::SentWake
    } else {
        Injected::Sent
    }
}

/// Stage two of a send that [`inject_promised`] found `Unreached`: at every thread level, with every communicator.
///
/// # Safety
/// `base` is readable for `bytes` bytes, at most `INJECT_BYTES`.
#[inline(always)]
pub unsafe fn inject_promised_locked<P: Promises>(
    comm: &Comm,
    base: *const u8,
    bytes: usize,
    dest: i32,
    tag: i32,
) -> Injected {
    let Some(rank) = local_rank::<P>(comm, dest) else {
        return Injected::Refused;
    };
    let route = comm.route();
    if rank.get() >= route.fast_ranks || (!P::NO_MATCH && tag < 0) {
        cold_path();
        return Injected::Refused;
    }
    // SAFETY: the rank is below `fast_ranks`, so there is a link; the rest is the caller's promise.
    unsafe {
        if P::NO_MATCH {
            let word = in_order_key(comm.match_base()).word;
            let link = || comm.vci().first_link().add(route.peer(rank).get() as usize);
            let guard = comm.vci().try_enter();
            return inject_inside::<_, { cell::INJECT_IN_ORDER }>(
                guard,
                || word,
                base,
                bytes,
                link,
            );
        }
        inject_locked(comm, base, bytes, rank.to_mpi(), tag)
    }
}

/// The rank of the communicator that the call names; `None` if there is none.
#[inline(always)]
fn local_rank<P: Promises>(comm: &Comm, rank: i32) -> Option<Rank> {
    if P::GLOBAL {
        comm.rank_of_world(rank)
    } else {
        Some(Rank::new(rank as u32))
    }
}

/// Wakes whom [`Injected::SentWake`] names after a call with promises.
#[cold]
#[inline(never)]
pub fn wake_promised<P: Promises>(comm: &Comm, dest: i32) -> i32 {
    match local_rank::<P>(comm, dest) {
        Some(rank) => super::wake(comm, rank.to_mpi()),
        None => 0,
    }
}

/// Starts a send with promises, whatever its memory and its communicator.
///
/// # Errors
/// As for [`isend`]; MPI_ERR_RANK for MPI_PROC_NULL against the promise, and for a process that is no member; MPI_ERR_COMM for ranks of
/// MPI_COMM_WORLD in a communicator of two groups or of endpoints.
///
/// # Safety
/// As for [`isend`].
pub unsafe fn isend_promised<P: Promises>(
    comm: &Comm,
    memory: Memory<'_>,
    dest: i32,
    tag: i32,
) -> Result<RequestId> {
    // SAFETY: passed on.
    let id = unsafe { isend_any(comm, memory, dest, tag, Promised::of::<P>()) }?;
    Ok(end_in_bulk::<P>(comm, id))
}

/// # Safety
/// As for [`isend`].
#[inline(never)]
unsafe fn isend_any(
    comm: &Comm,
    memory: Memory<'_>,
    dest: i32,
    tag: i32,
    promised: Promised,
) -> Result<RequestId> {
    let dest = comm.named_rank("dest", dest, promised)?;
    if !promised.no_match {
        // SAFETY: passed on.
        return unsafe { isend(comm, memory, dest, tag, Mode::Standard) };
    }
    if dest == PROC_NULL {
        return Ok(RequestId::SENT);
    }
    let dest = check_rank(comm, "dest", dest)?;
    comm.vci().pay_wake();
    let word = in_order_key(comm.match_base()).word;
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    // SAFETY: passed on.
    if unsafe { send_at_once(state, memory, comm.peer(dest), word) } {
        return Ok(RequestId::SENT);
    }
    let index = new_send(state, comm, memory, dest, word, Mode::Standard)?;
    start(state, index)
}

/// Stage one of a receive: as [`super::post`].
///
/// # Safety
/// As for [`irecv`], with `base` writable for `bytes` bytes.
// TIER: short
#[inline(always)]
pub unsafe fn post_promised<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    let route = comm.route();
    if P::NO_MATCH {
        if route.unlocked_members == 0 {
            cold_path();
            return Posted::Unreached;
        }
    } else {
        if tag < 0 {
            cold_path();
            return Posted::Refused;
        }
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
    let mut guard = comm.vci().enter_unlocked();
    let key = || key_of::<P>(comm, source, tag);
    // SAFETY: passed on.
    match unsafe { post_in(&mut guard, comm, base, bytes, key, note_bulk::<P>(comm)) } {
        Some(id) => Posted::Posted(id),
        None => {
            cold_path();
            Posted::Refused
        }
    }
}

/// The key of a receive from a rank that the fast stages reach.
#[inline(always)]
fn key_of<P: Promises>(comm: &Comm, source: i32, tag: i32) -> Key {
    if P::NO_MATCH {
        return in_order_key(comm.match_base());
    }
    let peer = if P::GLOBAL {
        LinkIndex::new(source as u32)
    } else {
        comm.route().linear_peer(Rank::new(source as u32))
    };
    Key {
        word: comm.match_base() | tag as u64,
        peer,
    }
}

/// Lets the entry of a new receive complete in bulk, if that is promised.
#[inline(always)]
fn note_bulk<P: Promises>(comm: &Comm) -> impl FnOnce(&mut RequestEntry) {
    move |entry| {
        if P::NO_REQUEST {
            entry.set_in_bulk();
            // SAFETY: the caller holds the guard of the communicator's VCI (post_in).
            unsafe { comm.owner.hold_in_bulk() };
        }
    }
}

/// Stage two of a receive that [`post_promised`] found `Unreached`.
///
/// # Safety
/// As for [`post_promised`].
#[inline(always)]
pub unsafe fn post_promised_locked<P: Promises>(
    comm: &Comm,
    base: *mut u8,
    bytes: usize,
    source: i32,
    tag: i32,
) -> Posted {
    let route = comm.route();
    if P::NO_MATCH {
        if route.fast_ranks == 0 {
            cold_path();
            return Posted::Refused;
        }
        let guard = comm.vci().try_enter();
        let key = || key_of::<P>(comm, source, tag);
        // SAFETY: passed on.
        return unsafe { post_inside(guard, comm, base, bytes, key, note_bulk::<P>(comm)) };
    }
    let Some(rank) = local_rank::<P>(comm, source) else {
        return Posted::Refused;
    };
    if P::NO_REQUEST || tag < 0 {
        return Posted::Refused;
    }
    // SAFETY: passed on.
    unsafe { post_locked(comm, base, bytes, rank.to_mpi(), tag) }
}

/// Starts a receive with promises, whatever its memory and its communicator. `source` and `tag` mean nothing where there is no matching.
///
/// # Errors
/// As for [`irecv`] and [`isend_promised`].
///
/// # Safety
/// As for [`irecv`].
pub unsafe fn irecv_promised<P: Promises>(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
) -> Result<RequestId> {
    // SAFETY: passed on.
    let id = unsafe { irecv_any(comm, memory, source, tag, Promised::of::<P>()) }?;
    Ok(end_in_bulk::<P>(comm, id))
}

/// # Safety
/// As for [`irecv`].
#[inline(never)]
unsafe fn irecv_any(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
    promised: Promised,
) -> Result<RequestId> {
    if promised.no_match {
        comm.vci().pay_wake();
        return irecv_key(comm, memory, in_order_key(comm.match_base()));
    }
    let source = match source {
        ANY_SOURCE_RANK => source,
        source => comm.named_rank("source", source, promised)?,
    };
    // SAFETY: passed on.
    unsafe { irecv(comm, memory, source, tag) }
}

/// Compares what a communicator that is about to end has received with what was sent to it, where messages are checked: messages without a
/// tag are received by receives without matching only.
///
/// # Errors
/// MPI_ERR_PENDING when such messages are there that no receive has taken.
pub fn check_received(comm: &Comm) -> Result<()> {
    if !comm.vci().checks_hints() {
        return Ok(());
    }
    comm.vci().poll();
    let guard = comm.vci().enter();
    let word = in_order_key(comm.match_base()).word;
    let left = guard.unexpected.count_of(&guard.slab, word);
    drop(guard);
    if left == 0 {
        return Ok(());
    }
    let text = format!(
        "{left} messages of _nomatch sends were not received; only _nomatch receives take them: RANKPOINT_CHECK=hints"
    );
    Err(comm.annotate(Error::new(ErrorClass::ERR_PENDING, text)))
}

/// Gives up the request of an operation, if that is promised.
#[inline(always)]
fn end_in_bulk<P: Promises>(comm: &Comm, id: RequestId) -> RequestId {
    if !P::NO_REQUEST {
        return id;
    }
    if !id.is_ended() {
        // Of a communicator whose messages are spread, it is that of another VCI.
        comm.vci().of(id).enter().end_in_bulk(id);
    }
    RequestId::NULL
}

impl Comm {
    /// The rank here of a process, by its rank in MPI_COMM_WORLD; `None` if it is no member, or members have no such ranks.
    #[inline]
    pub(crate) fn rank_of_world(&self, world_rank: i32) -> Option<Rank> {
        if world_rank as u32 >= self.process.size() || !self.has_world_ranks() {
            return None;
        }
        let process = PeerIndex::new(world_rank as u32);
        let peer = self.vci().peers().same_vci(process);
        let rank = self.owner.rank_of_peer(peer) as u32;
        (rank < self.peers).then(|| Rank::new(rank))
    }

    /// Whether the ranks of the members are those of MPI_COMM_WORLD.
    pub(crate) fn ranks_are_global(&self) -> bool {
        let is_same = |rank: u32| self.rank_of_world(rank as i32) == Some(Rank::new(rank));
        self.has_world_ranks() && (0..self.peers).all(is_same)
    }

    /// The rank here that a call with promises names, or MPI_PROC_NULL; the range of other ranks is for the next stage to check.
    ///
    /// # Errors
    /// MPI_ERR_RANK, MPI_ERR_COMM: as for [`isend_promised`].
    pub fn named<P: Promises>(&self, argument: &'static str, rank: i32) -> Result<i32> {
        self.named_rank(argument, rank, Promised::of::<P>())
    }

    /// The rank that a call names, or MPI_PROC_NULL; its range is checked by the next stage.
    #[cold]
    fn named_rank(&self, argument: &'static str, rank: i32, promised: Promised) -> Result<i32> {
        let refuse = |class, argument, value: String, expected: String| {
            Err(self.annotate(Error::argument(class, argument, value, expected)))
        };
        if rank == PROC_NULL {
            if !promised.no_proc_null {
                return Ok(rank);
            }
            let expected =
                "the rank of a process: this call promises that no rank is MPI_PROC_NULL";
            let value = "MPI_PROC_NULL".to_owned();
            return refuse(ErrorClass::ERR_RANK, argument, value, expected.to_owned());
        }
        if !promised.global {
            return Ok(rank);
        }
        if !self.has_world_ranks() {
            let value = match self.has_endpoints() {
                true => "a communicator of endpoints",
                false => "an intercommunicator",
            };
            let expected =
                "an intracommunicator of processes: this call names ranks of MPI_COMM_WORLD";
            return refuse(
                ErrorClass::ERR_COMM,
                "comm",
                value.to_owned(),
                expected.to_owned(),
            );
        }
        if let Some(found) = self.rank_of_world(rank) {
            return Ok(found.to_mpi());
        }
        let expected = format!(
            "the rank in MPI_COMM_WORLD, 0..{}, of a member of the communicator",
            self.process.size() - 1
        );
        refuse(ErrorClass::ERR_RANK, argument, rank.to_string(), expected)
    }
}
