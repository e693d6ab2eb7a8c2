// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of the area. `LOCKED` says whether the VCI's lock guards what this member knows about rounds: calls with little
//! data go without it below MPI_THREAD_MULTIPLE. Functions of the fast path are inlined; `cargo xtask instructions` has their
//! budgets.
#![expect(unsafe_code, reason = "data in the area are reached through addresses")]

use fabric::area::{LINE_BYTES, Row, Slot, Tracker, WIDE_BYTES};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::spin;
use sys::sync::{Ordering, spin_loop};

use super::drive::Going;
use super::purpose::{Purpose, stamped};
use super::sequence::Sequence;
use super::shared::{Shared, wake_member};
use super::spec::Needs;
use crate::comm::Comm;
use crate::errors::Result;
use crate::task::block_on;

/// A round that was drawn.
#[derive(Clone, Copy)]
pub(super) struct Round<'a, const LOCKED: bool> {
    comm: &'a Comm,
    shared: &'a Shared,
    number: u64,
    word: u64,
    row: Row,
    /// The data of rank 0, and how far those of the next rank are.
    slots: *mut u8,
    stride: usize,
    /// This member's rank.
    pub(super) me: u32,
    /// The number of members.
    pub(super) size: u32,
    /// Whether this member is known to have left all rounds before.
    in_order: bool,
}

/// A round for calls that are not inlined: in memory of its own, so that the other one needs none.
struct Apart<'a, const LOCKED: bool> {
    round: Round<'a, LOCKED>,
}

/// The round that an operation would draw.
pub(super) struct NextRound<'a, const LOCKED: bool> {
    pub(super) round: Round<'a, LOCKED>,
    place: Slot,
    published: usize,
}

impl<'a, const LOCKED: bool> NextRound<'a, LOCKED> {
    /// The next round, in which each member that publishes anything has `published` bytes there.
    #[inline(always)]
    pub(super) fn new<G: Going<'a>>(
        _: G,
        comm: &'a Comm,
        shared: &'a Shared,
        purpose: Purpose,
        bytes: usize,
        published: usize,
    ) -> Self {
        let slot = &comm.area;
        let number = slot.next_round();
        let round = Round::new(comm, shared, number, stamped(purpose, bytes), G::IN_ORDER);
        let (place, round) = if published <= LINE_BYTES {
            (Slot::Line, round)
        } else {
            let place = shared.place_for(published, slot.last_whole.load(Ordering::Relaxed));
            let slots = shared.long_slots(number, published, place);
            (place, round.with_slots(slots))
        };
        NextRound {
            round,
            place,
            published,
        }
    }
}

impl<const LOCKED: bool> NextRound<'_, LOCKED> {
    /// Draws the round. If this member `publishes` anything its place is free then; who may not wait for that, having no name of its call,
    /// gets `None`, and nothing has been done.
    #[inline(always)]
    pub(super) fn draw(&self, call: Option<&'static str>, publishes: bool) -> Option<Result<()>> {
        let is_free = !publishes
            || self.round.may_enter(self.place)
            || (call.is_none() && self.round.is_free_soon(self.place));
        self.take(call, is_free)?;
        match call {
            Some(call) if !is_free => {
                let apart = Apart { round: self.round };
                Some(apart.enter(call, self.place, self.published))
            }
            _ => Some(Ok(())),
        }
    }

    /// As [`Self::draw`] for a round in which each member publishes its data to the one above alone.
    #[inline(always)]
    pub(super) fn draw_to_pass(&self, call: Option<&'static str>) -> Option<Result<()>> {
        let Round {
            comm,
            shared,
            number,
            ..
        } = self.round;
        let above = self.round.me + 1;
        let readers = (above, comm.area.others_before(number));
        let is_free = above == self.round.size
            || match self.place {
                Slot::Line => self
                    .round
                    .with_tracker(|tracker| tracker.may_pass_line(&shared.area, number, readers)),
                _ => self.round.may_enter(self.place),
            };
        self.take(call, is_free)?;
        comm.area.pass(number, number);
        match call {
            Some(call) if !is_free => {
                let apart = Apart { round: self.round };
                Some(match self.place {
                    Slot::Line => apart.enter_to_pass(call, readers),
                    _ => apart.enter(call, self.place, self.published),
                })
            }
            _ => Some(Ok(())),
        }
    }

    /// Draws the round unless its place is not free and nobody may wait for it.
    #[inline(always)]
    fn take(&self, call: Option<&'static str>, is_free: bool) -> Option<()> {
        if !is_free && call.is_none() {
            return None;
        }
        let Round { comm, number, .. } = self.round;
        let slot = &comm.area;
        slot.set_drawn(number);
        if self.place == Slot::Buffer {
            slot.last_whole.store(number, Ordering::Relaxed);
        }
        if LOCKED {
            comm.next_collective();
        } else {
            comm.count_collective();
        }
        self.round.count(Counter::SharedRounds);
        Some(())
    }
}

