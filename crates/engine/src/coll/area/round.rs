// SPDX-License-Identifier: MIT OR Apache-2.0
//! The only round of an operation of little data, on the straight line: below MPI_THREAD_MULTIPLE, and with nothing on the way that
//! was not found out before. Every call here is inlined but for the cold ones; budgets are in `cargo xtask instructions`.
#![expect(unsafe_code, reason = "data in the area are reached through addresses")]

use fabric::area::{LINE_BYTES, Row, Slot, Tracker, WIDE_BYTES};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::spin;
use sys::sync::{Ordering, spin_loop};

use super::purpose::Purpose;
use super::sequence::Sequence;
use super::shared::{Shared, unlocked_of};
use crate::coll::area::purpose::stamped;
use crate::coll::area::spec::{Going, Needs};
use crate::comm::Comm;
use crate::errors::Result;
use crate::task::block_on;

/// A round that was drawn.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Round<'a> {
    comm: &'a Comm,
    shared: &'a Shared,
    round: u64,
    word: u64,
    row: Row,
    /// The data of rank 0, and how far those of the next rank are.
    places: *mut u8,
    stride: usize,
    /// This member's rank.
    pub(in crate::coll) me: u32,
    /// The number of members.
    pub(in crate::coll) size: u32,
    /// Whether this member is known to have left all rounds before.
    in_order: bool,
}

/// An encounter for calls that are not inlined: in memory of its own, so that the other one needs none.
struct Apart<'a> {
    round: Round<'a>,
}

/// The round that an operation would draw.
pub(in crate::coll) struct NextRound<'a> {
    pub(in crate::coll) round: Round<'a>,
    place: Slot,
    whole: bool,
    published: usize,
}

/// The area of a communicator, if an operation may take its round in them at once.
#[inline(always)]
pub(in crate::coll) fn open(comm: &Comm, purpose: Purpose, bytes: usize) -> Option<&Shared> {
    let shared = unlocked_of(comm)?;
    (bytes < shared.short[purpose as usize]).then_some(shared)
}

impl<'a> NextRound<'a> {
    /// The next round, in which each member that publishes anything has `published` bytes there.
    #[inline(always)]
    pub(in crate::coll) fn new<G: Going<'a>>(
        _: G,
        comm: &'a Comm,
        shared: &'a Shared,
        purpose: Purpose,
        bytes: usize,
        published: usize,
    ) -> Self {
        let slot = &comm.area;
        let number = slot.next_round();
        let round = Round::new(comm, shared, number, (purpose, bytes), G::IN_ORDER);
        let (place, whole, (places, stride)) = if published <= LINE_BYTES {
            (Slot::Line, false, (round.places, round.stride))
        } else {
            shared.long_places(number, published, slot.last_whole.load(Ordering::Relaxed))
        };
        NextRound {
            round: Round {
                places,
                stride,
                ..round
            },
            place,
            whole,
            published,
        }
    }
}

impl NextRound<'_> {
    /// Draws the round. If this member `publishes` anything its place is free then; who may not wait for that, having no name of its call,
    /// gets `None`, and nothing has been done.
    #[inline(always)]
    pub(in crate::coll) fn draw(
        &self,
        call: Option<&'static str>,
        publishes: bool,
    ) -> Option<Result<()>> {
        let Round {
            comm,
            shared,
            round,
            ..
        } = self.round;
        let is_free = !publishes
            || shared
                .tracker_unlocked()
                .may_enter(&shared.area, round, self.place)
            || (call.is_none() && shared.is_free_soon(round, self.place, comm.vci.short_polls()));
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
    pub(in crate::coll) fn draw_to_pass(&self, call: Option<&'static str>) -> Option<Result<()>> {
        let Round {
            comm,
            shared,
            round,
            ..
        } = self.round;
        let (rounds, area) = (shared.tracker_unlocked(), &shared.area);
        let above = self.round.me + 1;
        let readers = (above, comm.area.others_before(round));
        let is_free = above == self.round.size
            || match self.place {
                Slot::Line => rounds.may_pass_line(area, round, readers),
                _ => rounds.may_enter(area, round, self.place),
            };
        self.take(call, is_free)?;
        comm.area.pass(round, round);
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
        let Round { comm, round, .. } = self.round;
        let slot = &comm.area;
        slot.set_drawn(round);
        if self.whole {
            slot.last_whole.store(round, Ordering::Relaxed);
        }
        comm.count_collective();
        comm.vci.enter_unlocked().count(Counter::SharedTurns);
        Some(())
    }
}

