// SPDX-License-Identifier: MIT OR Apache-2.0
//! The only turn of an operation of little data, on the straight line: below MPI_THREAD_MULTIPLE, and with nothing on the way that
//! was not found out before. Every call here is inlined but for the cold ones; budgets are in `cargo xtask instructions`.
#![expect(
    unsafe_code,
    reason = "data in the commons are reached through addresses"
)]

use fabric::commons::{LINE_BYTES, Place, Row, Turns, WIDE_BYTES};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::spin;
use sys::sync::{Ordering, spin_loop};

use super::{Meeting, Purpose, Shared};
use crate::coll::purpose::stamped;
use crate::coll::step::{Going, Needs};
use crate::comm::Comm;
use crate::errors::Result;
use crate::task::block_on;

/// A turn that was drawn.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Encounter<'a> {
    comm: &'a Comm,
    shared: &'a Shared,
    turn: u64,
    word: u64,
    row: Row,
    /// The data of rank 0, and how far those of the next rank are.
    places: *mut u8,
    stride: usize,
    /// This member's rank.
    pub(in crate::coll) me: u32,
    /// The number of members.
    pub(in crate::coll) size: u32,
    /// Whether this member is known to have left all turns before.
    in_order: bool,
}

/// An encounter for calls that are not inlined: in memory of its own, so that the other one needs none.
struct Apart<'a> {
    encounter: Encounter<'a>,
}

/// The turn that an operation would draw.
pub(in crate::coll) struct Next<'a> {
    pub(in crate::coll) encounter: Encounter<'a>,
    place: Place,
    whole: bool,
    shown: usize,
}

/// The commons of a communicator, if an operation may take its turn in them at once.
#[inline(always)]
pub(in crate::coll) fn open(comm: &Comm, purpose: Purpose, bytes: usize) -> Option<&Shared> {
    // SAFETY: null, or the commons in the same membership, which stay (found).
    let shared = unsafe { comm.membership.open.load(Ordering::Relaxed).as_ref() }?;
    (bytes < shared.short[purpose as usize]).then_some(shared)
}

impl<'a> Next<'a> {
    /// The next turn, in which each member that shows anything has `shown` bytes there.
    #[inline(always)]
    pub(in crate::coll) fn new<G: Going<'a>>(
        _: G,
        comm: &'a Comm,
        shared: &'a Shared,
        purpose: Purpose,
        bytes: usize,
        shown: usize,
    ) -> Self {
        let membership = &comm.membership;
        let turn = membership.next_turn();
        let encounter = Encounter::new(comm, shared, turn, (purpose, bytes), G::IN_ORDER);
        let (place, whole, (places, stride)) = if shown <= LINE_BYTES {
            (Place::Line, false, (encounter.places, encounter.stride))
        } else {
            shared.long_places(turn, shown, membership.last_whole.load(Ordering::Relaxed))
        };
        Next {
            encounter: Encounter {
                places,
                stride,
                ..encounter
            },
            place,
            whole,
            shown,
        }
    }
}

impl Next<'_> {
    /// Draws the turn. If this member `shows` anything its place is free then; who may not wait for that, having no name of its call,
    /// gets `None`, and nothing has been done.
    #[inline(always)]
    pub(in crate::coll) fn draw(
        &self,
        call: Option<&'static str>,
        shows: bool,
    ) -> Option<Result<()>> {
        let Encounter {
            comm, shared, turn, ..
        } = self.encounter;
        let is_free = !shows
            || shared
                .turns_alone()
                .may_enter(&shared.commons, turn, self.place)
            || (call.is_none() && shared.is_free_soon(turn, self.place, comm.vci.short_polls()));
        self.take(call, is_free)?;
        match call {
            Some(call) if !is_free => {
                let apart = Apart {
                    encounter: self.encounter,
                };
                Some(apart.enter(call, self.place, self.shown))
            }
            _ => Some(Ok(())),
        }
    }

    /// As [`Self::draw`] for a turn in which each member shows its data to the one above alone.
    #[inline(always)]
    pub(in crate::coll) fn draw_to_pass(&self, call: Option<&'static str>) -> Option<Result<()>> {
        let Encounter {
            comm, shared, turn, ..
        } = self.encounter;
        let (turns, commons) = (shared.turns_alone(), &shared.commons);
        let above = self.encounter.me + 1;
        let readers = (above, comm.membership.others_before(turn));
        let is_free = above == self.encounter.size
            || match self.place {
                Place::Line => turns.may_pass_line(commons, turn, readers),
                _ => turns.may_enter(commons, turn, self.place),
            };
        self.take(call, is_free)?;
        comm.membership.pass(turn, turn);
        match call {
            Some(call) if !is_free => {
                let apart = Apart {
                    encounter: self.encounter,
                };
                Some(match self.place {
                    Place::Line => apart.enter_to_pass(call, readers),
                    _ => apart.enter(call, self.place, self.shown),
                })
            }
            _ => Some(Ok(())),
        }
    }

    /// Draws the turn unless its place is not free and nobody may wait for it.
    #[inline(always)]
    fn take(&self, call: Option<&'static str>, is_free: bool) -> Option<()> {
        if !is_free && call.is_none() {
            return None;
        }
        let Encounter { comm, turn, .. } = self.encounter;
        let membership = &comm.membership;
        membership.set_drawn(turn);
        if self.whole {
            membership.last_whole.store(turn, Ordering::Relaxed);
        }
        comm.count_collective();
        comm.vci.enter_unlocked().count(Counter::SharedTurns);
        Some(())
    }
}

