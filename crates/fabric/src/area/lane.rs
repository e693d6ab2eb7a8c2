// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of two members, found once for all rounds: for who takes one round after the other with one other member.

use std::ptr::NonNull;

use super::Tracker;
use super::memory::{GROUP, Head, LINE_BYTES, Left, Line, SharedArea, lines};
use sys::sync::Ordering;

/// The members of area that have a lane.
const MEMBERS: u32 = 2;
/// Rounds that have a line of their own.
const TURNS: u64 = lines(MEMBERS);
/// From the lines of one group of rounds to those of the next.
const GROUP_STRIDE: usize = GROUP as usize * (MEMBERS as usize + 1);

/// Where a member of two finds its own lines and the other one's, in area that stay mapped while this is used.
pub struct Lane {
    /// In round 0.
    mine: NonNull<Line>,
    theirs: NonNull<Line>,
    /// What this member has left.
    left: NonNull<Left>,
    head: NonNull<Head>,
}

/// The lines of one round.
#[derive(Clone, Copy)]
pub struct Spot<'a> {
    mine: &'a Line,
    theirs: &'a Line,
    round: u64,
}

impl Lane {
    /// Bytes that a member can publish.
    pub const BYTES: usize = LINE_BYTES;

    /// The lane of member `me`; `None` unless there are two.
    pub fn new(area: &SharedArea, me: u32) -> Option<Self> {
        if area.members() != MEMBERS || me >= MEMBERS {
            return None;
        }
        let line = |member| NonNull::from(area.line(0, member));
        Some(Self {
            mine: line(me),
            theirs: line(1 - me),
            // SAFETY: there is one for each member (SharedArea::at).
            left: unsafe { area.left.add(me as usize) },
            head: area.head,
        })
    }

    /// The lines of a round.
    #[inline(always)]
    pub const fn at(&self, round: u64) -> Spot<'_> {
        let number = round & (TURNS - 1);
        let (group, among) = ((number / GROUP) as usize, (number % GROUP) as usize);
        let distance = group * GROUP_STRIDE + among;
        // SAFETY: that is the distance of each member's line from its first one (`SharedArea::line_index`).
        let (mine, theirs) = unsafe {
            (
                self.mine.add(distance).as_ref(),
                self.theirs.add(distance).as_ref(),
            )
        };
        Spot {
            mine,
            theirs,
            round,
        }
    }

    /// Whether the own line of a round may be written, where that is known without a look at the other member.
    #[inline(always)]
    pub const fn is_free(&self, rounds: &Tracker, round: u64) -> bool {
        round < rounds.all_left_before + TURNS
    }

    /// As [`Tracker::leave_next`]; `was_met` says whether the other member has told that it has left the rounds before.
    #[inline(always)]
    pub fn leave(&self, rounds: &mut Tracker, round: u64, was_met: bool) -> bool {
        rounds.go_on(round, was_met);
        // SAFETY: inside the area (`new`).
        let (left, head) = unsafe { (self.left.as_ref(), self.head.as_ref()) };
        // PAIRS: area.left
        left.before.store(round + 1, Ordering::Release);
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

    /// Says that the own data are there; of a member that has left all rounds before.
    #[inline(always)]
    pub fn publish(self, purpose: u64) {
        self.mine.publish(self.round, 0, purpose);
    }

    /// Whether the other member has published for this purpose, having left all rounds before.
    #[inline(always)]
    pub fn is_met(self, purpose: u64) -> bool {
        self.theirs.is_published_in_order(self.round, purpose)
    }
}
