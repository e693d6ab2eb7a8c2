// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent collectives of two members whose data fit beside their stamps: a start shows the own data, and does what is left if the other
//! member has shown its own. Everything else (a place that is not free, somebody who sleeps, data that are not there) is left to functions
//! apart, which are jumped to, so that nothing has to be kept for them.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;
use std::ptr::NonNull;

use fabric::board::kind as record_kind;
use fabric::commons::{Lane, Spot};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::sync::AtomicU32;

use super::{Lent, end_or_go_on, plan_of, set_kind, start_turn};
use crate::coll::commons::{Encounter, Shared};
use crate::coll::purpose::stamped;
use crate::coll::shown::AtOnce;
use crate::coll::step::{Going, Needs, Rest, Show, Step, Wakes, copy};
use crate::op::{Kernel, Reduction};
use crate::request::Op;
use crate::task::{ShortPlan, Started};

/// A start of a member that shows `S` and then does `A`.
#[repr(C)]
struct Pair<S, A> {
    /// The same as one of many members does it, for who needs that.
    step: Step<Lent>,
    lane: Lane,
    shared: NonNull<Shared>,
    /// Whether the other member sleeps.
    asleep: &'static AtomicU32,
    word: u64,
    shows: S,
    does: A,
}

/// What a member shows.
trait Shows {
    /// Whether that is anything.
    const ANYTHING: bool = true;

    /// Writes it into its place.
    ///
    /// # Safety
    /// The own data are readable, and the place is free.
    unsafe fn show(&self, place: *mut u8);
}

/// What a member does when the other one's data are there, if it needs them.
trait Does {
    /// Whether it does.
    const NEEDS: bool = true;

    /// Does it.
    ///
    /// # Safety
    /// The own data are readable, the targets writable, and the other member's data are there.
    unsafe fn act(&self, spot: Spot<'_>);
}

/// It shows no data and no stamp.
struct Silent;

/// It shows that it has come.
struct Stamp;

struct Data {
    from: *const u8,
    bytes: usize,
}

struct Nothing;

/// Nothing, when the other member has come.
struct Await;

/// A piece of the other member's data goes to the target.
struct Take {
    skip: usize,
    target: *mut u8,
    bytes: usize,
}

/// The own piece goes to the target.
struct Keep {
    from: *const u8,
    target: *mut u8,
    bytes: usize,
}

struct Both(Keep, Take);

/// Both members' elements are combined.
struct Fold {
    kernel: Kernel,
    own: *const u8,
    /// Where the other member's elements begin in its data.
    skip: usize,
    target: *mut u8,
    count: usize,
    /// Whether the own ones come first.
    is_first: bool,
}

impl Shows for Silent {
    const ANYTHING: bool = false;

    #[inline(always)]
    unsafe fn show(&self, _: *mut u8) {}
}

impl Shows for Stamp {
    #[inline(always)]
    unsafe fn show(&self, _: *mut u8) {}
}

impl Shows for Data {
    #[inline(always)]
    unsafe fn show(&self, place: *mut u8) {
        // SAFETY: the caller's promise; there is room (`plan`).
        unsafe { copy(self.from, place, self.bytes) };
    }
}

impl Does for Nothing {
    const NEEDS: bool = false;

    #[inline(always)]
    unsafe fn act(&self, _: Spot<'_>) {}
}

impl Does for Await {
    #[inline(always)]
    unsafe fn act(&self, _: Spot<'_>) {}
}

impl Does for Take {
    #[inline(always)]
    unsafe fn act(&self, spot: Spot<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            copy(
                spot.theirs().wrapping_add(self.skip),
                self.target,
                self.bytes,
            )
        };
    }
}

impl Does for Keep {
    const NEEDS: bool = false;

