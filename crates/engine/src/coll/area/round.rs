// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of the area. `LOCKED` says whether the VCI's lock guards this member's tracker: calls with little data need no lock below
//! MPI_THREAD_MULTIPLE. Functions of the fast path are inlined; `cargo xtask instructions` has their
//! budgets.
#![expect(unsafe_code, reason = "data in the area are reached through addresses")]

use std::hint::assert_unchecked;
use std::ops::{Deref, DerefMut};

use fabric::area::{LINE_BYTES, Row, Slot, Tracker};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::spin;
use sys::sync::{Ordering, spin_loop};

use super::sequence::Sequence;
use super::shared::{Shared, wake_member};
use super::spec::{Needs, Readers, Wakes};
use crate::comm::Comm;
use crate::errors::Result;
use crate::identity::{LinkIndex, Rank};
use crate::task::block_on;

/// A round that was drawn.
#[derive(Clone, Copy)]
pub(super) struct Round<'a, const LOCKED: bool> {
    comm: &'a Comm,
    shared: &'a Shared,
    number: u64,
    word: u64,
    row: Row,
    /// The address of rank 0's data, and the distance to those of the next rank.
    slots: *mut u8,
    pub(super) stride: usize,
    /// This member's rank.
    pub(super) me: u32,
    /// The number of members.
    pub(super) size: u32,
    /// Whether this member is known to have left all rounds before.
    in_order: bool,
}

/// A round in memory of its own, for outlined functions, so that the inlined code keeps its round in registers.
pub(super) struct Apart<'a, const LOCKED: bool> {
    pub(super) round: Round<'a, LOCKED>,
}

/// Access to a member's tracker: under the VCI's lock, or while no other thread is inside MPI.
struct TrackerGuard<'a, G> {
    shared: &'a Shared,
    _guard: Option<G>,
}

impl<G> Deref for TrackerGuard<'_, G> {
    type Target = Tracker;

    #[inline(always)]
    fn deref(&self) -> &Tracker {
        // SAFETY: under the guard, or no other thread is inside MPI (`AreaSlot::unlocked`); there is one at a time.
        unsafe { &*self.shared.tracker.get() }
    }
}

impl<G> DerefMut for TrackerGuard<'_, G> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Tracker {
        // SAFETY: as for `deref`.
        unsafe { &mut *self.shared.tracker.get() }
    }
}

impl<'a, const LOCKED: bool> Round<'a, LOCKED> {
    /// The next round of a communicator, with the stamp `word` and data beside the stamps. `in_order` says whether this member is
    /// known to have left all rounds before.
    #[inline(always)]
    pub(super) fn next(comm: &'a Comm, shared: &'a Shared, word: u64, in_order: bool) -> Self {
        Self::new(comm, shared, comm.area.next_round(), word, in_order)
    }

    /// The round that was drawn last, as [`Self::next`] gave it.
    pub(super) fn last(comm: &'a Comm, shared: &'a Shared, word: u64, in_order: bool) -> Self {
        Self::new(comm, shared, comm.area.next_round() - 1, word, in_order)
    }

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
            // SAFETY: the area stays mapped.
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

    /// What this member knows about rounds, for one expression.
    #[inline(always)]
    fn tracker(&self) -> impl DerefMut<Target = Tracker> {
        let guard = match LOCKED {
            true => Some(self.comm.vci().enter()),
            false => None,
        };
        TrackerGuard {
            shared: self.shared,
            _guard: guard,
        }
    }

    /// Draws the round, for data beside the stamps; false where the own place is not known to be free, and nothing has been done.
    #[inline(always)]
    pub(super) fn draw(self, readers: Readers) -> bool {
        let is_free = self.knows_line_free(readers);
        if is_free {
            self.take(Slot::Line, readers);
        }
        is_free
    }

