// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver of persistent collectives with little data: each start takes one round, which is described once
//! ([`Described`]).
//!
//! A request has a communicator of its own ([`crate::create::plan`]), so no other operation takes rounds of its area, and this
//! member has left all earlier rounds when the next one begins. The first start that finds an area asks for the description. Before,
//! and where the operation does not fit one round, starts run futures.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;
use std::hint::assert_unchecked;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use fabric::area::LINE_BYTES;
use fabric::board::kind as record_kind;

use super::drive::{ContiguousSpec, Driver, Going, Left, Planned, open, take_round};
use super::purpose::stamped;
use super::round::Round;
use super::shared::{Shared, unlocked_of};
use super::span::Span;
use super::spec::{Needs, Publish, Readers, Shelf, Spec, Then, Wakes, copy};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;
use crate::request::{RequestEntry as Op, Start};
use crate::task::{Begun, FastPlan, Started, go_on};

/// What each start of a plan does, as a plan itself; nothing for `None`.
#[derive(Default)]
pub struct Described(Option<FastPlan>);

/// How a plan is asked what its starts do: it is told instead of done.
#[derive(Clone, Copy)]
pub(super) struct Describing;

/// What a rank alone gives to itself.
struct Alone {
    own: Span,
    target: *mut u8,
}

/// What each start finds that takes a round: what is done in it, and the area, which stays as long as the communicator.
struct RoundPlan {
    spec: ContiguousSpec<Lent>,
    shared: NonNull<Shared>,
    /// The stamp of the operation.
    word: u64,
}

impl RoundPlan {
    /// The round that its last start has drawn.
    fn last_round<'a>(&'a self, comm: &'a Comm) -> Round<'a, false> {
        // SAFETY: it stays (above).
        Round::last(comm, unsafe { self.shared.as_ref() }, self.word, true)
    }

    /// Whether two members take part whose data fit beside their stamps, and no function of the program is called.
    #[inline(always)]
    fn is_for_pair(&self) -> bool {
        // SAFETY: it stays (above).
        let members = unsafe { self.shared.as_ref() }.area.members();
        let is_user = self.spec.op().is_some_and(Reduction::is_user);
        members == 2 && self.spec.published <= LINE_BYTES && !is_user
    }
}

/// A reduction that stays where it is as long as the plan lives.
#[derive(Clone, Copy)]
struct Lent(NonNull<Reduction>);

impl Borrow<Reduction> for Lent {
    #[inline(always)]
    fn borrow(&self) -> &Reduction {
        // SAFETY: it does (`fast_plan`).
        unsafe { self.0.as_ref() }
    }
}

impl<'a> Driver<'a> for Describing {
    type Gives = Described;

    unsafe fn copy_alone(self, own: Span, target: *mut u8) -> Result<Described> {
        let alone = Box::new(Alone { own, target });
        Ok(Described(Some(FastPlan::new(alone, start_alone))))
    }

    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: ContiguousSpec<R>,
    ) -> Option<Result<Described>> {
        let shared = open(comm, spec.purpose, spec.bytes)?;
        let Spec {
            purpose,
            bytes,
            published,
            publish,
            wakes,
            needs,
            then,
            op,
        } = spec;
        let op = op.map(|op| Lent(NonNull::from(op.borrow())));
        let spec: ContiguousSpec<Lent> = Spec {
            purpose,
            bytes,
            published,
            publish,
            wakes,
            needs,
            then,
            op,
        };
        let plan = RoundPlan {
            spec,
            shared: NonNull::from(shared),
            word: stamped(purpose, bytes),
        };
        let start = start_of(&plan);
        Some(Ok(Described(Some(FastPlan::new(Box::new(plan), start)))))
    }
}

/// Tells what the starts of a plan do on its communicator, whose members have area; `None` if they have no straight line.
type Describe = dyn Fn(&Comm) -> Option<Result<Described>>;

/// A plan that is not described before it is started, and then its description.
struct Kept {
    describe: Box<Describe>,
    described: Option<FastPlan>,
}

/// How a persistent collective starts on its straight line, where functions of [`super::fast::described`] describe it.
///
/// # Safety
/// A reduction that the description names stays where it is as long as the closure lives.
pub unsafe fn fast_plan(
    describe: impl Fn(&Comm) -> Option<Result<Described>> + 'static,
) -> FastPlan {
    let kept = Kept {
        describe: Box::new(describe),
        described: None,
    };
    FastPlan::new(Box::new(kept), start_first)
}

/// What a start finds: its plan, and the communicator.
///
/// # Safety
/// The entry is a planned one of a plan of this type. What this gives is not used any longer than that.
#[inline(always)]
const unsafe fn plan_of<'a, T>(op: NonNull<Op>) -> (&'a T, &'a Comm) {
    // SAFETY: the caller's promise; the request counts as pending on its communicator.
    unsafe {
        let Op { base, owner, .. } = *op.as_ptr();
        (&*base.cast::<T>().cast_const(), Comm::of_owner(owner))
    }
}

