// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives through memory that the members of a communicator share.
//!
//! From the second collective on, the members of a communicator whose processes run on one node have [`fabric::commons`] of
//! their own: its first rank takes memory of the node segment and tells the others where. An operation takes one turn of
//! the commons, or several if its data exceed an area ([`super::shared`] has the operations). Everybody counts turns in the
//! order in which collectives are called, so nothing needs to be said about that.
//!
//! What a member does in a turn is part of its stamp: who reads it sees when another member called something else.
#![expect(
    unsafe_code,
    reason = "data in the commons are reached through addresses"
)]

mod encounter;
mod entering;

use std::cell::UnsafeCell;
use std::future::poll_fn;
use std::slice;
use std::sync::OnceLock;
use std::task::Poll;

use algorithms::shared::area_bytes;
use fabric::board::{JobHeader, RankBoard};
use fabric::commons::{Commons, LINE_BYTES, Lane, PARTS, Place, Turns, WIDE_BYTES};
use fabric::counters::Counter;
use fabric::doorbell;
use sys::sync::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering};

use super::choose::is_eligible;
use super::primitives::{Block, Round};
pub(super) use super::purpose::Purpose;
use super::purpose::{short_limits, stamped};
use super::reuse::make;
use crate::comm::Process;
use crate::comm::{COLLECTIVE, Comm};
use crate::errors::{Error, ErrorClass, Result};
use crate::task;
use crate::vci::Watch;
pub(super) use encounter::{Encounter, Next, open};

/// The first collective of a communicator, counted from 0, that may use commons, which the first one that could makes:
/// communicators that are used once do without.
const FIRST: u32 = 1;
/// The commons of a communicator.
#[derive(Default)]
pub(crate) struct Membership {
    /// `shared` where it may be used without a guard, else null.
    open: AtomicPtr<Shared>,
    /// Whether there is one member, who needs nobody.
    alone: bool,
    /// `None` inside: the members have none and will have none.
    shared: OnceLock<Option<Shared>>,
    /// Turns that were given to operations so far.
    drawn: AtomicU64,
    /// The last of them that uses whole areas.
    last_whole: AtomicU64,
    /// The last of them in which each member shows its data to the one above alone, and the last one before it that is another's.
    last_passed: AtomicU64,
    others_before: AtomicU64,
}

pub(super) struct Shared {
    commons: Commons,
    /// Touched under the guard of the communicator's VCI only.
    turns: UnsafeCell<Turns>,
    /// What went wrong in operations that are under way, by their first turns; and how many these are.
    failures: Mutex<Vec<(u64, Error)>>,
    failed: AtomicUsize,
    /// For each purpose, fewer bytes than this go along the straight line.
    short: [usize; Purpose::ALL.len() + 1],
    /// This member.
    me: u32,
    /// What tells of each member whether it sleeps, and where it runs.
    boards: Box<[&'static RankBoard]>,
    job: &'static JobHeader,
}

// SAFETY: `turns` is touched under the guard only; `Commons` is Sync.
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
    pub(super) const fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether it is known how the members do collectives of little data: by one's own copies, or in commons that may be used without a guard.
    pub(super) fn is_settled(&self) -> bool {
        self.alone || !self.open.load(Ordering::Relaxed).is_null()
    }

    /// The turn that the next operation gets, below MPI_THREAD_MULTIPLE.
    #[inline(always)]
    pub(super) fn next_turn(&self) -> u64 {
        self.drawn.load(Ordering::Relaxed) + 1
    }

    /// Gives it that turn, which uses no whole areas.
    #[inline(always)]
    pub(super) fn set_drawn(&self, turn: u64) {
        self.drawn.store(turn, Ordering::Relaxed);
    }

    /// Gives turns to an operation: the first of them, and the last turn before it that uses whole areas. Collectives of a
    /// communicator are called one after the other.
    fn draw(&self, turns: u64, whole: bool) -> (u64, u64) {
        let drawn = self.drawn.load(Ordering::Relaxed);
        self.drawn.store(drawn + turns, Ordering::Relaxed);
        let whole_before = self.last_whole.load(Ordering::Relaxed);
        if whole {
            self.last_whole.store(drawn + turns, Ordering::Relaxed);
        }
        (drawn + 1, whole_before)
    }

