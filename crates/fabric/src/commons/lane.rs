// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of two members, found once for all turns: for who takes one turn after the other with one other member.

use std::ptr::NonNull;

use super::{Commons, GROUP, Head, LINE_BYTES, Left, Line, Turns, lines};
use sys::sync::Ordering;

/// The members of commons that have a lane.
const MEMBERS: u32 = 2;
/// Turns that have a line of their own.
const TURNS: u64 = lines(MEMBERS);
/// From the lines of one group of turns to those of the next.
const GROUP_STRIDE: usize = GROUP as usize * (MEMBERS as usize + 1);

/// Where a member of two finds its own lines and the other one's, in commons that stay mapped while this is used.
pub struct Lane {
    /// In turn 0.
    mine: NonNull<Line>,
    theirs: NonNull<Line>,
    /// What this member has left.
    left: NonNull<Left>,
    head: NonNull<Head>,
}

/// The lines of one turn.
#[derive(Clone, Copy)]
pub struct Spot<'a> {
    mine: &'a Line,
    theirs: &'a Line,
    turn: u64,
}

impl Lane {
    /// Bytes that a member can show.
    pub const BYTES: usize = LINE_BYTES;

    /// The lane of member `me`; `None` unless there are two.
    pub fn new(commons: &Commons, me: u32) -> Option<Self> {
        if commons.members() != MEMBERS || me >= MEMBERS {
            return None;
        }
        let line = |member| NonNull::from(commons.line(0, member));
        Some(Self {
            mine: line(me),
            theirs: line(1 - me),
            // SAFETY: there is one for each member (Commons::at).
            left: unsafe { commons.left.add(me as usize) },
            head: commons.head,
        })
    }

    /// The lines of a turn.
    #[inline(always)]
    pub const fn at(&self, turn: u64) -> Spot<'_> {
        let number = turn & (TURNS - 1);
        let (group, among) = ((number / GROUP) as usize, (number % GROUP) as usize);
        let distance = group * GROUP_STRIDE + among;
        // SAFETY: that is the distance of each member's line from its first one (`Commons::line_index`).
        let (mine, theirs) = unsafe {
            (
                self.mine.add(distance).as_ref(),
                self.theirs.add(distance).as_ref(),
            )
        };
        Spot { mine, theirs, turn }
    }

    /// Whether the own line of a turn may be written, where that is known without a look at the other member.
    #[inline(always)]
    pub const fn is_free(&self, turns: &Turns, turn: u64) -> bool {
        turn < turns.all_left_before + TURNS
    }

    /// As [`Turns::leave_next`]; `was_met` says whether the other member has told that it has left the turns before.
    #[inline(always)]
    pub fn leave(&self, turns: &mut Turns, turn: u64, was_met: bool) -> bool {
        turns.go_on(turn, was_met);
        // SAFETY: inside the commons (`new`).
        let (left, head) = unsafe { (self.left.as_ref(), self.head.as_ref()) };
        // PAIRS: commons.left
        left.before.store(turn + 1, Ordering::Release);
        head.awaited.load(Ordering::Relaxed) != 0
    }
}

impl Spot<'_> {
    /// The own data: [`Lane::BYTES`] bytes, aligned to 16.
    #[inline(always)]
    pub const fn mine(self) -> *mut u8 {
        (&raw const self.mine.data).cast_mut().cast()
    }

    /// Those of the other member.
    #[inline(always)]
    pub const fn theirs(self) -> *const u8 {
        (&raw const self.theirs.data).cast()
    }

    /// Says that the own data are there; of a member that has left all turns before.
    #[inline(always)]
    pub fn post(self, purpose: u64) {
        self.mine.post(self.turn, 0, purpose);
    }

    /// Whether the other member has posted for this purpose, having left all turns before.
    #[inline(always)]
    pub fn is_met(self, purpose: u64) -> bool {
        self.theirs.is_posted_in_order(self.turn, purpose)
    }
}
