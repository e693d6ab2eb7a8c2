// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives through memory that the members of a communicator share.
//!
//! From the second collective on, the members of a communicator whose processes run on one node have [`fabric::area`] of
//! their own: its first rank takes memory of the node segment and tells the others where. An operation takes one round of
//! the area, or several if its data exceed an buffer ([`super::shared`] has the operations). Everybody counts rounds in the
//! order in which collectives are called, so nothing needs to be said about that.
//!
//! What a member does in a round is part of its stamp: who reads it sees when another member called something else.
#![expect(unsafe_code, reason = "data in the area are reached through addresses")]

use std::cell::UnsafeCell;
use std::future::poll_fn;
use std::slice;
use std::sync::OnceLock;
use std::task::Poll;

use algorithms::shared::buffer_bytes;
use fabric::area::{LINE_BYTES, Lane, PARTS, SharedArea, Slot, Tracker, WIDE_BYTES};
use fabric::board::{JobHeader, RankBoard};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::sync::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering};

use crate::coll::area::purpose::Purpose;
use crate::coll::area::purpose::{short_limits, stamped};
use crate::coll::area::reuse::make;
use crate::coll::primitives::{Block, Collective};
use crate::coll::select::is_eligible;
use crate::comm::Process;
use crate::comm::{COLLECTIVE, Comm};
use crate::errors::{Error, ErrorClass, Result};
use crate::task;
use crate::vci::Watch;

/// The first collective of a communicator, counted from 0, that may use area, which the first one that could makes:
/// communicators that are used once do without.
const FIRST: u32 = 1;
/// The area of a communicator.
#[derive(Default)]
pub(crate) struct Membership {
    /// `shared` where it may be used without a guard, else null.
    pub(super) open: AtomicPtr<Shared>,
    /// Whether there is one member, who needs nobody.
    alone: bool,
    /// `None` inside: the members have none and will have none.
    pub(super) shared: OnceLock<Option<Shared>>,
    /// Rounds that were given to operations so far.
    pub(super) drawn: AtomicU64,
    /// The last of them that uses whole buffers.
    pub(super) last_whole: AtomicU64,
    /// The last of them in which each member publishes its data to the one above alone, and the last one before it that is another's.
    last_passed: AtomicU64,
    others_before: AtomicU64,
}

pub(in crate::coll) struct Shared {
    pub(super) area: SharedArea,
    /// Touched under the guard of the communicator's VCI only.
    pub(super) rounds: UnsafeCell<Tracker>,
    /// What went wrong in operations that are under way, by their first rounds; and how many these are.
    pub(super) failures: Mutex<Vec<(u64, Error)>>,
    pub(super) failed: AtomicUsize,
    /// For each purpose, fewer bytes than this go along the straight line.
    pub(super) short: [usize; Purpose::ALL.len() + 1],
    /// This member.
    pub(super) me: u32,
    /// What tells of each member whether it sleeps, and where it runs.
    pub(super) boards: Box<[&'static RankBoard]>,
    pub(super) job: &'static JobHeader,
}

// SAFETY: `rounds` is touched under the guard only; `SharedArea` is Sync.
unsafe impl Sync for Shared {}
// SAFETY: as for Sync.
unsafe impl Send for Shared {}

impl Membership {
    /// Of a communicator with so many members, in one group or two.
    pub(crate) fn new(process: &Process, members: u32, of_one_group: bool) -> Self {
        Self {
            // What is checked is compared on a single rank, too.
            alone: members == 1 && of_one_group && !process.settings().check.collectives,
            ..Self::default()
        }
    }

    /// Whether there is one member, for whom collectives are copies.
    #[inline(always)]
    pub(in crate::coll) const fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether it is known how the members do collectives of little data: by one's own copies, or in area that may be used without a guard.
    pub(in crate::coll) fn is_settled(&self) -> bool {
        self.alone || !self.open.load(Ordering::Relaxed).is_null()
    }

    /// The round that the next operation gets, below MPI_THREAD_MULTIPLE.
    #[inline(always)]
    pub(in crate::coll) fn next_round(&self) -> u64 {
        self.drawn.load(Ordering::Relaxed) + 1
    }