    /// As [`Self::draw`] for `published` bytes, in the place that these need, and waiting for that where the call's name is known.
    /// `None` where it is not free and the call may not wait; nothing has been done.
    #[inline(always)]
    pub(super) fn draw_elsewhere(
        self,
        call: Option<&'static str>,
        published: usize,
        readers: Readers,
    ) -> Option<Result<Self>> {
        let slots = Apart::of(self).draw(call, published, readers)?;
        Some(slots.map(|slots| match published {
            ..=LINE_BYTES => self,
            _ => self.with_slots(slots),
        }))
    }

    /// Takes the round for this operation.
    #[inline(always)]
    fn take(self, slot: Slot, readers: Readers) {
        let Round { comm, number, .. } = self;
        let drawn = &comm.area;
        drawn.set_drawn(number);
        if slot == Slot::Buffer {
            drawn.last_whole.store(number, Ordering::Relaxed);
        }
        if LOCKED {
            comm.next_collective();
        } else {
            comm.count_collective();
        }
        self.count(Counter::SharedRounds);
        if readers == Readers::Above {
            drawn.pass(number, number);
        }
    }

    /// Counts an event.
    #[inline(always)]
    fn count(self, counter: Counter) {
        if LOCKED {
            self.comm.vci().enter().count(counter);
        } else {
            self.comm.vci().enter_unlocked().count(counter);
        }
    }

    /// Whether the own line is known to be free, without reading what each has left.
    #[inline(always)]
    fn knows_line_free(self, readers: Readers) -> bool {
        let (area, number) = (&self.shared.area, self.number);
        match readers {
            Readers::Nobody => true,
            Readers::Above if self.me + 1 == self.size => true,
            Readers::Above => {
                let readers = self.reader_above();
                self.tracker().knows_line_passed(area, number, readers)
            }
            Readers::Any => self.tracker().knows_line_free(area, number),
        }
    }

    /// Whether the own slot may be written.
    fn may_enter(self, slot: Slot, readers: Readers) -> bool {
        let area = &self.shared.area;
        match (readers, slot) {
            (Readers::Nobody, _) => true,
            (Readers::Above, _) if self.me + 1 == self.size => true,
            (Readers::Above, Slot::Line) => {
                let readers = self.reader_above();
                self.tracker().may_pass_line(area, self.number, readers)
            }
            _ => self.tracker().may_enter(area, self.number, slot),
        }
    }

    /// The next higher member, and the last round before this one in which others may read this member's data.
    #[inline(always)]
    fn reader_above(self) -> (u32, u64) {
        (self.me + 1, self.comm.area.others_before(self.number))
    }

