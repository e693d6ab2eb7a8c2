// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commons of a group of ranks: memory of the node in which its members show each other data without messages.
//!
//! Work goes in *turns*, numbered from 1; all members take the same turns. In turn `t` every member has a line (a stamp and
//! a few bytes) and an area for more bytes; a further line and area, nobody's in particular, hold what one member computes
//! for all. Turns share [`lines`] lines and [`AREAS`] areas of each: turn `t` has number `t % lines` and `t % AREAS`. Turns with little data use a
//! part of their area each, so that [`PART_TURNS`] of them can be under way. A member *posts* in a turn: it writes its data and then the stamp with the number
//! of the turn; it *leaves* a turn when it needs nobody's data of it any more.
//!
//! Who writes what: member `m` alone writes the lines and areas of `m`; the common ones are written by the member that was
//! counted in last. Invariant: data of turn `t` are written only when every member has left turn `t - AREAS` if
//! they need a whole area; `t - lines` if they need a line; `t - PART_TURNS` if they need a part of an area, and then also the last turn
//! before `t` that used whole areas ([`Turns::may_enter`]), so whoever has not left a turn finds the data of all members that have posted in it,
//! unchanged. Where one operation takes both turns `t` and `t - AREAS`, and one member alone looks at the data, that one alone need have left
//! ([`Turns::may_pass`]); and so with lines, however many operations these turns are ([`Turns::may_pass_line`]).
//! Which turns a member has left it says in a word of its own, and also in each stamp: whoever waits for all stamps of a turn
//! anyway learns it for nothing.
//!
//! Each line goes with [`WIDE_BYTES`] bytes for data that are not much longer.
//!
//! A member that dies never posts or never leaves: the others wait, and the launcher ends the job. Stamps are compared and
//! never used as addresses.

mod lane;
#[cfg(all(test, loom))]
mod models;
mod row;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ptr::NonNull;

use sys::sync::{AtomicU32, AtomicU64, Ordering};

pub use lane::{Lane, Spot};
pub use row::Row;

/// Most turns without areas that can be under way at once (two in models, which are smaller for it): as many that a member which
/// waits for nobody, such as the root of a broadcast, is seldom stopped. Where ranks outnumber cores, a switch from one to the
/// next costs some fifty times what such a turn does.
const MOST_LINES: u64 = if cfg!(loom) { 2 } else { 128 };
/// As many as there are with however many members.
const LEAST_LINES: u64 = if cfg!(loom) { 2 } else { 32 };
/// Bytes of all members' lines that are not exceeded for more than the least.
const LINES_BYTES: u64 = 256 << 10;
/// Turns with whole areas that can be under way at once.
pub const AREAS: u64 = if cfg!(loom) { 1 } else { 4 };
/// Turns with parts of areas that can be under way at once.
pub const PART_TURNS: u64 = LEAST_LINES;
/// Bytes of data beside a stamp, aligned to 16.
pub const LINE_BYTES: usize = 48;
/// Bytes of data that go with a line, aligned to a line.
pub const WIDE_BYTES: usize = 128;
/// Turns of which one member's lines lie one after the other, before those of the next: who runs ahead and who follows go through
/// few pages, and so does who looks at all members in one turn.
const GROUP: u64 = if cfg!(loom) { 1 } else { 8 };
/// Parts of an area.
pub const PARTS: u64 = PART_TURNS / AREAS;
/// What a member says it has left when it will never look into the commons again.
const GONE: u64 = u64::MAX;

/// A member's stamp in a slot, and short data. One cache line.
#[repr(C, align(64))]
struct Line {
    /// The turn, and in the low bits how many turns before it the member has not left.
    stamp: AtomicU64,
    /// What the member does in this turn, for the others to compare.
    purpose: AtomicU64,
    data: [AtomicU64; LINE_BYTES / 8],
}

impl Line {
    #[inline(always)]
    fn post(&self, turn: u64, behind: u64, purpose: u64) {
        self.purpose.store(purpose, Ordering::Relaxed);
        // PAIRS: commons.stamp. The data, and that the poster has left earlier turns.
        self.stamp
            .store(turn << BEHIND_BITS | behind, Ordering::Release);
    }

    /// Whether that was for this purpose, and by a member that has left all turns before.
    #[inline(always)]
    fn is_posted_in_order(&self, turn: u64, purpose: u64) -> bool {
        // PAIRS: commons.stamp
        self.stamp.load(Ordering::Acquire) == turn << BEHIND_BITS
            && self.purpose.load(Ordering::Relaxed) == purpose
    }