    /// The last turn before `turn` in which others than the member above may look at what a member shows, if that is not so in `turn`.
    fn others_before(&self, turn: u64) -> u64 {
        if self.last_passed.load(Ordering::Relaxed) + 1 == turn {
            self.others_before.load(Ordering::Relaxed)
        } else {
            turn - 1
        }
    }

    /// Notes that in these turns that is not so.
    fn pass(&self, first: u64, last: u64) {
        let others_before = self.others_before(first);
        self.others_before.store(others_before, Ordering::Relaxed);
        self.last_passed.store(last, Ordering::Relaxed);
    }

    /// This member will not use the commons again. The first rank keeps them for another communicator.
    pub(crate) fn retire(&self, comm: &Comm) {
        if let Some(Some(shared)) = self.shared.get() {
            shared.commons.retire(comm.rank() as u32);
            if comm.rank() == 0 {
                comm.process.commons.keep(shared.commons);
            }
        }
    }
}

impl Shared {
    fn attach(comm: &Comm, offset: u64, members: u32) -> Option<Self> {
        let (process, area_bytes) = (comm.process, area_bytes(members));
        let segment = process.segment();
        let base = segment
            .address(offset, Commons::bytes(members, area_bytes))
            .filter(|_| offset != 0)?;
        // SAFETY: the first member took the range for these commons, fresh or reset (`make`); the segment stays mapped.
        let commons = unsafe { Commons::at(base, members, area_bytes) };
        Some(Self {
            commons,
            turns: UnsafeCell::new(Turns::new()),
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

/// Bytes of a part of an area of this size.
const fn part_of(area_bytes: usize) -> usize {
    area_bytes / PARTS as usize / 64 * 64
}

/// The turns of one operation.
#[derive(Clone, Copy)]
pub(super) struct Meeting<'a> {
    comm: &'a Comm,
    shared: &'a Shared,
    first: u64,
    /// Where data go that are too long for a line.
    long: Place,
    word: u64,
    pub(super) me: u32,
    pub(super) size: u32,
}

/// Turns that were given to an operation.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    first: u64,
    count: usize,
    whole: bool,
    whole_before: u64,
}

/// The turns of an operation in which every member has `bytes` bytes and shows at most `shown` a turn, if the members have
/// commons.
pub(super) async fn meet(
    round: &mut Round,
    purpose: Purpose,
    bytes: usize,
    turns: (usize, usize),
) -> Option<Meeting<'_>> {
    let turn = draw(round, turns)?;
    if purpose == Purpose::ScanChain {
        let last = turn.first + turn.count as u64 - 1;
        round.comm.membership.pass(turn.first, last);
    }
    take(round, turn, purpose, bytes).await
}

/// Gives turns to an operation whose members may have commons. All members draw before they first wait, so in the same order.
pub(super) fn draw(round: &Round, (turns, shown): (usize, usize)) -> Option<Turn> {
    if !is_eligible(round) {
        return None;
    }
    let membership = &round.comm.membership;
    if membership.shared.get().is_none() && round.number() < FIRST {
        return None;
    }
    let whole = shown > part_of(area_bytes(round.size));
    let (first, whole_before) = membership.draw(turns as u64, whole);
    Some(Turn {
        first,
        count: turns,
        whole,
        whole_before,
    })
}

/// Begins the turns that were drawn, if the members have commons.
pub(super) async fn take(
    round: &mut Round,
    turn: Turn,
    purpose: Purpose,
    bytes: usize,
) -> Option<Meeting<'_>> {
    let first = turn.first;
    let membership = &round.comm.membership;
    if membership.shared.get().is_none() {
        if first == 1 {
            Box::pin(found(round)).await;
        } else {
            // Another operation is about to agree on them.
            let comm = round.comm.clone();
            poll_fn(|_| match comm.membership.shared.get() {
                Some(_) => Poll::Ready(()),
                None => Poll::Pending,
            })
            .await;
        }
    }
    let round = &*round;
    let shared = round.comm.membership.shared.get()?.as_ref()?;
    let mut guard = round.comm.vci.enter();
    guard.count_many(Counter::SharedTurns, turn.count as u64);
    drop(guard);
    Some(Meeting {
        comm: &round.comm,
        shared,
        first,
        long: if turn.whole {
            Place::Area
        } else {
            Place::Part {
                whole_before: turn.whole_before,
            }
        },
        word: stamped(purpose, bytes),
        me: round.rank,
        size: round.size,
    })
}

