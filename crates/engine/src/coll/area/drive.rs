// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drivers of one round with contiguous data: a blocking call waits for the other members, a nonblocking one keeps what is
//! left with its request. Persistent calls are in [`super::persistent`].
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
use crate::op::Reduction;
use crate::request::RequestId;
use crate::task::{self, Begun, Kept, new_request};

/// The description of a round with contiguous data.
pub(super) type ContiguousSpec<R> = Spec<Contiguous, R>;

/// How a call goes through its round.
pub(super) trait Driver<'a>: Copy {
    /// Result of the call; the default where nothing is left to do.
    type Gives: Default;

    /// Whether a caller gives room for results to a rank that gets some, and to no other one.
    const ROOM_IS_EXACT: bool = false;

    /// Copies what a rank alone gives to itself.
    ///
    /// # Safety
    /// `from` is readable and `into` writable, for the bytes of `from`, until the operation is complete.
    unsafe fn copy_alone(self, from: Span, into: *mut u8) -> Result<Self::Gives>;

    /// Takes the round of an operation; `None` where that is not possible, and nothing has been done.
    ///
    /// # Safety
    /// The description's addresses are readable, its targets writable, until the operation is complete.
    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: ContiguousSpec<R>,
    ) -> Option<Result<Self::Gives>>;
}

/// How a call goes on when its own data are published.
pub(super) trait Going<'a>: Copy {
    /// As [`Driver::Gives`].
    type Gives: Default;

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
    ) -> Result<Self::Gives>;

    /// Ends a round that is not simply left ([`Round::is_next_to_leave`]), or where somebody waits for that or something went
    /// wrong.
    #[inline(always)]
    fn end<const LOCKED: bool>(
        self,
        round: Round<'a, LOCKED>,
        needs: Needs,
        is_left: bool,
    ) -> Result<Self::Gives> {
        round.end_slowly(needs, is_left)?;
        Ok(Self::Gives::default())
    }
}

/// The area of a communicator, if an operation of so many bytes takes one round in it.
#[inline(always)]
pub(super) fn open(comm: &Comm, purpose: Purpose, bytes: usize) -> Option<&Shared> {
    let shared = shared_of(comm)?;
    (bytes < shared.short[purpose as usize]).then_some(shared)
}

impl<'a, G: Going<'a>> Driver<'a> for G {
    type Gives = G::Gives;

    const ROOM_IS_EXACT: bool = G::ROOM_IS_EXACT;

    #[inline(always)]
    unsafe fn copy_alone(self, from: Span, into: *mut u8) -> Result<G::Gives> {
        // SAFETY: this function's own promise.
        unsafe { copy(from.base(), into, from.bytes()) };
        Ok(G::Gives::default())
    }

    #[inline(always)]
    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: ContiguousSpec<R>,
    ) -> Option<Result<G::Gives>> {
        match unlocked_of(comm) {
            // SAFETY: this function's own promise.
            Some(shared) => unsafe { take_in::<G, R, false>(self, (comm, shared), spec) },
            None => {
                // SAFETY: this function's own promise.
                unsafe { take_locked(self, comm, Apart { spec }) }
            }
        }
    }
}

/// A description for a call that is not inlined: in memory of its own, so that the other one needs none.
struct Apart<R> {
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
    apart: Apart<R>,
) -> Option<Result<G::Gives>> {
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
) -> Option<Result<G::Gives>> {
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
) -> Option<Result<G::Gives>> {
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
    Some(Ok(G::Gives::default()))
}

/// A blocking call, by its name.
#[derive(Clone, Copy)]
pub(super) struct Waiting(pub(super) &'static str);

/// A nonblocking call: gives what is left to do, and does nothing where it would have to wait before its own data are published.
#[derive(Clone, Copy)]
pub(super) struct AtOnce;

/// As [`AtOnce`], for operations on a communicator on which only one is in progress at a time.
#[derive(Clone, Copy)]
pub(super) struct Planned;

impl<'a> Going<'a> for Waiting {
    type Gives = ();

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

impl<'a> Going<'a> for AtOnce {
    type Gives = Begun<'a>;

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
    type Gives = Begun<'a>;

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
        AtOnce.go(left, wakes)
    }
}

#[cold]
#[inline(never)]
fn failed<T>(error: Error) -> Result<T> {
    Err(error)
}

/// A round of which the own data are published: whose data it needs, and what is to be done then.
pub(super) struct Left<'a, R, const LOCKED: bool> {
    pub(super) round: Round<'a, LOCKED>,
    pub(super) needs: Needs,
    pub(super) then: Then<Contiguous>,
    pub(super) op: Option<R>,
}

impl<const LOCKED: bool> task::Waiting for Left<'_, Reduction, LOCKED> {
    fn is_ready(&self) -> bool {
        self.round.look(self.needs).is_some()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        match self.round.look(self.needs) {
            Some(left) => Self::finish(&self, left),
            // The data are there (is_ready).
            None => Ok(()),
        }
    }
}

/// Polls for the others' data before they are waited for elsewhere: a member that comes at the same time has published its data about
/// as soon as a request could be made.
const LINGER: u32 = 32;

impl<'a, R: Borrow<Reduction>, const LOCKED: bool> Left<'a, R, LOCKED> {
    /// Wakes those that sleep, waits for the others' data and does what is left.
    #[inline(never)]
    fn wait_and_finish(&self, call: &'static str, wakes: Wakes) -> Result<()> {
        self.round.wake_those(wakes);
        let left = self.round.wait(call, self.needs)?;
        self.finish(left)
    }

    /// Wakes those that sleep, and does what is left if the others' data come at once; else that is the result.
    #[inline(never)]
    fn linger(self, wakes: Wakes) -> Result<Begun<'a>> {
        self.round.wake_those(wakes);
        if let Some(left) = (0..LINGER).find_map(|_| self.round.look(self.needs)) {
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

    /// Does what is left when the needed data are there, of members that have left all rounds before `left`.
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

/// The request of a collective that has been started, of which this is left.
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
