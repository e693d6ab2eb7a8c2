// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent collectives of two members whose data fit beside their stamps: a start publishes the own data, and does what is left if the other
//! member has published its own. Everything else (a place that is not free, somebody who sleeps, data that are not there) is left to functions
//! apart, which are jumped to, so that nothing has to be kept for them.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;
use std::ptr::NonNull;

use fabric::area::{Lane, Spot};
use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::doorbell;
use sys::sync::AtomicU32;

use super::{Lent, end_or_go_on, plan_of, set_kind, start_round};
use crate::coll::area::Round;
use crate::coll::area::pending::AtOnce;
use crate::coll::area::purpose::stamped;
use crate::coll::area::shared::Shared;
use crate::coll::area::spec::{Going, Needs, Publish, Spec, Then, Wakes, copy};
use crate::op::{Kernel, Reduction};
use crate::request::Op;
use crate::task::{ShortPlan, Started};

/// A start of a member that publishes `S` and then does `A`.
#[repr(C)]
struct Pair<S, A> {
    /// The same as one of many members does it, for who needs that.
    spec: Spec<Lent>,
    lane: Lane,
    shared: NonNull<Shared>,
    /// Whether the other member sleeps.
    asleep: &'static AtomicU32,
    word: u64,
    publishes: S,
    does: A,
}

/// What a member publishes.
trait Shows {
    /// Whether that is anything.
    const ANYTHING: bool = true;

    /// Writes it into its place.
    ///
    /// # Safety
    /// The own data are readable, and the place is free.
    unsafe fn publish(&self, place: *mut u8);
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

/// It publishes no data and no stamp.
struct Silent;

/// It publishes that it has come.
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
    unsafe fn publish(&self, _: *mut u8) {}
}

impl Shows for Stamp {
    #[inline(always)]
    unsafe fn publish(&self, _: *mut u8) {}
}

