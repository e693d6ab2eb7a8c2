// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver of persistent collectives with little data: each start takes one round, which is described once
//! ([`Described`]).
//!
//! A request has a communicator of its own ([`crate::create::plan`]), so no other operation takes rounds of its area, and this
//! member has left all earlier rounds when the next one begins. The first start that finds an area asks for the description. Before,
//! and where the operation does not fit one round, starts run futures.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use fabric::board::kind as record_kind;

use super::drive::{Driver, PlainSpec, Planned, open};
use super::shared::unlocked_of;
use super::span::Span;
use super::spec::{Spec, copy};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;
use crate::request::RequestEntry as Op;
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
        spec: PlainSpec<R>,
    ) -> Option<Result<Described>> {
        open(comm, spec.purpose, spec.bytes)?;
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
        let spec: PlainSpec<Lent> = Spec {
            purpose,
            bytes,
            published,
            publish,
            wakes,
            needs,
            then,
            op,
        };
        let plan = FastPlan::new(Box::new(spec), start_round);
        Some(Ok(Described(Some(plan))))
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

/// A rank alone, which gives itself nothing.
///
/// # Safety
/// As for each start (`request::Start`).
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
/// As for each start (`request::Start`), of a plan that begins with a `Step<Lent>`.
unsafe fn start_round(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise; what is given is readable, and what is got writable, while the request is active.
    unsafe {
        set_kind(op, record_kind::OTHER);
        let (spec, comm) = plan_of::<PlainSpec<Lent>>(op);
        end_or_go_on(op, Planned.take(comm, *spec))
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