    #[inline(always)]
    unsafe fn act(&self, _: Spot<'_>) {
        // SAFETY: the caller's promise.
        unsafe { copy(self.from, self.target, self.bytes) };
    }
}

impl Does for Both {
    #[inline(always)]
    unsafe fn act(&self, spot: Spot<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.act(spot);
            self.1.act(spot);
        }
    }
}

impl Does for Fold {
    #[inline(always)]
    unsafe fn act(&self, spot: Spot<'_>) {
        let theirs = spot.theirs().wrapping_add(self.skip);
        let (left, right) = match self.is_first {
            true => (self.own, theirs),
            false => (theirs, self.own),
        };
        // SAFETY: the caller's promise; the kernel is that of the elements (`Reduction::kernel`), and the target one of the operands or
        // apart from both (`fold`).
        unsafe { (self.kernel)(left, right, self.target, self.count) };
    }
}

/// The plan of a step of one of two members; the step as it is if it is none, or too long.
pub(super) fn plan(shared: &Shared, step: Step<Lent>) -> Result<ShortPlan, Step<Lent>> {
    let Some(lane) = shared.lane() else {
        return Err(step);
    };
    let me = shared.rank();
    let step = simplified(step, me);
    if step.shown > Lane::BYTES {
        return Err(step);
    }
    let maker = Maker { shared, lane, step };
    match (step.show, step.needs, does(&step, me)) {
        (Show::Stamp, Needs::All, Some(Work::Nothing)) => Ok(maker.make(Stamp, Await)),
        (Show::Nothing, Needs::One(_), Some(Work::Take(take))) => Ok(maker.make(Silent, take)),
        (Show::Nothing, Needs::All, Some(Work::Both(both))) => Ok(maker.make(Silent, both)),
        (Show::Nothing, Needs::All | Needs::One(_), Some(Work::Fold(fold))) => {
            Ok(maker.make(Silent, fold))
        }
        (Show::Own(from), needs, Some(work)) => {
            let data = Data {
                from,
                bytes: step.shown,
            };
            match (needs, work) {
                (Needs::Nobodys, Work::Nothing) => Ok(maker.make(data, Nothing)),
                (Needs::Nobodys, Work::Keep(keep)) => Ok(maker.make(data, keep)),
                (Needs::All, Work::Both(both)) => Ok(maker.make(data, both)),
                (Needs::All, Work::Fold(fold)) => Ok(maker.make(data, fold)),
                _ => Err(step),
            }
        }
        _ => Err(step),
    }
}

/// What a step of one of two members does when it has all that it needs.
enum Work {
    Nothing,
    Take(Take),
    Keep(Keep),
    Both(Both),
    Fold(Fold),
}

/// A step in which members pass something on, as it is where there are two: the first one shows its data, the second one takes them.
fn simplified(step: Step<Lent>, me: u32) -> Step<Lent> {
    let Rest::PassOn {
        op,
        own,
        target,
        shape,
        inclusive,
    } = step.rest
    else {
        return step;
    };
    let bytes = shape.1;
    match (me, inclusive) {
        (0, _) => Step {
            show: Show::Own(own),
            wakes: Wakes::All,
            needs: Needs::Nobodys,
            rest: match inclusive {
                true => Rest::CopyOwn { own, target, bytes },
                false => Rest::Nothing,
            },
            ..step
        },
        (_, true) => Step {
            show: Show::Nothing,
            rest: Rest::Fold {
                op,
                last: me,
                skip: 0,
                target,
                shape,
                own: Some(own),
            },
            ..step
        },
        (_, false) => Step {
            show: Show::Nothing,
            rest: Rest::Copy {
                member: 0,
                skip: 0,
                target,
                bytes,
            },
            ..step
        },
    }
}

/// What a step does, if it is something for a pair.
fn does(step: &Step<Lent>, me: u32) -> Option<Work> {
    let work = match step.rest {
        Rest::Nothing => Work::Nothing,
        Rest::Copy {
            member,
            skip,
            target,
            bytes,
        } if member != me => Work::Take(Take {
            skip,
            target,
            bytes,
        }),
        Rest::CopyOwn { own, target, bytes } => Work::Keep(Keep {
            from: own,
            target,
            bytes,
        }),
        Rest::CopyAll {
            skip,
            target,
            bytes,
            own: Some(own),
        } => {
            let place = |member: u32| target.wrapping_add(bytes * member as usize);
            let keep = Keep {
                from: own,
                target: place(me),
                bytes,
            };
            let take = Take {
                skip,
                target: place(1 - me),
                bytes,
            };
            Work::Both(Both(keep, take))
        }
        Rest::Fold {
            op,
            last: 1,
            skip,
            target,
            shape,
            own,
        } => {
            // What is shown may be taken from where it came from: a result that lies there lies as one of the operands may.
            let shown = match step.show {
                Show::Own(data) => Some(data.wrapping_add(skip)),
                _ => None,
            };
            Work::Fold(Fold {
                kernel: Borrow::<Reduction>::borrow(&op).kernel()?,
                own: own.or(shown)?,
                skip,
                target,
                count: shape.0,
                is_first: me == 0,
            })
        }
        _ => return None,
    };
    Some(work)
}

/// What all pairs have.
struct Maker<'a> {
    shared: &'a Shared,
    lane: Lane,
    step: Step<Lent>,
}