impl Shows for Data {
    #[inline(always)]
    unsafe fn publish(&self, place: *mut u8) {
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
pub(in crate::coll) fn plan(shared: &Shared, spec: Spec<Lent>) -> Result<ShortPlan, Spec<Lent>> {
    let Some(lane) = shared.lane() else {
        return Err(spec);
    };
    let me = shared.rank();
    let spec = simplified(spec, me);
    if spec.published > Lane::BYTES {
        return Err(spec);
    }
    let maker = Maker { shared, lane, spec };
    match (spec.publish, spec.needs, does(&spec, me)) {
        (Publish::Stamp, Needs::All, Some(Work::Nothing)) => Ok(maker.make(Stamp, Await)),
        (Publish::Nothing, Needs::One(_), Some(Work::Take(take))) => Ok(maker.make(Silent, take)),
        (Publish::Nothing, Needs::All, Some(Work::Both(both))) => Ok(maker.make(Silent, both)),
        (Publish::Nothing, Needs::All | Needs::One(_), Some(Work::Fold(fold))) => {
            Ok(maker.make(Silent, fold))
        }
        (Publish::Own(from), needs, Some(work)) => {
            let data = Data {
                from,
                bytes: spec.published,
            };
            match (needs, work) {
                (Needs::Nobodys, Work::Nothing) => Ok(maker.make(data, Nothing)),
                (Needs::Nobodys, Work::Keep(keep)) => Ok(maker.make(data, keep)),
                (Needs::All, Work::Both(both)) => Ok(maker.make(data, both)),
                (Needs::All, Work::Fold(fold)) => Ok(maker.make(data, fold)),
                _ => Err(spec),
            }
        }
        _ => Err(spec),
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

/// A step in which members pass something on, as it is where there are two: the first one publishes its data, the second one takes them.
fn simplified(spec: Spec<Lent>, me: u32) -> Spec<Lent> {
    let Then::PassOn {
        op,
        own,
        target,
        shape,
        inclusive,
    } = spec.rest
    else {
        return spec;
    };
    let bytes = shape.1;
    match (me, inclusive) {
        (0, _) => Spec {
            publish: Publish::Own(own),
            wakes: Wakes::All,
            needs: Needs::Nobodys,
            rest: match inclusive {
                true => Then::CopyOwn { own, target, bytes },
                false => Then::Nothing,
            },
            ..spec
        },
        (_, true) => Spec {
            publish: Publish::Nothing,
            rest: Then::Fold {
                op,
                last: me,
                skip: 0,
                target,
                shape,
                own: Some(own),
            },
            ..spec
        },
        (_, false) => Spec {
            publish: Publish::Nothing,
            rest: Then::Copy {
                member: 0,
                skip: 0,
                target,
                bytes,
            },
            ..spec
        },
    }
}

/// What a step does, if it is something for a pair.
fn does(spec: &Spec<Lent>, me: u32) -> Option<Work> {
    let work = match spec.rest {
        Then::Nothing => Work::Nothing,
        Then::Copy {
            member,
            skip,
            target,
            bytes,
        } if member != me => Work::Take(Take {
            skip,
            target,
            bytes,
        }),
        Then::CopyOwn { own, target, bytes } => Work::Keep(Keep {
            from: own,
            target,
            bytes,
        }),
        Then::CopyAll {
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
        Then::Fold {
            op,
            last: 1,
            skip,
            target,
            shape,
            own,
        } => {
            // What is published may be taken from where it came from: a result that lies there lies as one of the operands may.
            let published = match spec.publish {
                Publish::Own(data) => Some(data.wrapping_add(skip)),
                _ => None,
            };
            Work::Fold(Fold {
                kernel: Borrow::<Reduction>::borrow(&op).kernel()?,
                own: own.or(published)?,
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
    spec: Spec<Lent>,
}

impl Maker<'_> {
    fn make<S: Shows + 'static, A: Does + 'static>(self, publishes: S, does: A) -> ShortPlan {
        let Self { shared, lane, spec } = self;
        let pair = Pair {
            spec,
            lane,
            shared: NonNull::from(shared),
            asleep: shared.asleep(1 - shared.rank()),
            word: stamped(spec.purpose, spec.bytes),
            publishes,
            does,
        };
        ShortPlan::new(Box::new(pair), start::<S, A>)
    }
}

/// Takes the next round.
///
/// # Safety
/// As for each [`Start`](crate::task::Start), of a `Pair<S, A>`.
// TIER: short
unsafe fn start<S: Shows, A: Does>(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise; the area are those of the communicator.
    let (pair, comm) = unsafe { plan_of::<Pair<S, A>>(op) };
    // SAFETY: they stay as long as it does.
    let shared = unsafe { pair.shared.as_ref() };
    let round = comm.area.next_round();
    if S::ANYTHING && !pair.lane.is_free(shared.tracker_unlocked(), round) {
        // SAFETY: the plan begins with a step.
        return unsafe { start_round(op) };
    }
    comm.area.set_drawn(round);
    comm.count_collective();
    comm.vci.enter_unlocked().count(Counter::SharedTurns);
    let spot = pair.lane.at(round);
    if S::ANYTHING {
        // SAFETY: the program leaves its buffers alone while the request is active.
        unsafe { pair.publishes.publish(spot.mine()) };
        spot.publish(pair.word);
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
    if pair.lane.leave(shared.tracker_unlocked(), round, A::NEEDS) {
        // SAFETY: as above.
        return unsafe { wake_all(op) };
    }
    Started::WELL
}

/// The round that was drawn last.
///
/// # Safety
/// As for each [`Start`](crate::task::Start), of a plan that begins with a `Step<Lent>`.
unsafe fn last_round<'a>(op: NonNull<Op>) -> (Round<'a>, Spec<Lent>) {
    // SAFETY: the caller's promise.
    let (spec, comm) = unsafe { plan_of::<Spec<Lent>>(op) };
    (Round::last(comm, (spec.purpose, spec.bytes)), *spec)
}

/// Goes on where the own data are published.
///
/// # Safety
/// As for [`last_round`].
#[cold]
#[inline(never)]
unsafe fn go_on_apart(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe {
        set_kind(op, record_kind::OTHER);
        let (round, spec) = last_round(op);
        round.wake_all();
        let begun = AtOnce.go(round, spec.needs, spec.rest);
        end_or_go_on(op, Some(begun))
    }
}

/// Wakes who may sleep until this member has left a round.
///
/// # Safety
/// As for [`last_round`].
#[cold]
#[inline(never)]
unsafe fn wake_all(op: NonNull<Op>) -> Started {
    // SAFETY: the caller's promise.
    unsafe { last_round(op) }.0.wake_all();
    Started::WELL
}