    /// Gives it that round, which uses no whole buffers.
    #[inline(always)]
    pub(in crate::coll) fn set_drawn(&self, round: u64) {
        self.drawn.store(round, Ordering::Relaxed);
    }

    /// Gives rounds to an operation: the first of them, and the last round before it that uses whole buffers. Collectives of a
    /// communicator are called one after the other.
    fn draw(&self, rounds: u64, whole: bool) -> (u64, u64) {
        let drawn = self.drawn.load(Ordering::Relaxed);
        self.drawn.store(drawn + rounds, Ordering::Relaxed);
        let whole_before = self.last_whole.load(Ordering::Relaxed);
        if whole {
            self.last_whole.store(drawn + rounds, Ordering::Relaxed);
        }
        (drawn + 1, whole_before)
    }

    /// The last round before `round` in which others than the member above may look at what a member publishes, if that is not so in `round`.
    pub(super) fn others_before(&self, round: u64) -> u64 {
        if self.last_passed.load(Ordering::Relaxed) + 1 == round {
            self.others_before.load(Ordering::Relaxed)
        } else {
            round - 1
        }
    }

    /// Notes that in these rounds that is not so.
    pub(super) fn pass(&self, first: u64, last: u64) {
        let others_before = self.others_before(first);
        self.others_before.store(others_before, Ordering::Relaxed);
        self.last_passed.store(last, Ordering::Relaxed);
    }

    /// This member will not use the area again. The first rank keeps them for another communicator.
    pub(crate) fn retire(&self, comm: &Comm) {
        if let Some(Some(shared)) = self.shared.get() {
            shared.area.retire(comm.rank() as u32);
            if comm.rank() == 0 {
                comm.process.spare_areas.keep(shared.area);
            }
        }
    }
}

impl Shared {
    fn attach(comm: &Comm, offset: u64, members: u32) -> Option<Self> {
        let (process, buffer_bytes) = (comm.process, buffer_bytes(members));
        let segment = process.segment();
        let base = segment
            .address(offset, SharedArea::bytes(members, buffer_bytes))
            .filter(|_| offset != 0)?;
        // SAFETY: the first member took the range for these area, fresh or reset (`make`); the segment stays mapped.
        let area = unsafe { SharedArea::at(base, members, buffer_bytes) };
        Some(Self {
            area,
            rounds: UnsafeCell::new(Tracker::new()),
            failures: Mutex::default(),
            failed: AtomicUsize::new(0),
            short: short_limits(process, members),
            me: comm.rank() as u32,
            boards: (0..members)
                .map(|member| segment.board(comm.peer(member)))
                .collect(),
            job: segment.header(),
        })
    }
}

/// Bytes of a part of an buffer of this size.
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

/// Rounds that were given to an operation.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Drawn {
    pub(super) first: u64,
    count: usize,
    whole: bool,
    whole_before: u64,
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
        coll.comm.membership.pass(round.first, last);
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
    let membership = &coll.comm.membership;
    if membership.shared.get().is_none() && coll.number() < FIRST {
        return None;
    }
    let whole = published > part_of(buffer_bytes(coll.size));
    let (first, whole_before) = membership.draw(rounds as u64, whole);
    Some(Drawn {
        first,
        count: rounds,
        whole,
        whole_before,
    })
}

/// Begins the rounds that were drawn, if the members have area.
pub(in crate::coll) async fn take(
    coll: &mut Collective,
    round: Drawn,
    purpose: Purpose,
    bytes: usize,
) -> Option<Sequence<'_>> {
    let first = round.first;
    let membership = &coll.comm.membership;
    if membership.shared.get().is_none() {
        if first == 1 {
            Box::pin(found(coll)).await;
        } else {
            // Another operation is about to agree on them.
            let comm = coll.comm.clone();
            poll_fn(|_| match comm.membership.shared.get() {
                Some(_) => Poll::Ready(()),
                None => Poll::Pending,
            })
            .await;
        }
    }
    let coll = &*coll;
    let shared = coll.comm.membership.shared.get()?.as_ref()?;
    let mut guard = coll.comm.vci.enter();
    guard.count_many(Counter::SharedTurns, round.count as u64);
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