impl Maker<'_> {
    fn make<S: Shows + 'static, A: Does + 'static>(self, shows: S, does: A) -> ShortPlan {
        let Self { shared, lane, step } = self;
        let pair = Pair {
            step,
            lane,
            shared: NonNull::from(shared),
            asleep: shared.asleep(1 - shared.rank()),
            word: stamped(step.purpose, step.bytes),
            shows,
            does,
        };
        ShortPlan::new(Box::new(pair), start::<S, A>)
    }
}

/// Takes the next turn.
///
/// # Safety
/// As for each [`Start`](crate::task::Start), of a `Pair<S, A>`.
// TIER: short
unsafe fn start<S: Shows, A: Does>(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise; the commons are those of the communicator.
    let (pair, comm) = unsafe { plan_of::<Pair<S, A>>(op) };
    // SAFETY: they stay as long as it does.
    let shared = unsafe { pair.shared.as_ref() };
    let turn = comm.membership.next_turn();
    if S::ANYTHING && !pair.lane.is_free(shared.turns_alone(), turn) {
        // SAFETY: the plan begins with a step.
        return unsafe { start_turn(op) };
    }
    comm.membership.set_drawn(turn);
    comm.count_collective();
    comm.vci.enter_unlocked().count(Counter::SharedTurns);
    let spot = pair.lane.at(turn);
    if S::ANYTHING {
        // SAFETY: the program leaves its buffers alone while the request is active.
        unsafe { pair.shows.show(spot.mine()) };
        spot.post(pair.word);
        if doorbell::any_asleep(pair.asleep, shared.senders_fence()) {
            // SAFETY: as above.
            return unsafe { go_on_apart(op) };
        }
    }
    if A::NEEDS && !spot.is_met(pair.word) {
        // SAFETY: as above.
        return unsafe { go_on_apart(op) };
    }
    // SAFETY: as above; the other member's data are there if they are needed.
    unsafe { pair.does.act(spot) };
    // SAFETY: nobody refers to the entry.
    unsafe { set_kind(op, record_kind::COMPLETE) };
    if pair.lane.leave(shared.turns_alone(), turn, A::NEEDS) {
        // SAFETY: as above.
        return unsafe { wake_all(op) };
    }
    Started::WELL
}

/// The turn that was drawn last.
///
/// # Safety
/// As for each [`Start`](crate::task::Start), of a plan that begins with a `Step<Lent>`.
unsafe fn last_turn<'a>(op: NonNull<Op>) -> (Encounter<'a>, Step<Lent>) {
    // SAFETY: the caller's promise.
    let (step, comm) = unsafe { plan_of::<Step<Lent>>(op) };
    (Encounter::last(comm, (step.purpose, step.bytes)), *step)
}

/// Goes on where the own data are shown.
///
/// # Safety
/// As for [`last_turn`].
#[cold]
#[inline(never)]
unsafe fn go_on_apart(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(op, record_kind::OTHER);
        let (encounter, step) = last_turn(op);
        encounter.wake_all();
        let begun = AtOnce.go(encounter, step.needs, step.rest);
        end_or_go_on(op, Some(begun))
    }
}

/// Wakes who may sleep until this member has left a turn.
///
/// # Safety
/// As for [`last_turn`].
#[cold]
#[inline(never)]
unsafe fn wake_all(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe { last_turn(op) }.0.wake_all();
    Started::WELL
}