impl Shared {
    /// What members know about turns, below MPI_THREAD_MULTIPLE.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "one thread at a time, for a moment")]
    pub(in crate::coll) fn turns_alone(&self) -> &mut Turns {
        // SAFETY: no other thread is inside MPI (`Membership::open`), and nobody keeps what this gives.
        unsafe { &mut *self.turns.get() }
    }

    /// Whether the place of a turn becomes free within so many looks: who runs ahead of the others goes on at their pace then, as who may
    /// wait does, and not by messages or tasks.
    #[cold]
    #[inline(never)]
    fn is_free_soon(&self, turn: u64, place: Place, looks: u32) -> bool {
        (0..looks).any(|_| {
            let may = self.turns_alone().may_enter(&self.commons, turn, place);
            if !may {
                spin::cpu_relax();
            }
            may
        })
    }

    /// Where data of a turn lie that are too long for a line, whether they use whole areas, and the address and the distance of
    /// what members show.
    #[cold]
    #[inline(never)]
    fn long_places(
        &self,
        turn: u64,
        shown: usize,
        whole_before: u64,
    ) -> (Place, bool, (*mut u8, usize)) {
        let commons = &self.commons;
        if shown <= WIDE_BYTES {
            let wide = commons.wide(turn, 0).as_ptr();
            return (Place::Line, false, (wide, Row::WIDE_STRIDE));
        }
        let stride = commons.area_bytes();
        assert!(shown <= stride);
        if shown > commons.part_bytes() {
            (Place::Area, true, (commons.area(turn, 0).as_ptr(), stride))
        } else {
            let place = Place::Part { whole_before };
            (place, false, (commons.part(turn, 0).as_ptr(), stride))
        }
    }
}

impl<'a> Encounter<'a> {
    /// A turn in which data lie beside the stamps. `in_order` says whether this member is known to have left all turns before.
    #[inline(always)]
    pub(in crate::coll) const fn new(
        comm: &'a Comm,
        shared: &'a Shared,
        turn: u64,
        (purpose, bytes): (Purpose, usize),
        in_order: bool,
    ) -> Self {
        let row = shared.commons.row(turn);
        Self {
            comm,
            shared,
            turn,
            word: stamped(purpose, bytes),
            row,
            // SAFETY: the commons stay mapped.
            places: unsafe { row.data() },
            stride: Row::STRIDE,
            me: shared.me,
            size: shared.commons.members(),
            in_order,
        }
    }
}

impl<'a> Encounter<'a> {
    /// The turn that was drawn last on a communicator whose members have commons, of which this member has left all before; with its data
    /// beside the stamps.
    pub(in crate::coll) fn last(comm: &'a Comm, what: (Purpose, usize)) -> Self {
        let turn = comm.membership.drawn.load(Ordering::Relaxed);
        // SAFETY: they stay (`open`).
        let shared = unsafe { &*comm.membership.open.load(Ordering::Relaxed) };
        Self::new(comm, shared, turn, what, true)
    }
}