impl Shared {
    /// Where data of a round lie that are too long for a line, in such slots: the address of the first member's, and the
    /// distance of the next one's.
    #[cold]
    #[inline(never)]
    pub(super) fn long_slots(&self, round: u64, bytes: usize, long: Slot) -> (*mut u8, usize) {
        let area = &self.area;
        if bytes <= WIDE_BYTES {
            return (area.wide(round, 0).as_ptr(), Row::WIDE_STRIDE);
        }
        let (first, room) = match long {
            Slot::Buffer => (area.buffer(round, 0), area.buffer_bytes()),
            _ => (area.part(round, 0), area.part_bytes()),
        };
        assert!(bytes <= room);
        (first.as_ptr(), area.buffer_bytes())
    }

    /// The kind of place that so many bytes need.
    fn place_for(&self, bytes: usize, whole_before: u64) -> Slot {
        match bytes {
            _ if bytes <= WIDE_BYTES => Slot::Line,
            _ if bytes <= self.area.part_bytes() => Slot::Part { whole_before },
            _ => Slot::Buffer,
        }
    }
}

impl<'a, const LOCKED: bool> Round<'a, LOCKED> {
    /// A round in which data lie beside the stamps. `in_order` says whether this member is known to have left all rounds before.
    #[inline(always)]
    pub(super) const fn new(
        comm: &'a Comm,
        shared: &'a Shared,
        number: u64,
        word: u64,
        in_order: bool,
    ) -> Self {
        let row = shared.area.row(number);
        Self {
            comm,
            shared,
            number,
            word,
            row,
            // SAFETY: the area stay mapped.
            slots: unsafe { row.data() },
            stride: Row::STRIDE,
            me: shared.me,
            size: shared.area.members(),
            in_order,
        }
    }
}