    #[inline(always)]
    fn posted(&self, turn: u64) -> Option<Posted> {
        // PAIRS: commons.stamp
        let stamp = self.stamp.load(Ordering::Acquire);
        if stamp >> BEHIND_BITS != turn {
            return None;
        }
        let behind = stamp & ((1 << BEHIND_BITS) - 1);
        Some(Posted {
            purpose: self.purpose.load(Ordering::Relaxed),
            left_before: turn.saturating_sub(behind),
        })
    }
}

/// What all members share. One line of words that are seldom written, and one that is written when members count.
#[repr(C, align(64))]
struct Head {
    /// 1 when a member may sleep until somebody leaves a turn.
    awaited: AtomicU32,
}

/// What a member has left. One cache line.
#[repr(C, align(64))]
struct Left {
    before: AtomicU64,
}

/// Members that have come so far in a slot. One cache line.
#[repr(C, align(64))]
struct Count {
    members: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Line>() == 64);
    assert!(size_of::<Head>() == 64);
    assert!(size_of::<Left>() == 64);
    assert!(size_of::<Count>() == 64);
};

/// Bits of a stamp that tell how many turns the member has not left; fewer than there are lines.
const BEHIND_BITS: u32 = 8;
const _: () = assert!(MOST_LINES <= 1 << BEHIND_BITS && MOST_LINES <= u128::BITS as u64);

/// Turns without areas that can be under way at once among so many members: a power of two.
pub const fn lines(members: u32) -> u64 {
    let fitting = LINES_BYTES / (size_of::<Line>() as u64 * (members as u64 + 1));
    if fitting >= MOST_LINES {
        MOST_LINES
    } else if fitting <= LEAST_LINES {
        LEAST_LINES
    } else {
        1 << fitting.ilog2()
    }
}

/// Where the commons lie; the same for all members.
#[derive(Clone, Copy)]
pub struct Commons {
    head: NonNull<Head>,
    left: NonNull<Left>,
    counts: NonNull<Count>,
    lines: NonNull<Line>,
    wides: NonNull<[u8; WIDE_BYTES]>,
    areas: NonNull<u8>,
    members: u32,
    /// One less than [`lines`].
    line_mask: u32,
    /// From the lines of all members in some turns to those in the next.
    group_bytes: usize,
    area_bytes: usize,
}

// SAFETY: the pointers lead into a mapping that outlives the commons (Commons::at); all that is shared is atomic, but for the
// areas, which their users touch by the rules of turns.
unsafe impl Send for Commons {}
// SAFETY: as for Send.
unsafe impl Sync for Commons {}

impl Commons {
    /// Bytes that commons of these sizes need. `area_bytes` is a multiple of a line.
    pub const fn bytes(members: u32, area_bytes: usize) -> u64 {
        let places = members as u64 + 1;
        let areas = AREAS * places * area_bytes as u64;
        let lines = lines(members);
        64 + 64 * members as u64 + 64 * lines + (64 + WIDE_BYTES as u64) * lines * places + areas
    }

    /// The commons that start at `base`.
    ///
    /// # Safety
    /// `base` is line-aligned and starts [`Commons::bytes`] bytes that stay mapped while the commons are used, were zero
    /// when the first member came, and are used by members of one group only.
    pub const unsafe fn at(base: NonNull<u8>, members: u32, area_bytes: usize) -> Self {
        let turns = lines(members) as usize;
        let lines = turns * (members as usize + 1);
        // SAFETY: inside the range that the caller promises.
        unsafe {
            let left = base.add(64);
            let counts = left.add(64 * members as usize);
            let first_line = counts.add(64 * turns);
            let wides = first_line.add(64 * lines);
            Self {
                head: base.cast(),
                left: left.cast(),
                counts: counts.cast(),
                lines: first_line.cast(),
                wides: wides.cast(),
                areas: wides.add(WIDE_BYTES * lines),
                members,
                line_mask: turns as u32 - 1,
                group_bytes: size_of::<Line>() * GROUP as usize * (members as usize + 1),
                area_bytes,
            }
        }
    }

    /// Turns without areas that can be under way at once.
    const fn lines(&self) -> u64 {
        self.line_mask as u64 + 1
    }

