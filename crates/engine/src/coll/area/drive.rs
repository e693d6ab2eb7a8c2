// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drivers of one round with contiguous data: a blocking call waits for the other members, a nonblocking one keeps the rest of
//! the operation with its request. Persistent calls are in [`super::persistent`].
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;

use fabric::area::LINE_BYTES;
use sys::sync::Ordering;

use super::Purpose;
use super::purpose::stamped;
use super::round::Round;
use super::shared::{Shared, shared_of, unlocked_of};
use super::span::Span;
use super::spec::{Contiguous, Needs, Readers, Spec, Then, Wakes, copy};
use crate::call::CallName;
use crate::comm::Comm;
use crate::errors::{Error, Result};
use crate::identity::LinkIndex;
use crate::op::Reduction;
use crate::request::RequestId;
use crate::task::{self, Begun, Kept, new_request};

/// The description of a round with contiguous data.
pub(super) type ContiguousSpec<R> = Spec<Contiguous, R>;

/// How a call runs its round.
pub(super) trait Driver<'a>: Copy {
    /// Result of the call; the default if the operation is complete.
    type Output: Default;

    /// Whether callers pass a receive buffer exactly at the ranks that receive.
    const ROOM_IS_EXACT: bool = false;

    /// Copies the data of a communicator with one member.
    ///
    /// # Safety
    /// `from` is readable and `into` writable, for the bytes of `from`, until the operation is complete.
    unsafe fn copy_single(self, from: Span, into: *mut u8) -> Result<Self::Output>;

    /// Takes the round of an operation; `None` where that is not possible, and nothing has been done.
    ///
    /// # Safety
    /// The description's addresses are readable, its targets writable, until the operation is complete.
    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: ContiguousSpec<R>,
    ) -> Option<Result<Self::Output>>;
}

/// How a call continues when its own data are published.
pub(super) trait Going<'a>: Copy {
    /// As [`Driver::Output`].
    type Output: Default;

    /// As [`Driver::ROOM_IS_EXACT`].
    const ROOM_IS_EXACT: bool = false;

    /// Whether it is known that this member has left all earlier rounds of the area.
    const IN_ORDER: bool = false;

    /// The name of the MPI call, for the hang report, if it may wait before its own data are published.
    fn call(self) -> Option<&'static str>;

    /// Draws the round where [`Round::draw`] does not.
    #[inline(always)]
    fn draw_elsewhere<const LOCKED: bool>(
        self,
        round: Round<'a, LOCKED>,
        published: usize,
        readers: Readers,
    ) -> Option<Result<Round<'a, LOCKED>>> {
        round.draw_elsewhere(self.call(), published, readers)
    }

    /// Goes on where members sleep that are to be woken, or the others' data are not there, or tell something new
    /// ([`Round::is_simple`]).
    fn go<R: Borrow<Reduction>, const LOCKED: bool>(
        self,
        left: Left<'a, R, LOCKED>,
        wakes: Wakes,
    ) -> Result<Self::Output>;

    /// Ends a round that is not simply left ([`Round::is_next_to_leave`]), or where somebody waits for that or something went
    /// wrong.
    #[inline(always)]
    fn end<const LOCKED: bool>(
        self,
        round: Round<'a, LOCKED>,
        needs: Needs,
        is_left: bool,
    ) -> Result<Self::Output> {
        round.end_slowly(needs, is_left)?;
        Ok(Self::Output::default())
    }
}

/// The area of a communicator, if an operation of so many bytes takes one round in it.
#[inline(always)]
pub(super) fn open(comm: &Comm, purpose: Purpose, bytes: usize) -> Option<&Shared> {
    let shared = shared_of(comm)?;
    (bytes < shared.short[purpose as usize]).then_some(shared)
}

impl<'a, G: Going<'a>> Driver<'a> for G {
    type Output = G::Output;

    const ROOM_IS_EXACT: bool = G::ROOM_IS_EXACT;

    #[inline(always)]
    unsafe fn copy_single(self, from: Span, into: *mut u8) -> Result<G::Output> {
        // SAFETY: this function's own promise.
        unsafe { copy(from.base(), into, from.bytes()) };
        Ok(G::Output::default())
    }

    #[inline(always)]
    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: ContiguousSpec<R>,
    ) -> Option<Result<G::Output>> {
        match unlocked_of(comm) {
            // SAFETY: this function's own promise.
            Some(shared) => unsafe { take_in::<G, R, false>(self, (comm, shared), spec) },
            None => {
                // SAFETY: this function's own promise.
                unsafe { take_locked(self, comm, OutlinedSpec { spec }) }
            }
        }
    }
}

