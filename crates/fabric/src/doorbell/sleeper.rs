// SPDX-License-Identifier: MIT OR Apache-2.0
//! The doorbell: how a rank sleeps without missing a message, and how a sender wakes it for next to nothing.
//!
//! A sender publishes a cell and then reads the receiver's `asleep` word; a sleeper sets `asleep` and then looks into its
//! rings once more. Without an order between each side's store and load both could miss the other. The order costs the
//! sender nothing: the sleeper passes a memory barrier in *every* running thread of all ranks (membarrier), after which
//! either the sender's load sees `asleep`, or the sleeper's second look sees the cell. Where the kernel has no such
//! barrier, senders fence instead (`sender_fences` in the job header, set by the first rank that finds out).
//!
//! Writers: the sleeper stores 1 before sleeping and 0 after; a waker swaps 0 in, and only the one that took the 1
//! out makes the system call. A sleep always has a time limit, so a lost wake-up would cost time, never a hang; a rank
//! that dies asleep leaves a word that costs its peers one futile call. Sleepers are counted besides (`sleepers`), before the same
//! barrier: a rank with many ranks to wake polls that one word first. A rank that dies asleep is counted for ever, which costs
//! those polls.
//!
//! A rank has a doorbell for each of its VCIs. A thread sleeps on one of them; on the doorbells of VCIs that no other thread
//! polls it leaves the index of its own ([`Sleeper::cover`]), and a sender that rings one of those rings its own, too.

use std::time::Duration;

use sys::sync::{AtomicU32, Ordering, fence};
use sys::{barrier, futex};

/// In a doorbell: a thread sleeps on it.
pub const SLEEPS: u32 = 1;
/// In a doorbell: a thread that sleeps on another doorbell of the same rank, whose index is added, covers its VCI.
const COVERED: u32 = 0x100;

/// The VCI on whose doorbell a thread sleeps that covers the one where `found` was.
pub(crate) const fn covering(found: u32) -> Option<u8> {
    if found & COVERED != 0 {
        Some(found as u8)
    } else {
        None
    }
}

/// Prepares this process for sleeping and waking: true when senders need no fence on its account.
pub fn prepare() -> bool {
    barrier::register()
}

/// The receiving side of a doorbell.
#[derive(Clone, Copy)]
pub struct Sleeper<'a> {
    /// This rank's `asleep` word.
    pub asleep: &'a AtomicU32,
    /// Whether all senders fence.
    pub sender_fences: &'a AtomicU32,
    /// How many sleep, of all ranks.
    pub sleepers: &'a AtomicU32,
}

impl Sleeper<'_> {
    /// Says on the doorbell `other` of the same rank that this thread covers it, who sleeps on doorbell `own`; false when somebody sleeps
    /// on that one or covers it. Called before [`Self::announce`], and undone by [`Self::uncover`].
    pub fn cover(other: &AtomicU32, own: u8) -> bool {
        let word = COVERED | u32::from(own);
        other
            .compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Undoes [`Self::cover`].
    pub fn uncover(other: &AtomicU32, own: u8) {
        let word = COVERED | u32::from(own);
        // Another value was stored by a sender that rang, or by a thread that sleeps there.
        let _ = other.compare_exchange(word, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Announces sleep. After it the caller looks for work once more, then calls [`Self::sleep`] or [`Self::cancel`]; where other
    /// threads may sleep on the same word, it ends with [`Self::leave`].
    pub fn announce(&self) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        self.asleep.store(SLEEPS, Ordering::Relaxed);
        if self.sender_fences.load(Ordering::Relaxed) == 0 && barrier::everywhere() {
            return;
        }
        // SeqCst: pairs with the sender's fence in `ring`; without it our later look into the rings could be satisfied
        // before `asleep` is visible, and both sides would miss each other.
        // PAIRS: doorbell.asleep
        fence(Ordering::SeqCst);
    }

    /// Sleeps until rung, at most `limit`.
    pub fn sleep(&self, limit: Duration) {
        futex::wait(self.asleep, SLEEPS, limit);
        self.cancel();
    }

    /// Takes the announcement back.
    pub fn cancel(&self) {
        self.asleep.store(0, Ordering::Relaxed);
        self.leave();
    }

    /// Takes back what this thread announced, and leaves the word to the others.
    pub fn leave(&self) {
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether any rank may sleep, so that it is worth while to look at the doorbells of many; called after publishing.
#[inline(always)]
pub fn any_asleep(sleepers: &AtomicU32, sender_fences: bool) -> bool {
    if sender_fences {
        // SeqCst: see `announce`.
        // PAIRS: doorbell.asleep
        fence(Ordering::SeqCst);
    }
    sleepers.load(Ordering::Relaxed) != 0
}

/// Wakes the thread that sleeps on the doorbell `asleep`; called after publishing. Returns what was there: 0 when nobody sleeps.
// TIER: short
#[inline(always)]
pub(crate) fn ring(asleep: &AtomicU32, sender_fences: bool) -> u32 {
    if sender_fences {
        // SeqCst: see `announce`.
        // PAIRS: doorbell.asleep
        fence(Ordering::SeqCst);
    }
    if asleep.load(Ordering::Relaxed) == 0 {
        0
    } else {
        wake(asleep)
    }
}

#[cold]
#[inline(never)]
fn wake(asleep: &AtomicU32) -> u32 {
    let found = asleep.swap(0, Ordering::Relaxed);
    if found == SLEEPS {
        futex::wake_all(asleep);
    }
    found
}
