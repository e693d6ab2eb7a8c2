// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rounds that one operation takes, for futures.
#![expect(unsafe_code, reason = "data in the area are reached through addresses")]

use std::future::poll_fn;
use std::slice;
use std::task::Poll;

use algorithms::shared::buffer_bytes;
use fabric::area::{LINE_BYTES, PARTS, Slot, Tracker, WIDE_BYTES};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::sync::{AtomicU64, Ordering};

use super::purpose::{Purpose, stamped};
use super::round::Round;
use super::shared::{FIRST, Shared, found, shared_of, wake_member};
use crate::coll::primitives::Collective;
use crate::coll::select::is_eligible;
use crate::comm::{COLLECTIVE, Comm, Drawn};
use crate::errors::Result;
use crate::identity::Rank;
use crate::task;
use crate::vci::Watch;

/// Bytes of a part of a buffer of this size.
const fn part_of(buffer_bytes: usize) -> usize {
    buffer_bytes / PARTS as usize / 64 * 64
}

/// The rounds of one operation.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Sequence<'a> {
    pub(super) comm: &'a Comm,
    pub(super) shared: &'a Shared,
    pub(super) first: u64,
    /// Where data go that are too long for a line.
    pub(super) long: Slot,
    pub(super) word: u64,
    pub(in crate::coll) me: u32,
    pub(in crate::coll) size: u32,
}

/// The rounds of an operation in which every member has `bytes` bytes and publishes at most `published` a round, if the members have
/// area.
pub(in crate::coll) async fn enter_area(
    coll: &mut Collective,
    purpose: Purpose,
    bytes: usize,
    rounds: (usize, usize),
) -> Option<Sequence<'_>> {
    let round = draw(coll, rounds)?;
    if purpose == Purpose::ScanChain {
        let last = round.first + round.count as u64 - 1;
        coll.comm.area.pass(round.first, last);
    }
    take(coll, round, purpose, bytes).await
}

/// Gives rounds to an operation whose members may have area. All members draw before they first wait, so in the same order.
pub(in crate::coll) fn draw(
    coll: &Collective,
    (rounds, published): (usize, usize),
) -> Option<Drawn> {
    if !is_eligible(coll) {
        return None;
    }
    let slot = &coll.comm.area;
    if slot.attached.get().is_none() && coll.number() < FIRST {
        return None;
    }
    let whole = published > part_of(buffer_bytes(coll.size));
    Some(slot.draw(rounds, whole))
}

/// Begins the rounds that were drawn, if the members have area.
pub(in crate::coll) async fn take(
    coll: &mut Collective,
    round: Drawn,
    purpose: Purpose,
    bytes: usize,
) -> Option<Sequence<'_>> {
    let first = round.first;
    let slot = &coll.comm.area;
    if slot.attached.get().is_none() {
        if first == 1 {
            Box::pin(found(coll)).await;
        } else {
            // Another operation is about to agree on them.
            let comm = coll.comm.clone();
            poll_fn(|_| match comm.area.attached.get() {
                Some(_) => Poll::Ready(()),
                None => Poll::Pending,
            })
            .await;
        }
    }
    let coll = &*coll;
    let shared = shared_of(&coll.comm)?;
    let mut guard = coll.comm.vci().enter();
    guard.count_many(Counter::SharedRounds, round.count as u64);
    drop(guard);
    Some(Sequence {
        comm: &coll.comm,
        shared,
        first,
        long: if round.whole {
            Slot::Buffer
        } else {
            Slot::Part {
                whole_before: round.whole_before,
            }
        },
        word: stamped(purpose, bytes),
        me: coll.rank,
        size: coll.size,
    })
}