/// A description in memory of its own, for an outlined function, so that the inlined code keeps its description in registers.
struct OutlinedSpec<R> {
    spec: ContiguousSpec<R>,
}

/// Takes the round at MPI_THREAD_MULTIPLE.
///
/// # Safety
/// As for [`Driver::take`].
#[cold]
#[inline(never)]
unsafe fn take_locked<'a, G: Going<'a>, R: Borrow<Reduction>>(
    going: G,
    comm: &'a Comm,
    apart: OutlinedSpec<R>,
) -> Option<Result<G::Output>> {
    let shared = shared_of(comm)?;
    // SAFETY: this function's own promise.
    unsafe { take_in::<G, R, true>(going, (comm, shared), apart.spec) }
}

/// Takes the round if the operation fits one.
///
/// # Safety
/// As for [`Driver::take`].
#[inline(always)]
unsafe fn take_in<'a, G: Going<'a>, R: Borrow<Reduction>, const LOCKED: bool>(
    going: G,
    (comm, shared): (&'a Comm, &'a Shared),
    spec: ContiguousSpec<R>,
) -> Option<Result<G::Output>> {
    if spec.bytes >= shared.short[spec.purpose as usize] {
        return None;
    }
    // SAFETY: this function's own promise.
    unsafe {
        let word = stamped(spec.purpose, spec.bytes);
        take_round::<G, R, LOCKED>(going, (comm, shared), word, spec)
    }
}

/// Draws the round, publishes the own data, and goes on. `word` is the stamp of the operation. What is not done at once is left
/// to [`Going::go`] and [`Going::end`], which do not come back here.
///
/// # Safety
/// As for [`Driver::take`]; the operation fits one round of the area.
#[inline(always)]
pub(super) unsafe fn take_round<'a, G: Going<'a>, R: Borrow<Reduction>, const LOCKED: bool>(
    going: G,
    (comm, shared): (&'a Comm, &'a Shared),
    word: u64,
    spec: ContiguousSpec<R>,
) -> Option<Result<G::Output>> {
    let Spec {
        published,
        publish,
        wakes,
        needs,
        then,
        op,
        ..
    } = spec;
    let mut round = Round::<LOCKED>::next(comm, shared, word, G::IN_ORDER);
    let readers = publish.readers();
    if published > LINE_BYTES || !round.draw(readers) {
        round = match going.draw_elsewhere(round, published, readers)? {
            Ok(drawn) => drawn,
            Err(error) => return Some(failed(error)),
        };
    }
    // SAFETY: this function's own promise; the round was drawn for as many bytes.
    unsafe { round.publish_as(publish, published, op.as_ref().map(Borrow::borrow)) };
    if round.any_asleep(wakes) || !round.is_simple(needs) {
        let left = Left {
            round,
            needs,
            then,
            op,
        };
        return Some(going.go(left, wakes));
    }
    // SAFETY: this function's own promise; the needed members have published.
    unsafe {
        round.copy_own(then);
        round.act(then, op.as_ref().map(Borrow::borrow));
    }
    if !round.is_next_to_leave() {
        return Some(going.end(round, needs, false));
    }
    if round.leave_next(needs) || !round.is_well() {
        return Some(going.end(round, needs, true));
    }
    Some(Ok(G::Output::default()))
}