    /// Whether the own slot becomes free within a few polls: a member that is ahead waits briefly, as a blocking call would,
    /// and needs neither messages nor a task.
    fn is_free_soon(self, slot: Slot, readers: Readers) -> bool {
        (0..self.comm.vci().short_polls()).any(|_| {
            let may = self.may_enter(slot, readers);
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

    /// Publishes the own data.
    #[inline(always)]
    pub(super) fn publish(self) {
        let behind = match self.in_order {
            true => 0,
            false => self.tracker().behind(self.number),
        };
        // SAFETY: this member is one, and the area stays mapped.
        unsafe { self.row.publish(self.me, self.number, behind, self.word) };
    }

    /// Whether all other members have been counted in.
    pub(super) fn comes_last(self) -> bool {
        self.shared.area.comes_last(self.number)
    }

    /// Counts this member in; true for the last one, which writes the common data.
    pub(super) fn is_last(self) -> bool {
        self.shared.area.count_in(self.number)
    }

    /// Publishes the common data.
    pub(super) fn publish_common(self) {
        let behind = self.tracker().behind(self.number);
        // SAFETY: the line after those of all members, and the area stays mapped.
        unsafe { self.row.publish(self.size, self.number, behind, self.word) };
    }

    /// Wakes a member that may sleep until this one has published.
    #[inline(always)]
    pub(super) fn wake(self, member: u32) {
        if self.is_asleep(member) && wake_member(self.comm, member) {
            self.count(Counter::Wakes);
        }
    }

    /// Whether a member sleeps that is to be woken.
    #[inline(always)]
    pub(super) fn any_asleep(self, wakes: Wakes) -> bool {
        match wakes {
            Wakes::Nobody => false,
            Wakes::One(member) => self.is_asleep(member),
            Wakes::Above | Wakes::All => self.shared.any_asleep(),
        }
    }

    #[inline(always)]
    fn is_asleep(self, member: u32) -> bool {
        // SAFETY: there is one for each member.
        let board = unsafe { self.shared.boards.get_unchecked(member as usize) };
        doorbell::any_asleep(&board.asleep, self.shared.senders_fence())
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
            Apart::of(self).wake_all();
        }
    }

    /// The members whose data an operation needs; this member may be among them.
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
        match needs {
            Needs::Nobodys => true,
            Needs::One(member) => {
                debug_assert!(member != self.me);
                self.is_simple_from(member)
            }
            Needs::All if self.size == 2 => self.is_simple_from(1 - self.me),
            Needs::All => self.others_are_simple(),
            Needs::Lower => (0..self.me).all(|member| self.is_simple_from(member)),
        }
    }

    /// The same of all other members.
    #[inline(always)]
    fn others_are_simple(self) -> bool {
        let mut member = 0;
        // There is at least one member.
        loop {
            if member != self.me && !self.is_simple_from(member) {
                return false;
            }
            member += 1;
            if member == self.size {
                return true;
            }
        }
    }

    #[inline(always)]
    fn is_simple_from(self, member: u32) -> bool {
        // SAFETY: there is such a member (`needed`), and the area stays mapped.
        unsafe { self.row.published_in_order(member, self.number, self.word) }
    }

    /// The round before which the publishers of the needed data have left all; `None` while data are missing.
    pub(super) fn arrived(self, needs: Needs) -> Option<u64> {
        let (first, end) = self.needed(needs);
        let mut left = u64::MAX;
        for member in (first..end).filter(|&member| member != self.me) {
            left = left.min(self.arrived_of(member)?);
        }
        Some(left)
    }

    /// A member whose data are missing. The last member to arrive publishes the common data.
    pub(super) fn absent(self, needs: Needs) -> Option<LinkIndex> {
        let (first, end) = self.needed(needs);
        let members = if first == self.size {
            0..first
        } else {
            first..end
        };
        // SAFETY: there are such members (`needed`), and the area stays mapped.
        let has_come = |member| unsafe { self.row.published(member, self.number) }.is_some();
        let mut others = members.filter(|&member| member != self.me);
        let absent = others.find(|&member| !has_come(member))?;
        Some(self.comm.peer(Rank::new(absent)))
    }

    fn arrived_of(self, member: u32) -> Option<u64> {
        // SAFETY: there is such a member (callers), and the area stays mapped.
        let published = unsafe { self.row.published(member, self.number) }?;
        if published.purpose != self.word {
            self.shared
                .note_mismatch(self.number, self.word, member, published.purpose);
        }
        Some(published.left_before)
    }

    /// As [`Self::arrived`] until they are there.
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

    /// Yields the core to members that have not arrived, until all of them have, for at most as long as a few rounds of all members
    /// take. If the absent members last waited on other cores, it polls for a moment first: yielding to a member that waits, too, would
    /// gain nothing.
    fn yield_core(self, first: u32, end: u32) {
        let vci = self.comm.vci();
        let here = vci.tell_processor();
        let is_absent = |member: u32| {
            // SAFETY: there is such a member (`needed`), and the area stays mapped.
            member != self.me && unsafe { self.row.published(member, self.number) }.is_none()
        };
        // The last member to arrive publishes the common data.
        let workers = |absent| {
            if absent == self.size {
                0..absent
            } else {
                absent..end
            }
        };
        let mut first = first;
        for _ in 0..vci.short_yields() {
            // A poll takes half as long as a round of progress.
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
            if let Some(left) = self.arrived_of(member) {
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

    /// Whether this member has left all rounds before, and none after.
    #[inline(always)]
    pub(super) fn is_next_to_leave(self) -> bool {
        self.in_order || self.tracker().is_next_to_leave(self.number)
    }

    /// Leaves the round ([`Self::is_next_to_leave`]), of which this member needs nobody's data any more, where what it needed told
    /// nothing new ([`Self::is_simple`]); true when somebody waits for that.
    #[inline(always)]
    pub(super) fn leave_next(self, needs: Needs) -> bool {
        let all_left = matches!(needs, Needs::All);
        let area = &self.shared.area;
        // SAFETY: this member is one (Shared::attach).
        unsafe { assert_unchecked(self.me < area.members()) };
        self.tracker()
            .leave_next(area, self.me, self.number, all_left)
    }

    /// Whether nothing went wrong in any operation under way.
    #[inline(always)]
    pub(super) fn is_well(self) -> bool {
        self.shared.failed.load(Ordering::Relaxed) == 0
    }

    /// Ends the round where [`Self::leave_next`] does not suffice, or has said so; how the operation went.
    #[inline(always)]
    pub(super) fn end_slowly(self, needs: Needs, is_left: bool) -> Result<()> {
        end_slowly::<LOCKED>((self.comm, self.shared), self.number, needs, is_left)
    }

    /// This member needs nobody's data any more; those whose data it needed have left all rounds before `left`. How it went.
    pub(super) fn end(self, needs: Needs, left: u64) -> Result<()> {
        let mut tracker = self.tracker();
        if matches!(needs, Needs::All) {
            let left = left.min(tracker.left_before());
            tracker.learn(left);
        }
        let is_awaited = tracker.leave(&self.shared.area, self.me, self.number);
        drop(tracker);
        if is_awaited {
            self.wake_all();
        }
        self.shared.outcome(self.number)
    }
}

impl<'a, const LOCKED: bool> Apart<'a, LOCKED> {
    #[inline(always)]
    pub(super) const fn of(round: Round<'a, LOCKED>) -> Self {
        Self { round }
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

    /// As [`Round::draw_elsewhere`]: where the data lie.
    #[cold]
    #[inline(never)]
    fn draw(
        &self,
        call: Option<&'static str>,
        published: usize,
        readers: Readers,
    ) -> Option<Result<(*mut u8, usize)>> {
        let Round {
            comm,
            shared,
            number,
            ..
        } = self.round;
        let slot = shared.slot_for(published, comm.area.last_whole.load(Ordering::Relaxed));
        let is_free = self.round.may_enter(slot, readers)
            || (call.is_none() && self.round.is_free_soon(slot, readers));
        if !is_free && call.is_none() {
            return None;
        }
        let reader = self.round.reader_above();
        self.round.take(slot, readers);
        let slots = match published {
            ..=LINE_BYTES => (self.round.slots, self.round.stride),
            _ => shared.long_slots(number, published, slot),
        };
        let sequence = self.round.sequence(slot);
        let entered = match call {
            Some(call) if !is_free => block_on(comm.vci(), call, async {
                match (readers, slot) {
                    (Readers::Above, Slot::Line) => sequence.enter_line_for(reader).await,
                    _ => sequence.enter(0, published).await,
                }
                Ok(())
            }),
            _ => Ok(()),
        };
        Some(entered.map(|()| slots))
    }
}

/// As [`Round::end_slowly`], which keeps only these for it.
#[cold]
#[inline(never)]
fn end_slowly<const LOCKED: bool>(
    (comm, shared): (&Comm, &Shared),
    number: u64,
    needs: Needs,
    is_left: bool,
) -> Result<()> {
    // Nobody reads or writes data or stamps of the round any more.
    let round = Round::<LOCKED>::new(comm, shared, number, 0, false);
    if !is_left {
        return round.end(needs, number);
    }
    round.wake_all();
    shared.outcome(number)
}