    /// What a turn is among those that share lines.
    const fn number(&self, turn: u64) -> u64 {
        turn & self.line_mask as u64
    }

    /// Turns with data in such places that can be under way at once.
    pub const fn turns_at_once(&self, place: Place) -> u64 {
        match place {
            Place::Line => self.lines(),
            Place::Part { .. } => PART_TURNS,
            Place::Area => AREAS,
        }
    }

    /// Where they start.
    pub const fn base(&self) -> *const u8 {
        self.head.as_ptr().cast_const().cast()
    }

    /// Number of members.
    pub const fn members(&self) -> u32 {
        self.members
    }

    /// Bytes of an area.
    pub const fn area_bytes(&self) -> usize {
        self.area_bytes
    }

    /// The place of a member, or of nobody in particular for `members`, among those of `number`.
    const fn place(&self, number: u64, member: u32) -> usize {
        debug_assert!(member <= self.members);
        number as usize * (self.members as usize + 1) + member as usize
    }

    /// Which line a member has in a turn.
    const fn line_index(&self, turn: u64, member: u32) -> usize {
        let number = self.number(turn);
        self.place(number / GROUP, member) * GROUP as usize + (number % GROUP) as usize
    }

    fn line(&self, turn: u64, member: u32) -> &Line {
        // SAFETY: the index is below the number of lines (Commons::at).
        unsafe { self.lines.add(self.line_index(turn, member)).as_ref() }
    }

    #[inline(always)]
    fn left(&self, member: u32) -> &AtomicU64 {
        assert!(member < self.members);
        // SAFETY: there are `members` of them (Commons::at).
        unsafe { &self.left.add(member as usize).as_ref().before }
    }

    fn count(&self, turn: u64) -> &AtomicU64 {
        // SAFETY: there is one for each number (Commons::at).
        unsafe { &self.counts.add(self.number(turn) as usize).as_ref().members }
    }

    fn head(&self) -> &Head {
        // SAFETY: inside the range (Commons::at).
        unsafe { self.head.as_ref() }
    }

    /// The short data of a member (or of nobody in particular) in a turn: [`LINE_BYTES`] bytes, aligned to 16.
    pub fn short(&self, turn: u64, member: u32) -> NonNull<u8> {
        NonNull::from(&self.line(turn, member).data).cast()
    }

    /// What goes with that: [`WIDE_BYTES`] bytes, aligned to a line.
    pub const fn wide(&self, turn: u64, member: u32) -> NonNull<u8> {
        // SAFETY: there are as many as lines (Commons::at).
        unsafe { self.wides.add(self.line_index(turn, member)).cast() }
    }

    /// The area of a member (or of nobody in particular) in a turn: [`Self::area_bytes`] bytes, aligned to a line.
    pub const fn area(&self, turn: u64, member: u32) -> NonNull<u8> {
        // SAFETY: `place` is below the number of areas (Commons::at).
        unsafe {
            self.areas
                .add(self.place(turn % AREAS, member) * self.area_bytes)
        }
    }

    /// Bytes of a part of an area: whole lines.
    pub const fn part_bytes(&self) -> usize {
        self.area_bytes / PARTS as usize / 64 * 64
    }

    /// The part of the area of a member (or of nobody in particular) that a turn with little data uses:
    /// [`Self::part_bytes`] bytes, aligned to a line.
    pub const fn part(&self, turn: u64, member: u32) -> NonNull<u8> {
        let part = (turn / AREAS % PARTS) as usize;
        // SAFETY: inside the area.
        unsafe { self.area(turn, member).add(part * self.part_bytes()) }
    }

    /// Says that the data of `member` are there. `member` is the own one, or nobody in particular for who was counted in
    /// last.
    #[inline]
    pub fn post(&self, turns: &Turns, turn: u64, member: u32, purpose: u64) {
        self.line(turn, member)
            .post(turn, turns.behind(turn), purpose);
    }

    /// What a member has posted in a turn, once it has.
    #[inline]
    pub fn posted(&self, turn: u64, member: u32) -> Option<Posted> {
        self.line(turn, member).posted(turn)
    }

    /// A word that changes when a member posts in a turn.
    pub fn stamp(&self, turn: u64, member: u32) -> &AtomicU64 {
        &self.line(turn, member).stamp
    }