impl Shared {
    /// What members know about rounds, below MPI_THREAD_MULTIPLE.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "one thread at a time, for a moment")]
    pub(in crate::coll) fn tracker_unlocked(&self) -> &mut Tracker {
        // SAFETY: no other thread is inside MPI (`Membership::open`), and nobody keeps what this gives.
        unsafe { &mut *self.tracker.get() }
    }

    /// Whether the place of a round becomes free within so many looks: who runs ahead of the others goes on at their pace then, as who may
    /// wait does, and not by messages or tasks.
    #[cold]
    #[inline(never)]
    fn is_free_soon(&self, round: u64, place: Slot, looks: u32) -> bool {
        (0..looks).any(|_| {
            let may = self.tracker_unlocked().may_enter(&self.area, round, place);
            if !may {
                spin::cpu_relax();
            }
            may
        })
    }

    /// Where data of a round lie that are too long for a line, whether they use whole buffers, and the address and the distance of
    /// what members publish.
    #[cold]
    #[inline(never)]
    fn long_places(
        &self,
        round: u64,
        published: usize,
        whole_before: u64,
    ) -> (Slot, bool, (*mut u8, usize)) {
        let area = &self.area;
        if published <= WIDE_BYTES {
            let wide = area.wide(round, 0).as_ptr();
            return (Slot::Line, false, (wide, Row::WIDE_STRIDE));
        }
        let stride = area.buffer_bytes();
        assert!(published <= stride);
        if published > area.part_bytes() {
            (Slot::Buffer, true, (area.buffer(round, 0).as_ptr(), stride))
        } else {
            let place = Slot::Part { whole_before };
            (place, false, (area.part(round, 0).as_ptr(), stride))
        }
    }
}

impl<'a> Round<'a> {
    /// A round in which data lie beside the stamps. `in_order` says whether this member is known to have left all rounds before.
    #[inline(always)]
    pub(in crate::coll) const fn new(
        comm: &'a Comm,
        shared: &'a Shared,
        round: u64,
        (purpose, bytes): (Purpose, usize),
        in_order: bool,
    ) -> Self {
        let row = shared.area.row(round);
        Self {
            comm,
            shared,
            round,
            word: stamped(purpose, bytes),
            row,
            // SAFETY: the area stay mapped.
            places: unsafe { row.data() },
            stride: Row::STRIDE,
            me: shared.me,
            size: shared.area.members(),
            in_order,
        }
    }
}

impl<'a> Round<'a> {
    /// The round that was drawn last on a communicator whose members have area, of which this member has left all before; with its data
    /// beside the stamps.
    pub(in crate::coll) fn last(comm: &'a Comm, what: (Purpose, usize)) -> Self {
        let round = comm.area.drawn.load(Ordering::Relaxed);
        // SAFETY: they stay (`open`).
        let shared = unsafe { &*comm.area.unlocked.load(Ordering::Relaxed).cast::<Shared>() };
        Self::new(comm, shared, round, what, true)
    }
}

