// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a shared area, and the stamps in it.

use std::ptr::NonNull;

use super::Tracker;
use sys::sync::{AtomicU32, AtomicU64, Ordering};

/// Most rounds without buffers that can be in progress at once (two in models, to keep them small). With so many, a member that
/// waits for no data, such as the root of a broadcast, seldom waits for a slot. On an oversubscribed node a context switch costs some
/// fifty times as much as such a round.
pub(super) const MOST_LINES: u64 = if cfg!(loom) { 2 } else { 128 };
/// Fewest rounds without buffers, for any number of members.
const LEAST_LINES: u64 = if cfg!(loom) { 2 } else { 32 };
/// Most bytes of all members' lines, where more than the fewest rounds are possible.
const LINES_BYTES: u64 = 256 << 10;
/// Rounds with whole buffers that can be in progress at once.
pub const BUFFERS: u64 = if cfg!(loom) { 1 } else { 4 };
/// Rounds with parts of buffers that can be in progress at once.
pub const PART_ROUNDS: u64 = LEAST_LINES;
/// Bytes of data beside a stamp, aligned to 16.
pub const LINE_BYTES: usize = 48;
/// Further bytes of data of a line, aligned to a line.
pub const WIDE_BYTES: usize = 128;
/// Rounds whose lines of one member are adjacent, followed by those of the next member. A member that is ahead or behind then touches
/// few pages, and so does a member that reads the lines of all members in one round.
pub(super) const GROUP: u64 = if cfg!(loom) { 1 } else { 8 };
/// Parts of a buffer.
pub const PARTS: u64 = PART_ROUNDS / BUFFERS;
/// The round that a member stores as left when it will never use the area again.
pub(super) const GONE: u64 = u64::MAX;

/// A member's stamp in a slot, and a few bytes of data. One cache line.
#[repr(C, align(64))]
pub(super) struct Line {
    /// The round, and in the low bits how many rounds before it the member has not left.
    pub(super) stamp: AtomicU64,
    /// The purpose of the member's round, for the others to compare.
    pub(super) purpose: AtomicU64,
    pub(super) data: [AtomicU64; LINE_BYTES / 8],
}

impl Line {
    #[inline(always)]
    pub(super) fn publish(&self, round: u64, behind: u64, purpose: u64) {
        self.purpose.store(purpose, Ordering::Relaxed);
        // PAIRS: area.stamp. The data, and that the publisher has left earlier rounds.
        self.stamp
            .store(round << BEHIND_BITS | behind, Ordering::Release);
    }

    /// Whether the stamp is of this purpose, and its member has left all rounds before.
    #[inline(always)]
    pub(super) fn is_published_in_order(&self, round: u64, purpose: u64) -> bool {
        // PAIRS: area.stamp
        self.stamp.load(Ordering::Acquire) == round << BEHIND_BITS
            && self.purpose.load(Ordering::Relaxed) == purpose
    }

    #[inline(always)]
    pub(super) fn published(&self, round: u64) -> Option<Published> {
        // PAIRS: area.stamp
        let stamp = self.stamp.load(Ordering::Acquire);
        if stamp >> BEHIND_BITS != round {
            return None;
        }
        let behind = stamp & ((1 << BEHIND_BITS) - 1);
        Some(Published {
            purpose: self.purpose.load(Ordering::Relaxed),
            left_before: round.saturating_sub(behind),
        })
    }
}

/// Words shared by all members. One line of words that are seldom written, and one that is written when members count.
#[repr(C, align(64))]
pub(super) struct Head {
    /// 1 when a member may sleep until another one leaves a round.
    pub(super) awaited: AtomicU32,
}

/// The rounds that a member has left. One cache line.
#[repr(C, align(64))]
pub(super) struct Left {
    pub(super) before: AtomicU64,
}

/// Number of members that have arrived in a slot. One cache line.
#[repr(C, align(64))]
pub(super) struct Count {
    pub(super) members: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Line>() == 64);
    assert!(size_of::<Head>() == 64);
    assert!(size_of::<Left>() == 64);
    assert!(size_of::<Count>() == 64);
};

/// Bits of a stamp for the number of rounds that the member has not left, which is less than the number of lines.
const BEHIND_BITS: u32 = 8;
const _: () = assert!(MOST_LINES <= 1 << BEHIND_BITS && MOST_LINES <= u128::BITS as u64);

/// Rounds without buffers that can be in progress at once among so many members: a power of two.
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

/// The addresses of an area; each process has its own.
#[derive(Clone, Copy)]
pub struct SharedArea {
    pub(super) head: NonNull<Head>,
    pub(super) left: NonNull<Left>,
    pub(super) counts: NonNull<Count>,
    pub(super) lines: NonNull<Line>,
    pub(super) wides: NonNull<[u8; WIDE_BYTES]>,
    pub(super) buffers: NonNull<u8>,
    pub(super) members: u32,
    /// One less than [`lines`].
    pub(super) line_mask: u32,
    /// Bytes from the lines of all members in [`GROUP`] rounds to those in the next ones.
    pub(super) group_bytes: usize,
    pub(super) buffer_bytes: usize,
}