/// A blocking call, by its name.
#[derive(Clone, Copy)]
pub(super) struct Blocking(pub(super) &'static str);

/// A nonblocking call: returns the rest of the operation; does nothing if it had to wait before publishing its own data.
#[derive(Clone, Copy)]
pub(super) struct Nonblocking;

/// As [`Nonblocking`], for operations on a communicator on which only one is in progress at a time.
#[derive(Clone, Copy)]
pub(super) struct Planned;

impl<'a> Going<'a> for Blocking {
    type Output = ();

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        Some(self.0)
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>, const LOCKED: bool>(
        self,
        left: Left<'a, R, LOCKED>,
        wakes: Wakes,
    ) -> Result<()> {
        left.wait_and_finish(self.0, wakes)
    }
}

impl<'a> Going<'a> for Nonblocking {
    type Output = Begun<'a>;

    const ROOM_IS_EXACT: bool = true;

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        None
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>, const LOCKED: bool>(
        self,
        left: Left<'a, R, LOCKED>,
        wakes: Wakes,
    ) -> Result<Begun<'a>> {
        left.linger(wakes)
    }
}

impl<'a> Going<'a> for Planned {
    type Output = Begun<'a>;

    const IN_ORDER: bool = true;

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        None
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>, const LOCKED: bool>(
        self,
        left: Left<'a, R, LOCKED>,
        wakes: Wakes,
    ) -> Result<Begun<'a>> {
        Nonblocking.go(left, wakes)
    }
}

#[cold]
#[inline(never)]
fn failed<T>(error: Error) -> Result<T> {
    Err(error)
}

/// The rest of a round whose own data are published: the members whose data it needs, and the actions after that.
pub(super) struct Left<'a, R, const LOCKED: bool> {
    pub(super) round: Round<'a, LOCKED>,
    pub(super) needs: Needs,
    pub(super) then: Then<Contiguous>,
    pub(super) op: Option<R>,
}

impl<const LOCKED: bool> task::Waiting for Left<'_, Reduction, LOCKED> {
    fn is_ready(&self) -> bool {
        self.round.arrived(self.needs).is_some()
    }

    fn awaited(&self) -> Option<LinkIndex> {
        self.round.absent(self.needs)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        match self.round.arrived(self.needs) {
            Some(left) => Self::finish(&self, left),
            // The data are there (is_ready).
            None => Ok(()),
        }
    }
}

/// Polls for the data of other members before a request is made: a member that arrives at the same time has published its data about
/// as soon as a request could be made.
const LINGER: u32 = 32;

impl<'a, R: Borrow<Reduction>, const LOCKED: bool> Left<'a, R, LOCKED> {
    /// Wakes the sleeping members, waits for the data of the others and does the rest.
    #[inline(never)]
    fn wait_and_finish(&self, call: &'static str, wakes: Wakes) -> Result<()> {
        self.round.wake_those(wakes);
        let left = self.round.wait(call, self.needs)?;
        self.finish(left)
    }

    /// Wakes the sleeping members, and does the rest if the data of the others arrive at once; else returns the rest.
    #[inline(never)]
    fn linger(self, wakes: Wakes) -> Result<Begun<'a>> {
        self.round.wake_those(wakes);
        if let Some(left) = (0..LINGER).find_map(|_| self.round.arrived(self.needs)) {
            return self.finish(left).map(|()| None);
        }
        let kept = Left {
            round: self.round,
            needs: self.needs,
            then: self.then,
            op: self.op.map(|op| op.borrow().clone()),
        };
        Ok(Some(Box::new(Kept(Box::new(kept)))))
    }

    /// Does the rest, when the needed data are there, of members that have left all rounds before `left`.
    fn finish(&self, left: u64) -> Result<()> {
        // SAFETY: the needed members have published; the description's memory is valid until the operation is complete
        // (Driver::take).
        unsafe {
            self.round.copy_own(self.then);
            self.round
                .act(self.then, self.op.as_ref().map(Borrow::borrow));
        }
        self.round.end(self.needs, left)
    }
}

/// The request of a collective that was complete when it was started.
#[inline(always)]
pub fn ended(comm: &Comm, call: CallName) -> RequestId {
    RequestId::ended(call, comm.handle.load(Ordering::Relaxed))
}

/// The request of a started collective with this rest.
///
/// # Errors
/// When no operation is free.
#[inline(never)]
pub fn keep(comm: &Comm, call: CallName, published: Kept<'_>) -> Result<RequestId> {
    let request = new_request(comm, call)?;
    // SAFETY: the request counts as pending on the communicator, which lives as long (Comm::hold_operation).
    comm.vci()
        .start_waiting(request, unsafe { published.keep() });
    Ok(request)
}