/// Agrees on the commons of a communicator.
async fn found(round: &mut Round) {
    let process = round.comm.process;
    let mut words = [0];
    if round.rank == 0 {
        words[0] = make(process, round.size);
    }
    round.bcast_words(&mut words, 0).await;
    let shared = Shared::attach(&round.comm, words[0], round.size);
    let membership = &round.comm.membership;
    // Only this operation sets it.
    let _ = membership.shared.set(shared);
    if let Some(Some(shared)) = membership.shared.get()
        && !round.comm.vci.is_threaded()
    {
        let address = std::ptr::from_ref(shared).cast_mut();
        membership.open.store(address, Ordering::Relaxed);
    }
    // Who waits for it looks again.
    round.comm.vci.enter().events += 1;
}

impl Meeting<'_> {
    const fn turn(&self, index: usize) -> u64 {
        self.first + index as u64
    }

    fn with_turns<R>(&self, action: impl FnOnce(&mut Turns) -> R) -> R {
        let _guard = self.comm.vci.enter();
        // SAFETY: under the guard.
        action(unsafe { &mut *self.shared.turns.get() })
    }

    /// Waits until `ready` gives something. `look`, which is called before it, says whose word has to change for that, and
    /// what it holds.
    async fn until<'c, T>(
        &'c self,
        look: impl Fn() -> (u32, &'c AtomicU64, u64),
        mut ready: impl FnMut() -> Option<T>,
    ) -> T {
        let match_word = self.comm.match_base() + COLLECTIVE;
        poll_fn(|_| {
            let (member, word, seen) = look();
            // SAFETY: a word of the commons, which stay mapped.
            let watch = unsafe { Watch::new(word, seen, self.comm.peer(member), match_word) };
            if let Some(found) = ready() {
                return Poll::Ready(found);
            }
            task::watch(watch);
            Poll::Pending
        })
        .await
    }

    /// The address of a member's data of `bytes` bytes in a turn.
    pub(super) fn place(&self, index: usize, member: u32, bytes: usize) -> *mut u8 {
        let (commons, turn) = (&self.shared.commons, self.turn(index));
        let place = match self.long {
            _ if bytes <= LINE_BYTES => commons.short(turn, member),
            _ if bytes <= WIDE_BYTES => commons.wide(turn, member),
            Place::Area => {
                assert!(bytes <= commons.area_bytes());
                commons.area(turn, member)
            }
            _ => {
                assert!(bytes <= commons.part_bytes());
                commons.part(turn, member)
            }
        };
        place.as_ptr()
    }

    /// The own data of a turn that was entered and not posted.
    #[expect(clippy::mut_from_ref, reason = "memory that no other reference names")]
    pub(super) fn own(&self, index: usize, bytes: usize) -> &mut [u8] {
        // SAFETY: `bytes` bytes of the own place, which nobody reads before they are posted.
        unsafe { slice::from_raw_parts_mut(self.place(index, self.me, bytes), bytes) }
    }

    /// The data that a member has posted in a turn which this one has not left.
    pub(super) fn shown(&self, index: usize, member: u32, bytes: usize) -> &[u8] {
        // SAFETY: nobody writes them before this member has left the turn.
        unsafe { slice::from_raw_parts(self.place(index, member, bytes), bytes) }
    }

    /// The same as elements like those of `like`; for `member == size`, the data that are nobody's in particular.
    pub(super) fn elements(&self, index: usize, member: u32, like: &Block, count: usize) -> Block {
        let bytes = like.layout.size() * count;
        // SAFETY: the place holds the elements until this member leaves the turn; they are contiguous (caller).
        unsafe { Block::new(self.place(index, member, bytes), count, like.layout.clone()) }
    }

    /// Shows the own data of a turn.
    pub(super) fn post(&self, index: usize) {
        self.post_for(index, self.me);
    }

    fn post_for(&self, index: usize, member: u32) {
        let (commons, turn) = (&self.shared.commons, self.turn(index));
        self.with_turns(|turns| commons.post(turns, turn, member, self.word));
    }

    /// Shows the data that are nobody's in particular.
    pub(super) fn post_common(&self, index: usize) {
        self.post_for(index, self.size);
    }

    /// Counts this member in; true for the last one, who may write the data that are nobody's in particular.
    pub(super) fn is_last(&self, index: usize) -> bool {
        self.shared.commons.count_in(self.turn(index))
    }

    /// Whether all others have been counted in, so that this one will be the last.
    pub(super) fn comes_last(&self, index: usize) -> bool {
        self.shared.commons.comes_last(self.turn(index))
    }

    /// Wakes a member that may sleep until this one has posted.
    pub(super) fn wake(&self, member: u32) {
        let asleep = &self.shared.boards[member as usize].asleep;
        if doorbell::ring(asleep, self.shared.senders_fence()) {
            self.comm.vci.enter().count(Counter::Wakes);
        }
    }

    /// Wakes who needs what this member has posted: the root, or everybody if there is none.
    pub(super) fn wake_for(&self, root: Option<u32>) {
        match root {
            None => self.wake_all(),
            Some(root) if root != self.me => self.wake(root),
            Some(_) => {}
        }
    }

    /// Wakes all others.
    pub(super) fn wake_all(&self) {
        if self.shared.any_asleep() {
            for member in self.others() {
                self.wake(member);
            }
        }
    }

    /// Waits until a member (for `size`: nobody in particular) has posted; returns the turn before which it has left all.
    pub(super) async fn posted(&self, index: usize, member: u32) -> u64 {
        let (commons, turn) = (&self.shared.commons, self.turn(index));
        let posted = match commons.posted(turn, member) {
            Some(posted) => posted,
            None => {
                // What is nobody's in particular is the work of whoever comes last: one of those that have not come yet.
                let absent = || (0..self.size).find(|&other| commons.posted(turn, other).is_none());
                let look = || {
                    let word = commons.stamp(turn, member);
                    let seen = word.load(Ordering::Relaxed);
                    let whom = if member < self.size {
                        member
                    } else {
                        absent().unwrap_or(self.me)
                    };
                    (whom, word, seen)
                };
                self.until(look, || commons.posted(turn, member)).await
            }
        };
        if posted.purpose != self.word {
            self.note_mismatch(member, posted.purpose);
        }
        posted.left_before
    }

    /// All members but this one.
    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
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

    /// Waits until all members have posted.
    pub(super) async fn all_posted(&self, index: usize) {
        let mut left = u64::MAX;
        for member in self.in_waiting_order() {
            left = left.min(self.posted(index, member).await);
        }
        self.with_turns(|turns| turns.learn(left));
    }

    /// Waits until all members but this one have posted.
    pub(super) async fn others_posted(&self, index: usize) {
        let mut left = self.with_turns(|turns| turns.left_before());
        for member in self.in_waiting_order().filter(|&member| member != self.me) {
            left = left.min(self.posted(index, member).await);
        }
        self.with_turns(|turns| turns.learn(left));
    }

    /// This member needs nobody's data of a turn any more.
    pub(super) fn leave(&self, index: usize) {
        let (commons, turn) = (&self.shared.commons, self.turn(index));
        if self.with_turns(|turns| turns.leave(commons, self.me, turn)) {
            self.wake_all();
        }
    }

    fn note_mismatch(&self, member: u32, word: u64) {
        self.shared
            .note_mismatch(self.first, self.word, member, word);
    }

    /// How it went.
    pub(super) fn outcome(&self) -> Result<()> {
        self.shared.outcome(self.first)
    }
}

impl Shared {
    /// Where this member finds the lines of two.
    pub(super) fn lane(&self) -> Option<Lane> {
        Lane::new(&self.commons, self.me)
    }

    /// This member.
    pub(super) const fn rank(&self) -> u32 {
        self.me
    }

    /// The word that says whether a member sleeps.
    pub(super) fn asleep(&self, member: u32) -> &'static AtomicU32 {
        &self.boards[member as usize].asleep
    }

    #[inline(always)]
    pub(super) fn senders_fence(&self) -> bool {
        self.job.sender_fences.load(Ordering::Relaxed) != 0
    }

    /// Whether anybody may have to be woken.
    #[inline(always)]
    fn any_asleep(&self) -> bool {
        doorbell::any_asleep(&self.job.sleepers, self.senders_fence())
    }

    /// Notes that a member does something else in an operation than this one, by what both say.
    #[cold]
    #[inline(never)]
    fn note_mismatch(&self, first: u64, own: u64, member: u32, word: u64) {
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

    /// How the operation went whose first turn this was.
    #[inline(always)]
    fn outcome(&self, first: u64) -> Result<()> {
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
