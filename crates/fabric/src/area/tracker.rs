// SPDX-License-Identifier: MIT OR Apache-2.0
//! One member's knowledge of which rounds members have left.

use super::memory::{BUFFERS, GONE, PART_ROUNDS, SharedArea, Slot};
use sys::sync::Ordering;

/// The rounds that a member has left, and those that all others are known to have left.
#[derive(Debug)]
pub struct Tracker {
    /// All rounds before this one are left.
    left_before: u64,
    /// Rounds from `left_before` on that are left, one bit each.
    left_after: u128,
    /// Every member has left all rounds before this one.
    pub(super) all_left_before: u64,
}

impl Tracker {
    /// A member that has taken no round; the first is 1.
    pub const fn new() -> Self {
        Self {
            left_before: 1,
            left_after: 0,
            all_left_before: 1,
        }
    }

    /// All rounds before this one are left by this member.
    pub const fn left_before(&self) -> u64 {
        self.left_before
    }

    /// Rounds before this one that this member has not left.
    #[inline(always)]
    pub const fn behind(&self, round: u64) -> u64 {
        round.saturating_sub(self.left_before)
    }

    /// Every member is known to have left all rounds before this one.
    #[inline]
    pub fn learn(&mut self, all_left_before: u64) {
        self.all_left_before = self.all_left_before.max(all_left_before);
    }

    /// Whether every member is known to have left the rounds that had the line of a round before.
    #[inline(always)]
    pub const fn knows_line_free(&self, area: &SharedArea, round: u64) -> bool {
        // This member has not left the round, so not all have left later ones.
        round - self.all_left_before <= area.line_mask as u64
    }

    /// Whether the data of a round may be written: every member has left the rounds that had the slot before.
    #[inline(always)]
    pub fn may_enter(&mut self, area: &SharedArea, round: u64, slot: Slot) -> bool {
        (slot == Slot::Line && self.knows_line_free(area, round))
            || self.may_enter_later(area, round, slot)
    }

    #[inline(never)]
    fn may_enter_later(&mut self, area: &SharedArea, round: u64, slot: Slot) -> bool {
        let back = |rounds| (round + 1).saturating_sub(rounds);
        let needed = match slot {
            Slot::Line => back(area.lines()),
            Slot::Part { whole_before } => back(PART_ROUNDS).max(whole_before + 1),
            Slot::Buffer => back(BUFFERS),
        };
        needed <= self.all_left_before || self.read_left(area, needed)
    }

    /// The same for a whole buffer in an operation of which round `round - BUFFERS` is one, too, and in which only `reader` reads
    /// the data of this member.
    pub fn may_pass(&mut self, area: &SharedArea, round: u64, reader: u32) -> bool {
        // PAIRS: area.left
        self.may_enter(area, round, Slot::Line)
            && area.left(reader).load(Ordering::Acquire) > round - BUFFERS
    }

    /// Whether the data of a round may be written into a line, where only `reader` reads the data of this member in the round, as in
    /// all rounds after `others_before`.
    pub fn may_pass_line(&mut self, area: &SharedArea, round: u64, readers: (u32, u64)) -> bool {
        let (earlier, needed) = needed_to_pass(area, round, readers);
        // PAIRS: area.left
        area.left(readers.0).load(Ordering::Acquire).max(1) >= earlier
            && (needed <= self.all_left_before || self.read_left(area, needed))
    }

    /// As [`Self::may_pass_line`], as far as that is known of others than the reader.
    #[inline(always)]
    pub fn knows_line_passed(&self, area: &SharedArea, round: u64, readers: (u32, u64)) -> bool {
        let (earlier, needed) = needed_to_pass(area, round, readers);
        // PAIRS: area.left
        area.left(readers.0).load(Ordering::Acquire).max(1) >= earlier
            && needed <= self.all_left_before
    }

    /// Whether every member has left all rounds before `needed`.
    #[cold]
    fn read_left(&mut self, area: &SharedArea, needed: u64) -> bool {
        let lowest = (0..area.members)
            // PAIRS: area.left. Their reads of the slot happen before we overwrite it.
            .map(|member| area.left(member).load(Ordering::Acquire))
            .min()
            .unwrap_or(GONE);
        // A member that has left no round has written nothing: the first round is 1.
        self.learn(lowest);
        needed <= self.all_left_before
    }

    /// Whether this member has left all rounds before, and none after.
    #[inline(always)]
    pub const fn is_next_to_leave(&self, round: u64) -> bool {
        round == self.left_before && self.left_after == 0
    }

    /// As [`Self::learn`] and [`Self::leave`] of the next round to leave. All members have left the rounds before this one if
    /// `all_left`.
    #[inline(always)]
    pub fn leave_next(&mut self, area: &SharedArea, me: u32, round: u64, all_left: bool) -> bool {
        debug_assert!(self.is_next_to_leave(round));
        if all_left {
            self.all_left_before = round;
        }
        self.left_before = round + 1;
        self.say_left(area, me)
    }

    /// Leaves a round; true when a member may sleep until then. Each round is left once, after it was entered.
    #[inline]
    pub fn leave(&mut self, area: &SharedArea, me: u32, round: u64) -> bool {
        if round == self.left_before && self.left_after == 0 {
            self.left_before += 1;
        } else {
            self.leave_apart(round);
        }
        self.say_left(area, me)
    }

    #[inline(always)]
    fn say_left(&self, area: &SharedArea, me: u32) -> bool {
        // PAIRS: area.left
        area.left(me).store(self.left_before, Ordering::Release);
        area.head().awaited.load(Ordering::Relaxed) != 0
    }

    /// Leaves a round after or before another one that is not left.
    fn leave_apart(&mut self, round: u64) {
        self.left_after |= 1 << (round - self.left_before);
        let done = self.left_after.trailing_ones();
        self.left_before += u64::from(done);
        self.left_after = self.left_after.checked_shr(done).unwrap_or(0);
    }
}

/// The rounds before which the reader, and all members, have to have left all for [`Tracker::may_pass_line`].
#[inline(always)]
fn needed_to_pass(area: &SharedArea, round: u64, (_, others_before): (u32, u64)) -> (u64, u64) {
    let earlier = (round + 1).saturating_sub(area.lines());
    (earlier, earlier.min(others_before + 1))
}

impl Default for Tracker {
    fn default() -> Self {
        Self::new()
    }
}