impl Round<'_> {
    /// The data that a member publishes.
    #[inline(always)]
    pub(in crate::coll) const fn place(self, member: u32) -> *mut u8 {
        self.places.wrapping_add(self.stride * member as usize)
    }

    /// Says that the own data are in their place.
    #[inline(always)]
    pub(in crate::coll) fn publish(self) {
        let behind = match self.in_order {
            true => 0,
            false => self.shared.tracker_unlocked().behind(self.round),
        };
        // SAFETY: this member is one, and the area stay mapped.
        unsafe { self.row.publish(self.me, self.round, behind, self.word) };
    }

    /// Counts this member in; true for the last one, which does what is nobody's in particular.
    pub(in crate::coll) fn is_last(self) -> bool {
        self.shared.area.count_in(self.round)
    }

    /// Shows the data that are nobody's in particular.
    pub(in crate::coll) fn publish_common(self) {
        let behind = self.shared.tracker_unlocked().behind(self.round);
        // SAFETY: the line after those of all members, and the area stay mapped.
        unsafe { self.row.publish(self.size, self.round, behind, self.word) };
    }

    /// Wakes a member that may sleep until this one has published.
    #[inline(always)]
    pub(in crate::coll) fn wake(self, member: u32) {
        // SAFETY: there is one for each member.
        let board = unsafe { self.shared.boards.get_unchecked(member as usize) };
        if doorbell::ring(&board.asleep, self.shared.senders_fence()) {
            self.comm.vci.enter_unlocked().count(Counter::Wakes);
        }
    }

    /// Wakes the members above this one.
    pub(in crate::coll) fn wake_above(self) {
        for member in self.me + 1..self.size {
            self.wake(member);
        }
    }

    /// Wakes all others.
    #[inline(always)]
    pub(in crate::coll) fn wake_all(self) {
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
    pub(in crate::coll) fn is_simple(self, needs: Needs) -> bool {
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
        unsafe { self.row.published_in_order(member, self.round, self.word) }
    }

    /// If the data are there that an operation needs: the round before which those who publish them have left all.
    pub(in crate::coll) fn look(self, needs: Needs) -> Option<u64> {
        let (first, end) = self.needed(needs);
        let mut left = u64::MAX;
        for member in (first..end).filter(|&member| member != self.me) {
            left = left.min(self.look_at(member)?);
        }
        Some(left)
    }

    fn look_at(self, member: u32) -> Option<u64> {
        // SAFETY: there is such a member (callers), and the area stay mapped.
        let published = unsafe { self.row.published(member, self.round) }?;
        if published.purpose != self.word {
            self.shared
                .note_mismatch(self.round, self.word, member, published.purpose);
        }
        Some(published.left_before)
    }

    /// As [`Self::look`] until they are there.
    pub(in crate::coll) fn wait(self, call: &'static str, needs: Needs) -> Result<u64> {
        let (first, end) = self.needed(needs);
        if self.comm.vci.is_crowded() {
            self.give_way(first, end);
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
    fn give_way(self, first: u32, end: u32) {
        let vci = self.comm.vci;
        let here = vci.tell_processor();
        let is_absent = |member: u32| {
            // SAFETY: there is such a member (`needed`), and the area stay mapped.
            member != self.me && unsafe { self.row.published(member, self.round) }.is_none()
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
            let mut polls = 2 * vci.crowded_polls();
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
            vci.give_way();
        }
    }

    fn wait_for(self, call: &'static str, member: u32) -> Result<u64> {
        for _ in 0..self.comm.vci.short_polls() {
            if let Some(left) = self.look_at(member) {
                return Ok(left);
            }
            spin::cpu_relax();
        }
        let sequence = self.sequence(Slot::Line);
        block_on(self.comm.vci, call, async {
            Ok(sequence.published(0, member).await)
        })
    }

    /// This round for futures.
    const fn sequence(&self, long: Slot) -> Sequence<'_> {
        Sequence {
            comm: self.comm,
            shared: self.shared,
            first: self.round,
            long,
            word: self.word,
            me: self.me,
            size: self.size,
        }
    }

    /// This member needs nobody's data any more, and neither what it needed told anything new ([`Self::is_simple`]); how it went.
    #[inline(always)]
    pub(in crate::coll) fn end_simply(self, needs: Needs) -> Result<()> {
        let (rounds, area) = (self.shared.tracker_unlocked(), &self.shared.area);
        let all_left = matches!(needs, Needs::All);
        let left = match self.in_order {
            true => Some(rounds.leave_next(area, self.me, self.round, all_left)),
            false => rounds.leave_in_order(area, self.me, self.round, all_left),
        };
        match left {
            Some(false) => self.shared.outcome(self.round),
            _ => Apart { round: self }.end_slowly(left, needs),
        }
    }

    /// This member needs nobody's data any more; those whose data it needed have left all rounds before `left`. How it went.
    pub(in crate::coll) fn end(self, needs: Needs, left: u64) -> Result<()> {
        let (shared, rounds) = (self.shared, self.shared.tracker_unlocked());
        if matches!(needs, Needs::All) {
            rounds.learn(left.min(rounds.left_before()));
        }
        if rounds.leave(&shared.area, self.me, self.round) {
            self.wake_all();
        }
        shared.outcome(self.round)
    }
}

impl Apart<'_> {
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
        block_on(self.round.comm.vci, call, async {
            sequence.enter(0, published).await;
            Ok(())
        })
    }

    /// The same where the member above alone looks at them.
    #[cold]
    #[inline(never)]
    fn enter_to_pass(&self, call: &'static str, readers: (u32, u64)) -> Result<()> {
        let sequence = self.round.sequence(Slot::Line);
        block_on(self.round.comm.vci, call, async {
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
            return round.shared.outcome(round.round);
        }
        round.end(needs, round.round)
    }
}