    /// Counts the caller, who has posted; true for the last of all members.
    pub fn count_in(&self, turn: u64) -> bool {
        let count = self.count(turn);
        // PAIRS: commons.count. The last one sees what all the others posted.
        let last = count.fetch_add(1, Ordering::AcqRel) + 1 == u64::from(self.members);
        if last {
            // Nobody counts in this slot before the caller has left the turn.
            count.store(0, Ordering::Relaxed);
        }
        last
    }

    /// Whether all members but the caller have been counted: it will be the last one, and sees what the others posted.
    pub fn comes_last(&self, turn: u64) -> bool {
        // PAIRS: commons.count
        self.count(turn).load(Ordering::Acquire) + 1 == u64::from(self.members)
    }

    /// Says that this member will never use the commons again.
    pub fn retire(&self, me: u32) {
        // PAIRS: commons.left
        self.left(me).store(GONE, Ordering::Release);
    }

    /// Says whether somebody may sleep until a member leaves a turn. Members that wait at the same time may take back each
    /// other's word; a sleep has its limit.
    pub fn set_awaited(&self, awaited: bool) {
        self.head()
            .awaited
            .store(u32::from(awaited), Ordering::Relaxed);
    }

    /// The member that is farthest behind in leaving turns, and what its word held when that was found out: as long as it
    /// holds that, nothing can have been gained.
    pub fn laggard(&self) -> (u32, u64) {
        (0..self.members)
            .map(|member| (member, self.left(member).load(Ordering::Relaxed)))
            .min_by_key(|&(_, left)| left)
            .unwrap_or((0, 0))
    }

    /// The same for who waits until `reader` has left the turn that had the place of `turn` ([`Turns::may_pass`],
    /// [`Turns::may_pass_line`]).
    pub fn reader_or_laggard(&self, turn: u64, reader: u32, place: Place) -> (u32, u64) {
        let left = self.left(reader).load(Ordering::Relaxed);
        if left > turn.saturating_sub(self.turns_at_once(place)) {
            return self.laggard();
        }
        (reader, left)
    }

    /// A word that changes when a member leaves a turn.
    pub fn left_word(&self, member: u32) -> &AtomicU64 {
        self.left(member)
    }

    /// Whether all members have retired: the memory can be used for something else.
    pub fn is_deserted(&self) -> bool {
        // PAIRS: commons.left
        (0..self.members).all(|member| self.left(member).load(Ordering::Acquire) == GONE)
    }

    /// Makes deserted commons as good as new.
    pub fn reset(&self) {
        for turn in 0..self.lines() {
            for member in 0..=self.members {
                self.line(turn, member).stamp.store(0, Ordering::Relaxed);
            }
            self.count(turn).store(0, Ordering::Relaxed);
        }
        for member in 0..self.members {
            self.left(member).store(0, Ordering::Relaxed);
        }
        self.head().awaited.store(0, Ordering::Relaxed);
    }
}

/// What the stamp of a member tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// What the member does in this turn.
    pub purpose: u64,
    /// The member has left all turns before this one.
    pub left_before: u64,
}

/// Where the data of a turn go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Beside the stamp, or into what goes with that line.
    Line,
    /// Into a part of the area. The last turn before this one that used whole areas; 0 if none did.
    Part {
        /// See above.
        whole_before: u64,
    },
    /// Into the area.
    Area,
}

/// What a member knows about turns: which ones it has left, and which ones all others have.
#[derive(Debug)]
pub struct Turns {
    /// All turns before this one are left.
    left_before: u64,
    /// Turns from `left_before` on that are left, one bit each.
    left_after: u128,
    /// Every member has left all turns before this one.
    all_left_before: u64,
}

impl Turns {
    /// A member that has taken no turn; the first is 1.
    pub const fn new() -> Self {
        Self {
            left_before: 1,
            left_after: 0,
            all_left_before: 1,
        }
    }

    /// All turns before this one are left by this member.
    pub const fn left_before(&self) -> u64 {
        self.left_before
    }

    /// Turns before this one that this member has not left.
    #[inline(always)]
    pub const fn behind(&self, turn: u64) -> u64 {
        turn.saturating_sub(self.left_before)
    }

    /// Every member is known to have left all turns before this one.
    #[inline]
    pub fn learn(&mut self, all_left_before: u64) {
        self.all_left_before = self.all_left_before.max(all_left_before);
    }