impl Encounter<'_> {
    /// The data that a member shows.
    #[inline(always)]
    pub(in crate::coll) const fn place(self, member: u32) -> *mut u8 {
        self.places.wrapping_add(self.stride * member as usize)
    }

    /// Says that the own data are in their place.
    #[inline(always)]
    pub(in crate::coll) fn post(self) {
        let behind = match self.in_order {
            true => 0,
            false => self.shared.turns_alone().behind(self.turn),
        };
        // SAFETY: this member is one, and the commons stay mapped.
        unsafe { self.row.post(self.me, self.turn, behind, self.word) };
    }

    /// Counts this member in; true for the last one, which does what is nobody's in particular.
    pub(in crate::coll) fn is_last(self) -> bool {
        self.shared.commons.count_in(self.turn)
    }

    /// Shows the data that are nobody's in particular.
    pub(in crate::coll) fn post_common(self) {
        let behind = self.shared.turns_alone().behind(self.turn);
        // SAFETY: the line after those of all members, and the commons stay mapped.
        unsafe { self.row.post(self.size, self.turn, behind, self.word) };
    }

    /// Wakes a member that may sleep until this one has posted.
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
            Apart { encounter: self }.wake_all();
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

    /// Whether the data are there that an operation needs, for the same purpose, and of members that have left all turns before.
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
        // SAFETY: there is such a member (`needed`), and the commons stay mapped.
        unsafe { self.row.posted_in_order(member, self.turn, self.word) }
    }

    /// If the data are there that an operation needs: the turn before which those who show them have left all.
    pub(in crate::coll) fn look(self, needs: Needs) -> Option<u64> {
        let (first, end) = self.needed(needs);
        let mut left = u64::MAX;
        for member in (first..end).filter(|&member| member != self.me) {
            left = left.min(self.look_at(member)?);
        }
        Some(left)
    }

    fn look_at(self, member: u32) -> Option<u64> {
        // SAFETY: there is such a member (callers), and the commons stay mapped.
        let posted = unsafe { self.row.posted(member, self.turn) }?;
        if posted.purpose != self.word {
            self.shared
                .note_mismatch(self.turn, self.word, member, posted.purpose);
        }
        Some(posted.left_before)
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

    /// Lets those run on this core who have not come, for as long as a few turns of all take, until all of these members have. Where
    /// who has not come was on other cores when it last waited, it waits for that a moment first: giving its own core to somebody who
    /// waits, too, would gain nothing.
    fn give_way(self, first: u32, end: u32) {
        let vci = self.comm.vci;
        let here = vci.tell_processor();
        let is_absent = |member: u32| {
            // SAFETY: there is such a member (`needed`), and the commons stay mapped.
            member != self.me && unsafe { self.row.posted(member, self.turn) }.is_none()
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
        let meeting = self.meeting(Place::Line);
        block_on(self.comm.vci, call, async {
            Ok(meeting.posted(0, member).await)
        })
    }

    /// This turn for futures.
    const fn meeting(&self, long: Place) -> Meeting<'_> {
        Meeting {
            comm: self.comm,
            shared: self.shared,
            first: self.turn,
            long,
            word: self.word,
            me: self.me,
            size: self.size,
        }
    }

    /// This member needs nobody's data any more, and neither what it needed told anything new ([`Self::is_simple`]); how it went.
    #[inline(always)]
    pub(in crate::coll) fn end_simply(self, needs: Needs) -> Result<()> {
        let (turns, commons) = (self.shared.turns_alone(), &self.shared.commons);
        let all_left = matches!(needs, Needs::All);
        let left = match self.in_order {
            true => Some(turns.leave_next(commons, self.me, self.turn, all_left)),
            false => turns.leave_in_order(commons, self.me, self.turn, all_left),
        };
        match left {
            Some(false) => self.shared.outcome(self.turn),
            _ => Apart { encounter: self }.end_slowly(left, needs),
        }
    }

    /// This member needs nobody's data any more; those whose data it needed have left all turns before `left`. How it went.
    pub(in crate::coll) fn end(self, needs: Needs, left: u64) -> Result<()> {
        let (shared, turns) = (self.shared, self.shared.turns_alone());
        if matches!(needs, Needs::All) {
            turns.learn(left.min(turns.left_before()));
        }
        if turns.leave(&shared.commons, self.me, self.turn) {
            self.wake_all();
        }
        shared.outcome(self.turn)
    }
}

impl Apart<'_> {
    /// Wakes all others that sleep.
    #[cold]
    #[inline(never)]
    fn wake_all(&self) {
        let encounter = self.encounter;
        for member in (0..encounter.size).filter(|&member| member != encounter.me) {
            encounter.wake(member);
        }
    }

    /// Waits until the own data can be written.
    #[cold]
    #[inline(never)]
    fn enter(&self, call: &'static str, place: Place, shown: usize) -> Result<()> {
        let meeting = self.encounter.meeting(place);
        block_on(self.encounter.comm.vci, call, async {
            meeting.enter(0, shown).await;
            Ok(())
        })
    }

    /// The same where the member above alone looks at them.
    #[cold]
    #[inline(never)]
    fn enter_to_pass(&self, call: &'static str, readers: (u32, u64)) -> Result<()> {
        let meeting = self.encounter.meeting(Place::Line);
        block_on(self.encounter.comm.vci, call, async {
            meeting.enter_line_for(readers).await;
            Ok(())
        })
    }

    /// As [`Encounter::end_simply`] where that is not simple, or somebody waits for it.
    #[cold]
    #[inline(never)]
    fn end_slowly(&self, left: Option<bool>, needs: Needs) -> Result<()> {
        let encounter = self.encounter;
        if left.is_some() {
            encounter.wake_all();
            return encounter.shared.outcome(encounter.turn);
        }
        encounter.end(needs, encounter.turn)
    }
}