/// Says how far the collective of an entry is.
///
/// # Safety
/// The entry is an active one, and nobody refers to it.
#[inline(always)]
const unsafe fn set_kind(op: NonNull<Op>, kind: u8) {
    // SAFETY: the caller's promise; entries never move.
    unsafe { (*op.as_ptr()).record.kind = kind };
}

/// Asks what starts do, if the members have area by now.
///
/// # Safety
/// As for each start (`request::Start`), of a [`Kept`].
unsafe fn start_first(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise. Nothing else refers to the plan meanwhile.
    unsafe {
        let entry = op.as_ptr();
        let (kept, comm) = (
            &mut *(*entry).base.cast::<Kept>(),
            Comm::of_owner((*entry).owner),
        );
        if !is_settled(comm) {
            return start_by_task(op);
        }
        let (base, start) = match (kept.describe)(comm) {
            Some(Ok(Described(Some(plan)))) => kept.described.insert(plan).parts(),
            Some(Ok(Described(None))) => ((*entry).base, start_nothing as _),
            _ => ((*entry).base, start_by_task as _),
        };
        ((*entry).base, (*entry).start) = (base, Some(start));
        start(op)
    }
}

/// Whether it is known how the members do collectives of little data: by copies of the only member, or in an area that may be
/// used without a lock.
fn is_settled(comm: &Comm) -> bool {
    comm.area.is_single() || unlocked_of(comm).is_some()
}

/// A plan whose starts run the future of the plan.
pub(crate) fn plan_by_task() -> FastPlan {
    FastPlan::new(Box::new(()), start_by_task)
}

/// Runs the future of the plan.
///
/// # Safety
/// As for each start (`request::Start`).
unsafe fn start_by_task(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(op, record_kind::OTHER);
        let Op { owner, .. } = *op.as_ptr();
        go_on(Comm::of_owner(owner).vci(), (*op.as_ptr()).id(), None)
    }
}

/// A start that has nothing more to do, as of a rank alone that gives itself nothing.
///
/// # Safety
/// As for each start (`request::Start`).
#[inline(always)]
unsafe fn start_nothing(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe { set_kind(op, record_kind::COMPLETE) };
    Started::WELL
}

/// A rank alone.
///
/// # Safety
/// As for each start (`request::Start`), of an [`Alone`].
unsafe fn start_alone(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise; what is given is readable, and what is got writable, while the request is active.
    unsafe {
        let (&Alone { own, target }, _) = plan_of(op);
        copy(own.base(), target, own.bytes());
        start_nothing(op)
    }
}

/// Takes the next round.
///
/// # Safety
/// As for each start (`request::Start`), of a [`RoundPlan`].
#[inline(never)]
unsafe fn start_round(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise; what is given is readable, and what is got writable, while the request is active.
    unsafe {
        set_kind(op, record_kind::OTHER);
        let (plan, comm) = plan_of::<RoundPlan>(op);
        let area = (comm, plan.shared.as_ref());
        end_or_go_on(
            op,
            take_round::<_, _, false>(Planned, area, plan.word, plan.spec),
        )
    }
}

/// Writes a start for each form of a description that pairs have ([`RoundPlan::is_for_pair`]): [`start_round`], of which the
/// compiler keeps what such a description needs. A start that copies single words calls nothing, so it saves no registers.
macro_rules! starts {
    ($(($publish:pat, $wakes:pat, $needs:pat, $then:pat) => $name:ident;)*) => {
        $(
            /// Takes the next round.
            ///
            /// # Safety
            /// As for each start (`request::Start`), of a [`RoundPlan`] of this form.
            unsafe fn $name<const WORDS: bool>(op: NonNull<Op>) -> Started {
                // SAFETY: the caller's promise.
                unsafe {
                    let (plan, comm) = plan_of::<RoundPlan>(op);
                    let spec = plan.spec;
                    assert_unchecked(plan.is_for_pair());
                    assert_unchecked(matches!(spec.publish, $publish));
                    assert_unchecked(matches!(spec.wakes, $wakes));
                    assert_unchecked(matches!(spec.needs, $needs));
                    assert_unchecked(matches!(spec.then, $then));
                    assert_unchecked(!WORDS || spec.copies_words());
                    start_pair(op, comm, plan, spec)
                }
            }
        )*

        /// The start of a plan.
        fn start_of(plan: &RoundPlan) -> Start {
            let words = plan.spec.copies_words();
            match plan.spec {
                _ if !plan.is_for_pair() => start_round,
                $(
                    Spec { publish: $publish, wakes: $wakes, needs: $needs, then: $then, .. } => {
                        if words { $name::<true> } else { $name::<false> }
                    }
                )*
                _ => start_round,
            }
        }
    };
}