    /// Whether the data of a turn may be written: every member has left the turns that had the place before.
    #[inline(always)]
    pub fn may_enter(&mut self, commons: &Commons, turn: u64, place: Place) -> bool {
        let is_known = turn < self.all_left_before + commons.lines();
        (is_known && place == Place::Line) || self.may_enter_later(commons, turn, place)
    }

    #[inline(never)]
    fn may_enter_later(&mut self, commons: &Commons, turn: u64, place: Place) -> bool {
        let back = |turns| (turn + 1).saturating_sub(turns);
        let needed = match place {
            Place::Line => back(commons.lines()),
            Place::Part { whole_before } => back(PART_TURNS).max(whole_before + 1),
            Place::Area => back(AREAS),
        };
        needed <= self.all_left_before || self.look(commons, needed)
    }

    /// The same for a whole area in an operation of which turn `turn - AREAS` is one, too, and in which `reader` alone looks at
    /// what this member shows.
    pub fn may_pass(&mut self, commons: &Commons, turn: u64, reader: u32) -> bool {
        // PAIRS: commons.left
        self.may_enter(commons, turn, Place::Line)
            && commons.left(reader).load(Ordering::Acquire) > turn - AREAS
    }

    /// Whether the data of a turn may be written into a line, where `reader` alone looks at what this member shows in it, and did so
    /// in all turns after `others_before`.
    pub fn may_pass_line(
        &mut self,
        commons: &Commons,
        turn: u64,
        (reader, others_before): (u32, u64),
    ) -> bool {
        let earlier = (turn + 1).saturating_sub(commons.lines());
        let needed = earlier.min(others_before + 1);
        // PAIRS: commons.left
        commons.left(reader).load(Ordering::Acquire).max(1) >= earlier
            && (needed <= self.all_left_before || self.look(commons, needed))
    }

    /// Whether every member has left all turns before `needed`.
    #[cold]
    fn look(&mut self, commons: &Commons, needed: u64) -> bool {
        let lowest = (0..commons.members)
            // PAIRS: commons.left. Their reads of the slot happen before we overwrite it.
            .map(|member| commons.left(member).load(Ordering::Acquire))
            .min()
            .unwrap_or(GONE);
        // A member that has left no turn has written nothing: the first turn is 1.
        self.learn(lowest);
        needed <= self.all_left_before
    }

    /// As [`Self::learn`] and [`Self::leave`], where that is simple: `None` where it is not, and nothing has been done. All members
    /// have left the turns before this one if `all_left`.
    #[inline(always)]
    pub fn leave_in_order(
        &mut self,
        commons: &Commons,
        me: u32,
        turn: u64,
        all_left: bool,
    ) -> Option<bool> {
        if turn != self.left_before || self.left_after != 0 {
            return None;
        }
        Some(self.leave_next(commons, me, turn, all_left))
    }

    /// The same for who has left all turns before.
    #[inline(always)]
    pub fn leave_next(&mut self, commons: &Commons, me: u32, turn: u64, all_left: bool) -> bool {
        self.go_on(turn, all_left);
        self.say_left(commons, me)
    }

    /// Notes that this member has left the next turn, and whether all have left those before it.
    #[inline(always)]
    fn go_on(&mut self, turn: u64, all_left: bool) {
        debug_assert!(turn == self.left_before && self.left_after == 0);
        if all_left {
            self.all_left_before = turn;
        }
        self.left_before = turn + 1;
    }

    /// Leaves a turn; true when somebody may sleep until that happens. Each turn is left once, after it was entered.
    #[inline]
    pub fn leave(&mut self, commons: &Commons, me: u32, turn: u64) -> bool {
        if turn == self.left_before && self.left_after == 0 {
            self.left_before += 1;
        } else {
            self.leave_apart(turn);
        }
        self.say_left(commons, me)
    }

    #[inline(always)]
    fn say_left(&self, commons: &Commons, me: u32) -> bool {
        // PAIRS: commons.left
        commons.left(me).store(self.left_before, Ordering::Release);
        commons.head().awaited.load(Ordering::Relaxed) != 0
    }

    /// Leaves a turn after or before another one that is not left.
    fn leave_apart(&mut self, turn: u64) {
        self.left_after |= 1 << (turn - self.left_before);
        let done = self.left_after.trailing_ones();
        self.left_before += u64::from(done);
        self.left_after = self.left_after.checked_shr(done).unwrap_or(0);
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self::new()
    }
}