// SAFETY: the pointers lead into a mapping that outlives the area (SharedArea::at). All shared fields are atomic except the data,
// which members access by the rules of rounds (module head).
unsafe impl Send for SharedArea {}
// SAFETY: as for Send.
unsafe impl Sync for SharedArea {}

impl SharedArea {
    /// Bytes that an area of these sizes needs. `buffer_bytes` is a multiple of a line.
    pub const fn bytes(members: u32, buffer_bytes: usize) -> u64 {
        let slots = members as u64 + 1;
        let buffers = BUFFERS * slots * buffer_bytes as u64;
        let lines = lines(members);
        64 + 64 * members as u64 + 64 * lines + (64 + WIDE_BYTES as u64) * lines * slots + buffers
    }

    /// The area that starts at `base`.
    ///
    /// # Safety
    /// `base` is line-aligned and starts [`SharedArea::bytes`] bytes that stay mapped while the area is used, were zero
    /// when the first member came, and are used by members of one group only.
    pub const unsafe fn at(base: NonNull<u8>, members: u32, buffer_bytes: usize) -> Self {
        let rounds = lines(members) as usize;
        let lines = rounds * (members as usize + 1);
        // SAFETY: inside the range that the caller promises.
        unsafe {
            let left = base.add(64);
            let counts = left.add(64 * members as usize);
            let first_line = counts.add(64 * rounds);
            let wides = first_line.add(64 * lines);
            Self {
                head: base.cast(),
                left: left.cast(),
                counts: counts.cast(),
                lines: first_line.cast(),
                wides: wides.cast(),
                buffers: wides.add(WIDE_BYTES * lines),
                members,
                line_mask: rounds as u32 - 1,
                group_bytes: size_of::<Line>() * GROUP as usize * (members as usize + 1),
                buffer_bytes,
            }
        }
    }

    /// Rounds without buffers that can be in progress at once.
    pub(super) const fn lines(&self) -> u64 {
        self.line_mask as u64 + 1
    }

    /// The number of a round's line.
    pub(super) const fn number(&self, round: u64) -> u64 {
        round & self.line_mask as u64
    }

    /// Rounds with data in such slots that can be in progress at once.
    pub const fn rounds_at_once(&self, slot: Slot) -> u64 {
        match slot {
            Slot::Line => self.lines(),
            Slot::Part { .. } => PART_ROUNDS,
            Slot::Buffer => BUFFERS,
        }
    }

    /// The address at which the area starts.
    pub const fn base(&self) -> *const u8 {
        self.head.as_ptr().cast_const().cast()
    }

    /// Number of members.
    pub const fn members(&self) -> u32 {
        self.members
    }

    /// Bytes of a buffer.
    pub const fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// The index of the slot of a member, or of the common slot for `members`, among those of `number`.
    pub(super) const fn slot_index(&self, number: u64, member: u32) -> usize {
        debug_assert!(member <= self.members);
        number as usize * (self.members as usize + 1) + member as usize
    }

    /// The index of a member's line in a round.
    const fn line_index(&self, round: u64, member: u32) -> usize {
        let number = self.number(round);
        self.slot_index(number / GROUP, member) * GROUP as usize + (number % GROUP) as usize
    }

    pub(super) fn line(&self, round: u64, member: u32) -> &Line {
        // SAFETY: the index is below the number of lines (SharedArea::at).
        unsafe { self.lines.add(self.line_index(round, member)).as_ref() }
    }

    #[inline(always)]
    pub(super) fn left(&self, member: u32) -> &AtomicU64 {
        assert!(member < self.members);
        // SAFETY: there are `members` of them (SharedArea::at).
        unsafe { &self.left.add(member as usize).as_ref().before }
    }

    fn count(&self, round: u64) -> &AtomicU64 {
        // SAFETY: there is one for each number (SharedArea::at).
        unsafe {
            &self
                .counts
                .add(self.number(round) as usize)
                .as_ref()
                .members
        }
    }

    pub(super) fn head(&self) -> &Head {
        // SAFETY: inside the range (SharedArea::at).
        unsafe { self.head.as_ref() }
    }

    /// The data in the line of a member (the common one for `members`) in a round: [`LINE_BYTES`] bytes, aligned to 16.
    pub fn line_data(&self, round: u64, member: u32) -> NonNull<u8> {
        NonNull::from(&self.line(round, member).data).cast()
    }

    /// The further bytes of the line: [`WIDE_BYTES`] bytes, aligned to a line.
    pub const fn wide(&self, round: u64, member: u32) -> NonNull<u8> {
        // SAFETY: there are as many as lines (SharedArea::at).
        unsafe { self.wides.add(self.line_index(round, member)).cast() }
    }