impl<const LOCKED: bool> Round<'_, LOCKED> {
    /// The same with data elsewhere: those of the first member, and the distance of those of the next one.
    #[inline(always)]
    pub(super) const fn with_slots(self, (slots, stride): (*mut u8, usize)) -> Self {
        Self {
            slots,
            stride,
            ..self
        }
    }

    /// Uses what this member knows about rounds.
    #[inline(always)]
    fn with_tracker<T>(self, action: impl FnOnce(&mut Tracker) -> T) -> T {
        let _guard = LOCKED.then(|| self.comm.vci().enter());
        // SAFETY: under the guard, or no other thread is inside MPI (`AreaSlot::unlocked`); actions do not nest.
        action(unsafe { &mut *self.shared.tracker.get() })
    }

    /// Counts something.
    #[inline(always)]
    fn count(self, counter: Counter) {
        if LOCKED {
            self.comm.vci().enter().count(counter);
        } else {
            self.comm.vci().enter_unlocked().count(counter);
        }
    }

    /// Whether the own slot may be written.
    #[inline(always)]
    fn may_enter(self, place: Slot) -> bool {
        self.with_tracker(|tracker| tracker.may_enter(&self.shared.area, self.number, place))
    }

    /// Whether the own slot becomes free within a few polls: a member that is ahead waits briefly, as a blocking call would,
    /// and needs neither messages nor a task.
    #[cold]
    #[inline(never)]
    fn is_free_soon(self, place: Slot) -> bool {
        (0..self.comm.vci().short_polls()).any(|_| {
            let may = self.may_enter(place);
            if !may {
                spin::cpu_relax();
            }
            may
        })
    }

    /// The data that a member publishes.
    #[inline(always)]
    pub(super) const fn slot(self, member: u32) -> *mut u8 {
        self.slots.wrapping_add(self.stride * member as usize)
    }

    /// Says that the own data are in their place.
    #[inline(always)]
    pub(super) fn publish(self) {
        let behind = match self.in_order {
            true => 0,
            false => self.with_tracker(|tracker| tracker.behind(self.number)),
        };
        // SAFETY: this member is one, and the area stay mapped.
        unsafe { self.row.publish(self.me, self.number, behind, self.word) };
    }

    /// Whether all other members have been counted in.
    pub(super) fn comes_last(self) -> bool {
        self.shared.area.comes_last(self.number)
    }

    /// Counts this member in; true for the last one, which does what is nobody's in particular.
    pub(super) fn is_last(self) -> bool {
        self.shared.area.count_in(self.number)
    }

    /// Shows the data that are nobody's in particular.
    pub(super) fn publish_common(self) {
        let behind = self.with_tracker(|tracker| tracker.behind(self.number));
        // SAFETY: the line after those of all members, and the area stay mapped.
        unsafe { self.row.publish(self.size, self.number, behind, self.word) };
    }

    /// Wakes a member that may sleep until this one has published.
    #[inline(always)]
    pub(super) fn wake(self, member: u32) {
        // SAFETY: there is one for each member.
        let board = unsafe { self.shared.boards.get_unchecked(member as usize) };
        if doorbell::any_asleep(&board.asleep, self.shared.senders_fence())
            && wake_member(self.comm, member)
        {
            self.count(Counter::Wakes);
        }
    }

    /// Wakes the members above this one.
    pub(super) fn wake_above(self) {
        for member in self.me + 1..self.size {
            self.wake(member);
        }
    }

    /// Wakes all others.
    #[inline(always)]
    pub(super) fn wake_all(self) {
        if self.shared.any_asleep() {
            Apart { round: self }.wake_all();
        }
    }

    /// Whose data an operation needs, this member among them or not.
    #[inline(always)]
    const fn needed(self, needs: Needs) -> (u32, u32) {
        match needs {
            Needs::Nobodys => (0, 0),
            Needs::One(member) => (member, member + 1),
            Needs::All => (0, self.size),
            Needs::Lower => (0, self.me),
        }
    }

    /// Whether the data are there that an operation needs, for the same purpose, and of members that have left all rounds before.
    #[inline(always)]
    pub(super) fn is_simple(self, needs: Needs) -> bool {
        if self.size == 2 && matches!(needs, Needs::All) {
            return self.is_simple_from(1 - self.me);
        }
        if let Needs::One(member) = needs {
            debug_assert!(member != self.me);
            return self.is_simple_from(member);
        }
        let (first, end) = self.needed(needs);
        for member in first..end {
            if member != self.me && !self.is_simple_from(member) {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn is_simple_from(self, member: u32) -> bool {
        // SAFETY: there is such a member (`needed`), and the area stay mapped.
        unsafe { self.row.published_in_order(member, self.number, self.word) }
    }

    /// If the data are there that an operation needs: the round before which those who publish them have left all.
    pub(super) fn look(self, needs: Needs) -> Option<u64> {
        let (first, end) = self.needed(needs);
        let mut left = u64::MAX;
        for member in (first..end).filter(|&member| member != self.me) {
            left = left.min(self.look_at(member)?);
        }
        Some(left)
    }

    fn look_at(self, member: u32) -> Option<u64> {
        // SAFETY: there is such a member (callers), and the area stay mapped.
        let published = unsafe { self.row.published(member, self.number) }?;
        if published.purpose != self.word {
            self.shared
                .note_mismatch(self.number, self.word, member, published.purpose);
        }
        Some(published.left_before)
    }

    /// As [`Self::look`] until they are there.
    pub(super) fn wait(self, call: &'static str, needs: Needs) -> Result<u64> {
        let (first, end) = self.needed(needs);
        if self.comm.vci().is_oversubscribed() {
            self.yield_core(first, end);
        }
        let mut left = u64::MAX;
        for member in (first..end).filter(|&member| member != self.me) {
            left = left.min(self.wait_for(call, member)?);
        }
        Ok(left)
    }

    /// Lets those run on this core who have not come, for as long as a few rounds of all take, until all of these members have. Where
    /// who has not come was on other cores when it last waited, it waits for that a moment first: giving its own core to somebody who
    /// waits, too, would gain nothing.
    fn yield_core(self, first: u32, end: u32) {
        let vci = self.comm.vci();
        let here = vci.tell_processor();
        let is_absent = |member: u32| {
            // SAFETY: there is such a member (`needed`), and the area stay mapped.
            member != self.me && unsafe { self.row.published(member, self.number) }.is_none()
        };
        // What is nobody's in particular is the work of whoever comes last.
        let workers = |absent| {
            if absent == self.size {
                0..absent
            } else {
                absent..end
            }
        };
        let mut first = first;
        for _ in 0..vci.short_yields() {
            // A look takes half as long as a round of progress.
            let mut polls = 2 * vci.oversubscribed_polls();
            loop {
                let Some(absent) = (first..end).find(|&member| is_absent(member)) else {
                    return;
                };
                first = absent;
                let waits_for_core = workers(absent).any(|member| {
                    self.shared.boards[member as usize].may_want_core(here) && is_absent(member)
                });
                if polls == 0 || waits_for_core {
                    break;
                }
                polls -= 1;
                spin_loop();
            }
            vci.yield_core();
        }
    }

    fn wait_for(self, call: &'static str, member: u32) -> Result<u64> {
        for _ in 0..self.comm.vci().short_polls() {
            if let Some(left) = self.look_at(member) {
                return Ok(left);
            }
            spin::cpu_relax();
        }
        let sequence = self.sequence(Slot::Line);
        block_on(self.comm.vci(), call, async {
            Ok(sequence.published(0, member).await)
        })
    }

    /// This round for futures.
    const fn sequence(&self, long: Slot) -> Sequence<'_> {
        Sequence {
            comm: self.comm,
            shared: self.shared,
            first: self.number,
            long,
            word: self.word,
            me: self.me,
            size: self.size,
        }
    }

    /// This member needs nobody's data any more, and neither what it needed told anything new ([`Self::is_simple`]); how it went.
    #[inline(always)]
    pub(super) fn end_simply(self, needs: Needs) -> Result<()> {
        let all_left = matches!(needs, Needs::All);
        let left = match self.in_order {
            true => Some(self.with_tracker(|tracker| {
                tracker.leave_next(&self.shared.area, self.me, self.number, all_left)
            })),
            false => self.with_tracker(|tracker| {
                tracker.leave_in_order(&self.shared.area, self.me, self.number, all_left)
            }),
        };
        match left {
            Some(false) => self.shared.outcome(self.number),
            _ => Apart { round: self }.end_slowly(left, needs),
        }
    }

    /// This member needs nobody's data any more; those whose data it needed have left all rounds before `left`. How it went.
    pub(super) fn end(self, needs: Needs, left: u64) -> Result<()> {
        let is_awaited = self.with_tracker(|tracker| {
            if matches!(needs, Needs::All) {
                tracker.learn(left.min(tracker.left_before()));
            }
            tracker.leave(&self.shared.area, self.me, self.number)
        });
        if is_awaited {
            self.wake_all();
        }
        self.shared.outcome(self.number)
    }
}

impl<const LOCKED: bool> Apart<'_, LOCKED> {
    /// Wakes all others that sleep.
    #[cold]
    #[inline(never)]
    fn wake_all(&self) {
        let round = self.round;
        for member in (0..round.size).filter(|&member| member != round.me) {
            round.wake(member);
        }
    }

    /// Waits until the own data can be written.
    #[cold]
    #[inline(never)]
    fn enter(&self, call: &'static str, place: Slot, published: usize) -> Result<()> {
        let sequence = self.round.sequence(place);
        block_on(self.round.comm.vci(), call, async {
            sequence.enter(0, published).await;
            Ok(())
        })
    }

    /// The same where the member above alone looks at them.
    #[cold]
    #[inline(never)]
    fn enter_to_pass(&self, call: &'static str, readers: (u32, u64)) -> Result<()> {
        let sequence = self.round.sequence(Slot::Line);
        block_on(self.round.comm.vci(), call, async {
            sequence.enter_line_for(readers).await;
            Ok(())
        })
    }

    /// As [`Round::end_simply`] where that is not simple, or somebody waits for it.
    #[cold]
    #[inline(never)]
    fn end_slowly(&self, left: Option<bool>, needs: Needs) -> Result<()> {
        let round = self.round;
        if left.is_some() {
            round.wake_all();
            return round.shared.outcome(round.number);
        }
        round.end(needs, round.number)
    }
}
