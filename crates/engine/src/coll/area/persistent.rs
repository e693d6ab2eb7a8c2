// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver of persistent collectives with little data: each start takes one round, which is described once
//! ([`PlannedStart`]).
//!
//! A request has a communicator of its own ([`crate::create::plan`]), so no other operation takes rounds of its area, and this
//! member has left all earlier rounds when the next one begins. The first start that finds an area makes the description. Earlier
//! starts, and operations that do not fit one round, run futures.
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
use crate::request::{RequestEntry, Start};
use crate::task::{Begun, FastPlan, Started, go_on};

/// The plan of each later start; `None` if a start has nothing to do.
#[derive(Default)]
pub struct PlannedStart(Option<FastPlan>);

/// The driver that makes the plan of a start instead of running the operation.
#[derive(Clone, Copy)]
pub(super) struct Describing;

/// The copy of a communicator with one member.
struct SingleCopy {
    own: Span,
    target: *mut u8,
}

/// The plan of a start that takes a round: the round's description, and the area, which lives as long as the communicator.
struct RoundPlan {
    spec: ContiguousSpec<Lent>,
    shared: NonNull<Shared>,
    /// The stamp of the operation.
    word: u64,
}

impl RoundPlan {
    /// The round that its last start has drawn.
    fn last_round<'a>(&'a self, comm: &'a Comm) -> Round<'a, false> {
        // SAFETY: the area lives as long as the communicator (above).
        Round::last(comm, unsafe { self.shared.as_ref() }, self.word, true)
    }

    /// Whether two members take part whose data fit beside their stamps, and no function of the program is called.
    #[inline(always)]
    fn is_for_pair(&self) -> bool {
        // SAFETY: the area lives as long as the communicator (above).
        let members = unsafe { self.shared.as_ref() }.area.members();
        let is_user = self.spec.op().is_some_and(Reduction::is_user);
        members == 2 && self.spec.published <= LINE_BYTES && !is_user
    }
}

/// A reduction that does not move while the plan lives.
#[derive(Clone, Copy)]
struct Lent(NonNull<Reduction>);

impl Borrow<Reduction> for Lent {
    #[inline(always)]
    fn borrow(&self) -> &Reduction {
        // SAFETY: it does not move (`fast_plan`).
        unsafe { self.0.as_ref() }
    }
}

impl<'a> Driver<'a> for Describing {
    type Output = PlannedStart;

    unsafe fn copy_single(self, own: Span, target: *mut u8) -> Result<PlannedStart> {
        let copy = Box::new(SingleCopy { own, target });
        Ok(PlannedStart(Some(FastPlan::new(copy, start_single))))
    }

    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: ContiguousSpec<R>,
    ) -> Option<Result<PlannedStart>> {
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
        Some(Ok(PlannedStart(Some(FastPlan::new(Box::new(plan), start)))))
    }
}

/// Makes the plan of the starts on a communicator whose members have an area; `None` if they have no fast path.
type Describe = dyn Fn(&Comm) -> Option<Result<PlannedStart>>;

/// A plan that is made by its first start.
struct LazyPlan {
    describe: Box<Describe>,
    start: Option<FastPlan>,
}

/// The plan of a persistent collective with a fast path, which a function of [`super::fast::planned`] describes.
///
/// # Safety
/// A reduction that the description names does not move while the closure lives.
pub unsafe fn fast_plan(
    describe: impl Fn(&Comm) -> Option<Result<PlannedStart>> + 'static,
) -> FastPlan {
    let kept = LazyPlan {
        describe: Box::new(describe),
        start: None,
    };
    FastPlan::new(Box::new(kept), start_first)
}

/// The plan and the communicator of a start.
///
/// # Safety
/// The entry is a planned one of a plan of this type. What this gives is not used any longer than that.
#[inline(always)]
const unsafe fn plan_of<'a, T>(entry: NonNull<RequestEntry>) -> (&'a T, &'a Comm) {
    // SAFETY: the caller's promise; the request counts as pending on its communicator.
    unsafe {
        let RequestEntry { base, owner, .. } = *entry.as_ptr();
        (&*base.cast::<T>().cast_const(), Comm::of_owner(owner))
    }
}

/// Sets the state of an entry's collective.
///
/// # Safety
/// The entry is an active one, and nobody refers to it.
#[inline(always)]
const unsafe fn set_kind(entry: NonNull<RequestEntry>, kind: u8) {
    // SAFETY: the caller's promise; entries never move.
    unsafe { (*entry.as_ptr()).record.kind = kind };
}

/// Makes the plan if the members have an area by now, and starts.
///
/// # Safety
/// As for each start (`request::Start`), of a [`LazyPlan`].
unsafe fn start_first(entry: NonNull<RequestEntry>) -> Started {
    // SAFETY: the caller's promise. Nothing else refers to the plan meanwhile.
    unsafe {
        let fields = entry.as_ptr();
        let (kept, comm) = (
            &mut *(*fields).base.cast::<LazyPlan>(),
            Comm::of_owner((*fields).owner),
        );
        if !is_settled(comm) {
            return start_by_task(entry);
        }
        let (base, start) = match (kept.describe)(comm) {
            Some(Ok(PlannedStart(Some(plan)))) => kept.start.insert(plan).parts(),
            Some(Ok(PlannedStart(None))) => ((*fields).base, start_nothing as _),
            _ => ((*fields).base, start_by_task as _),
        };
        (*fields).base = base;
        (*fields).task_mut().start = Some(start);
        start(entry)
    }
}