    /// The buffer of a member (the common one for `members`) in a round: [`Self::buffer_bytes`] bytes, aligned to a line.
    pub const fn buffer(&self, round: u64, member: u32) -> NonNull<u8> {
        // SAFETY: the index is below the number of buffers (SharedArea::at).
        unsafe {
            self.buffers
                .add(self.slot_index(round % BUFFERS, member) * self.buffer_bytes)
        }
    }

    /// Bytes of a part of a buffer: whole lines.
    pub const fn part_bytes(&self) -> usize {
        self.buffer_bytes / PARTS as usize / 64 * 64
    }

    /// The part of the buffer of a member (the common one for `members`) that a round with little data uses:
    /// [`Self::part_bytes`] bytes, aligned to a line.
    pub const fn part(&self, round: u64, member: u32) -> NonNull<u8> {
        let part = (round / BUFFERS % PARTS) as usize;
        // SAFETY: inside the buffer.
        unsafe { self.buffer(round, member).add(part * self.part_bytes()) }
    }

    /// Publishes the data of `member`, which is the caller, or `members` for the common data; these are published by the member that
    /// was counted in last.
    #[inline]
    pub fn publish(&self, rounds: &Tracker, round: u64, member: u32, purpose: u64) {
        self.line(round, member)
            .publish(round, rounds.behind(round), purpose);
    }

    /// The stamp of a member in a round, once the member has published it.
    #[inline]
    pub fn published(&self, round: u64, member: u32) -> Option<Published> {
        self.line(round, member).published(round)
    }

    /// A word that changes when a member publishes in a round.
    pub fn stamp(&self, round: u64, member: u32) -> &AtomicU64 {
        &self.line(round, member).stamp
    }

    /// Counts the caller, which has published; true for the last of all members.
    pub fn count_in(&self, round: u64) -> bool {
        let count = self.count(round);
        // PAIRS: area.count. The last one sees what all the others published.
        let last = count.fetch_add(1, Ordering::AcqRel) + 1 == u64::from(self.members);
        if last {
            // No member counts in this slot again before the caller has left the round.
            count.store(0, Ordering::Relaxed);
        }
        last
    }

    /// Whether all members but the caller have been counted: it will be the last one, and sees what the others published.
    pub fn comes_last(&self, round: u64) -> bool {
        // PAIRS: area.count
        self.count(round).load(Ordering::Acquire) + 1 == u64::from(self.members)
    }

    /// Stores that this member will never use the area again.
    pub fn retire(&self, me: u32) {
        // PAIRS: area.left
        self.left(me).store(GONE, Ordering::Release);
    }

    /// Stores whether a member may sleep until another one leaves a round. Members that wait at the same time may reset each other's
    /// word; every sleep has a time limit.
    pub fn set_awaited(&self, awaited: bool) {
        self.head()
            .awaited
            .store(u32::from(awaited), Ordering::Relaxed);
    }

    /// The member that is farthest behind in leaving rounds, and the value of its word: while the word has this value, waiting has
    /// gained nothing.
    pub fn laggard(&self) -> (u32, u64) {
        (0..self.members)
            .map(|member| (member, self.left(member).load(Ordering::Relaxed)))
            .min_by_key(|&(_, left)| left)
            .unwrap_or((0, 0))
    }

    /// The same for a rank that waits until `reader` has left the round that had the slot of `round` ([`Tracker::may_pass`],
    /// [`Tracker::may_pass_line`]).
    pub fn reader_or_laggard(&self, round: u64, reader: u32, slot: Slot) -> (u32, u64) {
        let left = self.left(reader).load(Ordering::Relaxed);
        if left > round.saturating_sub(self.rounds_at_once(slot)) {
            return self.laggard();
        }
        (reader, left)
    }

    /// A word that changes when a member leaves a round.
    pub fn left_word(&self, member: u32) -> &AtomicU64 {
        self.left(member)
    }

    /// Whether all members have retired: the memory can be used for something else.
    pub fn is_deserted(&self) -> bool {
        // PAIRS: area.left
        (0..self.members).all(|member| self.left(member).load(Ordering::Acquire) == GONE)
    }

    /// Resets an area that all members have retired from.
    pub fn reset(&self) {
        for round in 0..self.lines() {
            for member in 0..=self.members {
                self.line(round, member).stamp.store(0, Ordering::Relaxed);
            }
            self.count(round).store(0, Ordering::Relaxed);
        }
        for member in 0..self.members {
            self.left(member).store(0, Ordering::Relaxed);
        }
        self.head().awaited.store(0, Ordering::Relaxed);
    }
}

/// The contents of a member's stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The purpose of the member's round.
    pub purpose: u64,
    /// The member has left all rounds before this one.
    pub left_before: u64,
}

/// Where the data of a round go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Beside the stamp, or into the further bytes of the line.
    Line,
    /// Into a part of the buffer. The last round before this one that used whole buffers; 0 if none did.
    Part {
        /// See above.
        whole_before: u64,
    },
    /// Into the buffer.
    Buffer,
}