/// Agrees on the area of a communicator.
async fn found(coll: &mut Collective) {
    let process = coll.comm.process;
    let mut words = [0];
    if coll.rank == 0 {
        words[0] = make(process, coll.size);
    }
    coll.bcast_words(&mut words, 0).await;
    let shared = Shared::attach(&coll.comm, words[0], coll.size);
    let membership = &coll.comm.membership;
    // Only this operation sets it.
    let _ = membership.shared.set(shared);
    if let Some(Some(shared)) = membership.shared.get()
        && !coll.comm.vci.is_threaded()
    {
        let address = std::ptr::from_ref(shared).cast_mut();
        membership.open.store(address, Ordering::Relaxed);
    }
    // Who waits for it looks again.
    coll.comm.vci.enter().events += 1;
}

impl Sequence<'_> {
    pub(super) const fn round(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    pub(super) fn with_tracker<R>(&self, action: impl FnOnce(&mut Tracker) -> R) -> R {
        let _guard = self.comm.vci.enter();
        // SAFETY: under the guard.
        action(unsafe { &mut *self.shared.rounds.get() })
    }

    /// Waits until `ready` gives something. `look`, which is called before it, says whose word has to change for that, and
    /// what it holds.
    pub(super) async fn until<'c, T>(
        &'c self,
        look: impl Fn() -> (u32, &'c AtomicU64, u64),
        mut ready: impl FnMut() -> Option<T>,
    ) -> T {
        let match_word = self.comm.match_base() + COLLECTIVE;
        poll_fn(|_| {
            let (member, word, seen) = look();
            // SAFETY: a word of the area, which stay mapped.
            let watch = unsafe { Watch::new(word, seen, self.comm.peer(member), match_word) };
            if let Some(found) = ready() {
                return Poll::Ready(found);
            }
            task::watch(watch);
            Poll::Pending
        })
        .await
    }

    /// The address of a member's data of `bytes` bytes in a round.
    pub(in crate::coll) fn place(&self, index: usize, member: u32, bytes: usize) -> *mut u8 {
        let (area, round) = (&self.shared.area, self.round(index));
        let place = match self.long {
            _ if bytes <= LINE_BYTES => area.short(round, member),
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
        place.as_ptr()
    }

    /// The own data of a round that was entered and not published.
    #[expect(clippy::mut_from_ref, reason = "memory that no other reference names")]
    pub(in crate::coll) fn own(&self, index: usize, bytes: usize) -> &mut [u8] {
        // SAFETY: `bytes` bytes of the own place, which nobody reads before they are published.
        unsafe { slice::from_raw_parts_mut(self.place(index, self.me, bytes), bytes) }
    }

    /// The data that a member has published in a round which this one has not left.
    pub(in crate::coll) fn data_of(&self, index: usize, member: u32, bytes: usize) -> &[u8] {
        // SAFETY: nobody writes them before this member has left the round.
        unsafe { slice::from_raw_parts(self.place(index, member, bytes), bytes) }
    }

    /// The same as elements like those of `like`; for `member == size`, the data that are nobody's in particular.
    pub(in crate::coll) fn elements(
        &self,
        index: usize,
        member: u32,
        like: &Block,
        count: usize,
    ) -> Block {
        let bytes = like.layout.size() * count;
        // SAFETY: the place holds the elements until this member leaves the round; they are contiguous (caller).
        unsafe { Block::new(self.place(index, member, bytes), count, like.layout.clone()) }
    }

    /// Shows the own data of a round.
    pub(in crate::coll) fn publish(&self, index: usize) {
        self.publish_for(index, self.me);
    }

    fn publish_for(&self, index: usize, member: u32) {
        let (area, round) = (&self.shared.area, self.round(index));
        self.with_tracker(|rounds| area.publish(rounds, round, member, self.word));
    }

    /// Shows the data that are nobody's in particular.
    pub(in crate::coll) fn publish_common(&self, index: usize) {
        self.publish_for(index, self.size);
    }

    /// Counts this member in; true for the last one, who may write the data that are nobody's in particular.
    pub(in crate::coll) fn is_last(&self, index: usize) -> bool {
        self.shared.area.count_in(self.round(index))
    }

    /// Whether all others have been counted in, so that this one will be the last.
    pub(in crate::coll) fn comes_last(&self, index: usize) -> bool {
        self.shared.area.comes_last(self.round(index))
    }

    /// Wakes a member that may sleep until this one has published.
    pub(in crate::coll) fn wake(&self, member: u32) {
        let asleep = &self.shared.boards[member as usize].asleep;
        if doorbell::ring(asleep, self.shared.senders_fence()) {
            self.comm.vci.enter().count(Counter::Wakes);
        }
    }

    /// Wakes who needs what this member has published: the root, or everybody if there is none.
    pub(in crate::coll) fn wake_for(&self, root: Option<u32>) {
        match root {
            None => self.wake_all(),
            Some(root) if root != self.me => self.wake(root),
            Some(_) => {}
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

    /// Waits until a member (for `size`: nobody in particular) has published; returns the round before which it has left all.
    pub(in crate::coll) async fn published(&self, index: usize, member: u32) -> u64 {
        let (area, round) = (&self.shared.area, self.round(index));
        let published = match area.published(round, member) {
            Some(published) => published,
            None => {
                // What is nobody's in particular is the work of whoever comes last: one of those that have not come yet.
                let absent =
                    || (0..self.size).find(|&other| area.published(round, other).is_none());
                let look = || {
                    let word = area.stamp(round, member);
                    let seen = word.load(Ordering::Relaxed);
                    let whom = if member < self.size {
                        member
                    } else {
                        absent().unwrap_or(self.me)
                    };
                    (whom, word, seen)
                };
                self.until(look, || area.published(round, member)).await
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
        let vci = self.comm.vci;
        if !vci.is_crowded() {
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

    /// Waits until all members have published.
    pub(in crate::coll) async fn all_published(&self, index: usize) {
        let mut left = u64::MAX;
        for member in self.in_waiting_order() {
            left = left.min(self.published(index, member).await);
        }
        self.with_tracker(|rounds| rounds.learn(left));
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

impl Shared {
    /// Where this member finds the lines of two.
    pub(in crate::coll) fn lane(&self) -> Option<Lane> {
        Lane::new(&self.area, self.me)
    }

    /// This member.
    pub(in crate::coll) const fn rank(&self) -> u32 {
        self.me
    }

    /// The word that says whether a member sleeps.
    pub(in crate::coll) fn asleep(&self, member: u32) -> &'static AtomicU32 {
        &self.boards[member as usize].asleep
    }

    #[inline(always)]
    pub(in crate::coll) fn senders_fence(&self) -> bool {
        self.job.sender_fences.load(Ordering::Relaxed) != 0
    }

    /// Whether anybody may have to be woken.
    #[inline(always)]
    pub(super) fn any_asleep(&self) -> bool {
        doorbell::any_asleep(&self.job.sleepers, self.senders_fence())
    }

    /// Notes that a member does something else in an operation than this one, by what both say.
    #[cold]
    #[inline(never)]
    pub(super) fn note_mismatch(&self, first: u64, own: u64, member: u32, word: u64) {
        let bytes = |word: u64| word & ((1 << 56) - 1);
        let (mine, theirs) = (Purpose::of(own), Purpose::of(word));
        let (class, text) = if mine == theirs {
            let text = format!(
                "rank {member} takes part with {} bytes, this rank with {}",
                bytes(word),
                bytes(own)
            );
            (ErrorClass::ERR_TRUNCATE, text)
        } else {
            let which = theirs.map_or(String::new(), |theirs| format!(" ({theirs:?})"));
            let text = format!("rank {member} is in another collective{which} than this rank");
            (ErrorClass::ERR_OTHER, text)
        };
        if let Ok(mut failures) = self.failures.lock() {
            // The first one is told.
            if failures.iter().all(|(noted, _)| *noted != first) {
                failures.push((first, Error::new(class, text)));
                self.failed.store(failures.len(), Ordering::Relaxed);
            }
        }
    }

    /// How the operation went whose first round this was.
    #[inline(always)]
    pub(super) fn outcome(&self, first: u64) -> Result<()> {
        if self.failed.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        self.failure(first)
    }

    #[cold]
    fn failure(&self, first: u64) -> Result<()> {
        let Ok(mut failures) = self.failures.lock() else {
            return Ok(());
        };
        let mine = failures.iter().position(|(noted, _)| *noted == first);
        let outcome = mine.map_or(Ok(()), |index| Err(failures.swap_remove(index).1));
        self.failed.store(failures.len(), Ordering::Relaxed);
        outcome
    }
}