/// Whether the fast path of the communicator is known: copies of a single member, or an area that may be used without a lock.
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
unsafe fn start_by_task(entry: NonNull<RequestEntry>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(entry, record_kind::COLLECTIVE);
        let RequestEntry { owner, .. } = *entry.as_ptr();
        go_on(Comm::of_owner(owner).vci(), (*entry.as_ptr()).id(), None)
    }
}

/// A start with nothing to do, for example of a communicator with one member and data in place.
///
/// # Safety
/// As for each start (`request::Start`).
#[inline(always)]
unsafe fn start_nothing(entry: NonNull<RequestEntry>) -> Started {
    // SAFETY: the caller's promise.
    unsafe { set_kind(entry, record_kind::COMPLETE) };
    Started::WELL
}

/// A communicator with one member.
///
/// # Safety
/// As for each start (`request::Start`), of a [`SingleCopy`].
unsafe fn start_single(entry: NonNull<RequestEntry>) -> Started {
    // SAFETY: the caller's promise; what is given is readable, and what is got writable, while the request is active.
    unsafe {
        let (&SingleCopy { own, target }, _) = plan_of(entry);
        copy(own.base(), target, own.bytes());
        start_nothing(entry)
    }
}

/// Takes the next round.
///
/// # Safety
/// As for each start (`request::Start`), of a [`RoundPlan`].
#[inline(never)]
unsafe fn start_round(entry: NonNull<RequestEntry>) -> Started {
    // SAFETY: the caller's promise; what is given is readable, and what is got writable, while the request is active.
    unsafe {
        set_kind(entry, record_kind::COLLECTIVE);
        let (plan, comm) = plan_of::<RoundPlan>(entry);
        let area = (comm, plan.shared.as_ref());
        end_or_go_on(
            entry,
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
            unsafe fn $name<const WORDS: bool>(entry: NonNull<RequestEntry>) -> Started {
                // SAFETY: the caller's promise.
                unsafe {
                    let (plan, comm) = plan_of::<RoundPlan>(entry);
                    let spec = plan.spec;
                    assert_unchecked(plan.is_for_pair());
                    assert_unchecked(matches!(spec.publish, $publish));
                    assert_unchecked(matches!(spec.wakes, $wakes));
                    assert_unchecked(matches!(spec.needs, $needs));
                    assert_unchecked(matches!(spec.then, $then));
                    assert_unchecked(!WORDS || spec.copies_words());
                    start_pair(entry, comm, plan, spec)
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
struct Pair(NonNull<RequestEntry>);

impl<'a> Going<'a> for Pair {
    /// What the start gives that was left to another function.
    type Output = Option<Started>;

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
    entry: NonNull<RequestEntry>,
    comm: &Comm,
    plan: &RoundPlan,
    spec: ContiguousSpec<Lent>,
) -> Started {
    // SAFETY: the caller's promise; what is given is readable, and what is got writable, while the request is active.
    unsafe {
        let area = (comm, plan.shared.as_ref());
        match take_round::<_, _, false>(Pair(entry), area, plan.word, spec) {
            Some(Ok(None)) => start_nothing(entry),
            Some(Ok(Some(started))) => started,
            Some(Err(error)) => end_or_go_on(entry, Some(Err(error))),
            None => start_round(entry),
        }
    }
}

/// Goes on where the own data are published.
///
/// # Safety
/// As for each start (`request::Start`), of a [`RoundPlan`].
#[cold]
#[inline(never)]
unsafe fn go_on_apart(entry: NonNull<RequestEntry>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(entry, record_kind::COLLECTIVE);
        let (plan, comm) = plan_of::<RoundPlan>(entry);
        let left = Left {
            round: plan.last_round(comm),
            needs: plan.spec.needs,
            then: plan.spec.then,
            op: plan.spec.op,
        };
        end_or_go_on(entry, Some(Planned.go(left, plan.spec.wakes)))
    }
}

/// Wakes who waits for this member to leave the round, which it has left.
///
/// # Safety
/// As for each start (`request::Start`), of a [`RoundPlan`].
#[cold]
#[inline(never)]
unsafe fn end_apart(entry: NonNull<RequestEntry>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(entry, record_kind::COLLECTIVE);
        let (plan, comm) = plan_of::<RoundPlan>(entry);
        let ended = plan.last_round(comm).end_slowly(plan.spec.needs, true);
        end_or_go_on(entry, Some(ended.map(|()| None)))
    }
}

/// Completes the entry of a start that is complete, as usual, or keeps the rest of the operation.
///
/// # Safety
/// As for each start (`request::Start`).
#[inline(always)]
unsafe fn end_or_go_on(entry: NonNull<RequestEntry>, begun: Option<Result<Begun<'_>>>) -> Started {
    let begun = ManuallyDrop::new(begun);
    // SAFETY: the caller's promise. The request lives, because it is active: if a function of the program frees it meanwhile, it is
    // released when it is complete.
    unsafe {
        let fields = entry.as_ref();
        if matches!(*begun, Some(Ok(None)))
            && fields.state() == RequestEntry::planned_state_of(record_kind::COLLECTIVE)
        {
            set_kind(entry, record_kind::COMPLETE);
            return Started::WELL;
        }
        go_on(
            Comm::of_owner(fields.owner).vci(),
            fields.id(),
            ManuallyDrop::into_inner(begun),
        )
    }
}