impl Sequence<'_> {
    pub(super) const fn round(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    pub(super) fn with_tracker<R>(&self, action: impl FnOnce(&mut Tracker) -> R) -> R {
        let _guard = self.comm.vci().enter();
        // SAFETY: under the guard.
        action(unsafe { &mut *self.shared.tracker.get() })
    }

    /// Waits until `ready` gives a value. `awaited`, which is called before it, gives the member whose word has to change, the word,
    /// and its value.
    pub(super) async fn until<'c, T>(
        &'c self,
        awaited: impl Fn() -> (u32, &'c AtomicU64, u64),
        mut ready: impl FnMut() -> Option<T>,
    ) -> T {
        let match_word = self.comm.match_base() + COLLECTIVE;
        poll_fn(|_| {
            let (member, word, seen) = awaited();
            // SAFETY: a word of the area, which stays mapped.
            let watch =
                unsafe { Watch::new(word, seen, self.comm.peer(Rank::new(member)), match_word) };
            if let Some(found) = ready() {
                return Poll::Ready(found);
            }
            task::watch(watch);
            Poll::Pending
        })
        .await
    }

    /// The address of a member's data of `bytes` bytes in a round.
    pub(in crate::coll) fn address(&self, index: usize, member: u32, bytes: usize) -> *mut u8 {
        let (area, round) = (&self.shared.area, self.round(index));
        let data = match self.long {
            _ if bytes <= LINE_BYTES => area.line_data(round, member),
            _ if bytes <= WIDE_BYTES => area.wide(round, member),
            Slot::Buffer => {
                assert!(bytes <= area.buffer_bytes());
                area.buffer(round, member)
            }
            _ => {
                assert!(bytes <= area.part_bytes());
                area.part(round, member)
            }
        };
        data.as_ptr()
    }

    /// The own data of a round that was entered and not published.
    #[expect(clippy::mut_from_ref, reason = "memory that no other reference names")]
    pub(in crate::coll) fn own(&self, index: usize, bytes: usize) -> &mut [u8] {
        // SAFETY: `bytes` bytes of the own slot, which no member reads before they are published.
        unsafe { slice::from_raw_parts_mut(self.address(index, self.me, bytes), bytes) }
    }

    /// The data that a member has published in a round which this one has not left.
    pub(in crate::coll) fn data_of(&self, index: usize, member: u32, bytes: usize) -> &[u8] {
        // SAFETY: nobody writes them before this member has left the round.
        unsafe { slice::from_raw_parts(self.address(index, member, bytes), bytes) }
    }

    /// Publishes the own data of a round.
    pub(super) fn publish(&self, index: usize) {
        let (area, round) = (&self.shared.area, self.round(index));
        self.with_tracker(|tracker| area.publish(tracker, round, self.me, self.word));
    }

    /// A round in which members publish `bytes` bytes.
    pub(super) fn at(&self, index: usize, bytes: usize) -> Round<'_, true> {
        let number = self.round(index);
        let round = Round::new(self.comm, self.shared, number, self.word, false);
        if bytes <= LINE_BYTES {
            return round;
        }
        let slots = self.shared.long_slots(number, bytes, self.long);
        round.with_slots(slots)
    }

    /// Wakes a member that may sleep until this one has published.
    pub(in crate::coll) fn wake(&self, member: u32) {
        let asleep = &self.shared.boards[member as usize].asleep;
        if doorbell::any_asleep(asleep, self.shared.senders_fence())
            && wake_member(self.comm, member)
        {
            self.comm.vci().enter().count(Counter::Wakes);
        }
    }

    /// Wakes all others.
    pub(in crate::coll) fn wake_all(&self) {
        if self.shared.any_asleep() {
            for member in self.others() {
                self.wake(member);
            }
        }
    }

    /// Waits until a member has published (for `size`: until the common data are published); returns the round before which the
    /// publisher has left all.
    pub(in crate::coll) async fn published(&self, index: usize, member: u32) -> u64 {
        let (area, round) = (&self.shared.area, self.round(index));
        let published = match area.published(round, member) {
            Some(published) => published,
            None => {
                // The last member to arrive publishes the common data: one of those that have not arrived yet.
                let absent =
                    || (0..self.size).find(|&other| area.published(round, other).is_none());
                let awaited = || {
                    let word = area.stamp(round, member);
                    let seen = word.load(Ordering::Relaxed);
                    let whom = if member < self.size {
                        member
                    } else {
                        absent().unwrap_or(self.me)
                    };
                    (whom, word, seen)
                };
                self.until(awaited, || area.published(round, member)).await
            }
        };
        if published.purpose != self.word {
            self.note_mismatch(member, published.purpose);
        }
        published.left_before
    }

    /// All members but this one.
    pub(in crate::coll) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let me = self.me;
        (0..self.size).filter(move |&member| member != me)
    }

    /// The members that this one may give its core to, one bit each, where ranks outnumber cores.
    fn on_this_core(&self) -> u128 {
        let vci = self.comm.vci();
        if !vci.is_oversubscribed() {
            return 0;
        }
        let here = vci.tell_processor();
        let boards = self.shared.boards.iter().enumerate();
        boards
            .filter(|(_, board)| board.may_want_core(here))
            .fold(0, |set, (member, _)| set | 1 << member)
    }

    /// All members, in the order in which they are best waited for: once those have come that need this core, the others, which run
    /// meanwhile, are likely to have come, too.
    fn in_waiting_order(&self) -> impl Iterator<Item = u32> + use<> {
        let (here, size) = (self.on_this_core(), self.size);
        let is_here = move |&member: &u32| here >> member & 1 != 0;
        (0..size)
            .filter(is_here)
            .chain((0..size).filter(move |member| !is_here(member)))
    }

    /// Waits until all members but this one have published.
    pub(in crate::coll) async fn others_published(&self, index: usize) {
        let mut left = self.with_tracker(|rounds| rounds.left_before());
        for member in self.in_waiting_order().filter(|&member| member != self.me) {
            left = left.min(self.published(index, member).await);
        }
        self.with_tracker(|rounds| rounds.learn(left));
    }

    /// This member needs nobody's data of a round any more.
    pub(in crate::coll) fn leave(&self, index: usize) {
        let (area, round) = (&self.shared.area, self.round(index));
        if self.with_tracker(|rounds| rounds.leave(area, self.me, round)) {
            self.wake_all();
        }
    }

    fn note_mismatch(&self, member: u32, word: u64) {
        self.shared
            .note_mismatch(self.first, self.word, member, word);
    }

    /// How it went.
    pub(in crate::coll) fn outcome(&self) -> Result<()> {
        self.shared.outcome(self.first)
    }
}