starts! {
    (Publish::Stamp, Wakes::All, Needs::All, Then::Nothing) => start_barrier;
    (Publish::Own(_), Wakes::All, Needs::Nobodys, Then::Nothing) => start_bcast;
    (Publish::Own(_), Wakes::All, Needs::Nobodys, Then::CopyOwn { .. }) => start_scatter;
    (Publish::Nothing, Wakes::Nobody, Needs::One(_), Then::Copy { .. }) => start_receive;
    (Publish::Own(_), Wakes::One(_), Needs::Nobodys, Then::Nothing) => start_send;
    (
        Publish::Nothing, Wakes::Nobody, Needs::All,
        Then::CopyAll { shelf: Shelf { has_own: true, .. }, own: Some(_), .. }
    ) => start_gather;
    (
        Publish::Own(_), Wakes::All, Needs::All,
        Then::CopyAll { shelf: Shelf { has_own: true, .. }, own: Some(_), .. }
    ) => start_allgather;
    (Publish::Nothing, Wakes::Nobody, Needs::All, Then::Fold { last: 1, own: Some(_), .. }) => start_reduce;
    (Publish::Own(_), Wakes::All, Needs::All, Then::Fold { last: 1, own: Some(_), .. }) => start_allreduce;
    (Publish::Own(_), Wakes::All, Needs::All, Then::Fold { last: 1, own: None, .. }) => start_reduce_scatter;
    (Publish::Later, Wakes::Nobody, Needs::Nobodys, Then::PassOn { .. }) => start_scan_first;
    (Publish::Later, Wakes::Nobody, Needs::One(_), Then::PassOn { .. }) => start_scan_last;
}

/// How the start of a pair goes on: what is not done at once is left to functions that find with the request what they need, so
/// that the start keeps nothing for them.
#[derive(Clone, Copy)]
struct Pair(NonNull<Op>);

impl<'a> Going<'a> for Pair {
    /// What the start gives that was left to another function.
    type Gives = Option<Started>;

    const IN_ORDER: bool = true;

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        None
    }

    #[inline(always)]
    fn draw_elsewhere<const LOCKED: bool>(
        self,
        _: Round<'a, LOCKED>,
        _: usize,
        _: Readers,
    ) -> Option<Result<Round<'a, LOCKED>>> {
        None
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>, const LOCKED: bool>(
        self,
        _: Left<'a, R, LOCKED>,
        _: Wakes,
    ) -> Result<Option<Started>> {
        // SAFETY: as for `start_pair`.
        Ok(Some(unsafe { go_on_apart(self.0) }))
    }

    #[inline(always)]
    fn end<const LOCKED: bool>(
        self,
        _: Round<'a, LOCKED>,
        _: Needs,
        _: bool,
    ) -> Result<Option<Started>> {
        // SAFETY: as for `start_pair`.
        Ok(Some(unsafe { end_apart(self.0) }))
    }
}

/// Takes the next round of a pair, which no function of the program sees: the request is as it was until the round is over.
///
/// # Safety
/// As for each start (`request::Start`), of a [`RoundPlan`] with this description.
#[inline(always)]
unsafe fn start_pair(
    op: NonNull<Op>,
    comm: &Comm,
    plan: &RoundPlan,
    spec: ContiguousSpec<Lent>,
) -> Started {
    // SAFETY: the caller's promise; what is given is readable, and what is got writable, while the request is active.
    unsafe {
        let area = (comm, plan.shared.as_ref());
        match take_round::<_, _, false>(Pair(op), area, plan.word, spec) {
            Some(Ok(None)) => start_nothing(op),
            Some(Ok(Some(started))) => started,
            Some(Err(error)) => end_or_go_on(op, Some(Err(error))),
            None => start_round(op),
        }
    }
}

/// Goes on where the own data are published.
///
/// # Safety
/// As for each start (`request::Start`), of a [`RoundPlan`].
#[cold]
#[inline(never)]
unsafe fn go_on_apart(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(op, record_kind::OTHER);
        let (plan, comm) = plan_of::<RoundPlan>(op);
        let left = Left {
            round: plan.last_round(comm),
            needs: plan.spec.needs,
            then: plan.spec.then,
            op: plan.spec.op,
        };
        end_or_go_on(op, Some(Planned.go(left, plan.spec.wakes)))
    }
}

/// Wakes who waits for this member to leave the round, which it has left.
///
/// # Safety
/// As for each start (`request::Start`), of a [`RoundPlan`].
#[cold]
#[inline(never)]
unsafe fn end_apart(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(op, record_kind::OTHER);
        let (plan, comm) = plan_of::<RoundPlan>(op);
        let ended = plan.last_round(comm).end_slowly(plan.spec.needs, true);
        end_or_go_on(op, Some(ended.map(|()| None)))
    }
}

/// Notes what came of a start: most often it is complete.
///
/// # Safety
/// As for each start (`request::Start`).
#[inline(always)]
unsafe fn end_or_go_on(op: NonNull<Op>, begun: Option<Result<Begun<'_>>>) -> Started {
    let begun = ManuallyDrop::new(begun);
    // SAFETY: the caller's promise. The request lives, because it is active: if a function of the program frees it meanwhile, it is
    // released when it is complete.
    unsafe {
        let entry = op.as_ref();
        if matches!(*begun, Some(Ok(None)))
            && entry.state() == Op::planned_state_of(record_kind::OTHER)
        {
            set_kind(op, record_kind::COMPLETE);
            return Started::WELL;
        }
        go_on(
            Comm::of_owner(entry.owner).vci(),
            entry.id(),
            ManuallyDrop::into_inner(begun),
        )
    }
}
