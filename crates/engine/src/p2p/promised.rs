// SPDX-License-Identifier: MIT OR Apache-2.0
//! What callers of sends and receives may promise where MPI leaves it open, so that less has to be decided at run time: the proposals of
//! Raffenetti et al., "Why Is MPI So Slow?" (SC'17), section 3.
//!
//! The fast stages ([`super::fast`]) are generic over [`Promises`]; [`isend_promised`] and [`irecv_promised`] take what they leave and check
//! all arguments. A message without a tag ([`Promises::NO_MATCH`]) is received in the order of arrival within its communicator, by receives
//! that make the same promise only.

use super::arguments::{ANY_SOURCE_RANK, PROC_NULL, check_rank};
use super::receive::{irecv, irecv_key};
use super::send::{Mode, isend, new_send, send_at_once, start};
use crate::comm::Comm;
use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{PeerIndex, Rank};
use crate::request::RequestId;
use crate::vci::matching::in_order_key;

/// What a call promises; constants, so that the fast stages contain only what is left to decide. An ordinary call promises nothing.
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

/// No promise.
#[derive(Clone, Copy, Debug)]
pub struct NoPromise;

impl Promises for NoPromise {}

/// The same as values, for the stages that serve all calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Promised {
    global: bool,
    no_proc_null: bool,
    no_match: bool,
}

impl Promised {
    /// What ordinary calls promise.
    const NOTHING: Self = Self::of::<NoPromise>();

    const fn of<P: Promises>() -> Self {
        Self {
            global: P::GLOBAL,
            no_proc_null: P::NO_PROC_NULL,
            no_match: P::NO_MATCH,
        }
    }
}

/// The rank of the communicator that the call names; `None` if there is none.
// account: rank-translation
#[inline(always)]
pub(super) fn local_rank<P: Promises>(comm: &Comm, rank: i32) -> Option<Rank> {
    if P::GLOBAL {
        comm.rank_of_world(rank)
    } else {
        Some(Rank::new(rank as u32))
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
// account: request
pub unsafe fn isend_promised<P: Promises>(
    comm: &Comm,
    memory: Memory<'_>,
    dest: i32,
    tag: i32,
) -> Result<RequestId> {
    let promised = const { Promised::of::<P>() };
    let id = match promised {
        // SAFETY: passed on.
        Promised::NOTHING => unsafe { isend(comm, memory, dest, tag, Mode::Standard) },
        // SAFETY: passed on.
        promised => unsafe { isend_any(comm, memory, dest, tag, promised) },
    }?;
    Ok(end_in_bulk::<P>(comm, id))
}

/// # Safety
/// As for [`isend`].
// account: request
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
    if !state.is_traced() && unsafe { send_at_once(state, memory, comm.peer(dest), word) } {
        return Ok(RequestId::SENT);
    }
    let index = new_send(state, comm, memory, dest, word, Mode::Standard)?;
    start(state, index)
}

/// Starts a receive with promises, whatever its memory and its communicator. `source` and `tag` mean nothing where there is no matching.
///
/// # Errors
/// As for [`irecv`] and [`isend_promised`].
///
/// # Safety
/// As for [`irecv`].
// account: request
pub unsafe fn irecv_promised<P: Promises>(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
) -> Result<RequestId> {
    let promised = const { Promised::of::<P>() };
    let id = match promised {
        // SAFETY: passed on.
        Promised::NOTHING => unsafe { irecv(comm, memory, source, tag) },
        // SAFETY: passed on.
        promised => unsafe { irecv_any(comm, memory, source, tag, promised) },
    }?;
    Ok(end_in_bulk::<P>(comm, id))
}

/// # Safety
/// As for [`irecv`].
// account: request
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
// account: request
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
    /// The rank here of a process, by its rank in MPI_COMM_WORLD; `None` if it is no member, members have no such ranks, or the world is
    /// one of added processes ([`Self::rank_of_added`]).
    // account: rank-translation
    #[inline]
    pub(crate) fn rank_of_world(&self, world_rank: i32) -> Option<Rank> {
        if world_rank as u32 >= self.process.numbered_ranks || !self.has_world_ranks() {
            return None;
        }
        self.rank_of_process(PeerIndex::new(world_rank as u32))
    }

    /// As [`Self::rank_of_world`], in the world of processes that were added to the job.
    #[cold]
    #[inline(never)]
    pub(crate) fn rank_of_added(&self, world_rank: i32) -> Option<Rank> {
        let world = self.process.world_processes();
        let rank = u32::try_from(world_rank).ok()?;
        let is_rank = world.start != 0 && rank < self.process.size() && self.has_world_ranks();
        is_rank.then(|| self.rank_of_process(PeerIndex::new(world.start + rank)))?
    }

    // account: rank-translation
    #[inline(always)]
    fn rank_of_process(&self, process: PeerIndex) -> Option<Rank> {
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
    // account: rank-translation
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
        if let Some(found) = self
            .rank_of_world(rank)
            .or_else(|| self.rank_of_added(rank))
        {
            return Ok(found.to_mpi());
        }
        let expected = format!(
            "the rank in MPI_COMM_WORLD, 0..{}, of a member of the communicator",
            self.process.size() - 1
        );
        refuse(ErrorClass::ERR_RANK, argument, rank.to_string(), expected)
    }
}
