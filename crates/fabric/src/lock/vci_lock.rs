// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock of a VCI: one word, taken by one atomic operation and released by a store, without a system call while nobody contends.
//!
//! Invariant: the thread that changes `state` from free to held owns the lock. A thread that is about to sleep stores 1 to `awaited`, has
//! every running thread pass a memory barrier (membarrier), and looks at the lock once more. So an owner that releases the lock
//! afterwards finds the 1 without a fence of its own, and wakes; one whose look at `awaited` came before the barrier has stored its
//! release before it, too, and the sleeper finds the lock free. The thread that wakes stores 0 first: a sleeper between its look and its sleep
//! does not fall asleep, because it sleeps on `awaited` while that is 1. Where the kernel has no such barrier, sleeps are short.
//! The lock lives in private memory and is never held across a system call that waits.
//!
//! A thread that finds the lock held polls it ever more rarely: each poll takes the cache line from the owner, and each change of
//! the owner takes all lines that the lock guards. An owner whose calls follow each other closely so makes many of them before the
//! next owner does. The thread tries when two polls in a row find the lock free, as between two calls of such an owner it seldom is.
//!
//! An owner that polls for long keeps the lock while nobody else wants it: `contenders` counts the threads that do. The count
//! guards nothing; a stale value delays a contender by one poll.

// account: thread-safety

use std::time::Duration;

use sys::sync::{AtomicU32, Ordering, fence, spin_loop};
use sys::{barrier, futex};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Whether owners pass a fence of their own: in models, which have no membarrier.
const FENCES: bool = cfg!(loom);
/// Longest sleep of a thread that owners see, and of one that they may miss.
const SEEN_LIMIT: Duration = Duration::from_secs(1);
const MISSED_LIMIT: Duration = Duration::from_millis(1);
/// How long an owner waits for contenders, in pauses of the processor.
const SPINS: u32 = if cfg!(loom) { 1 } else { 100 };
/// Pauses of a contender before its first poll, and between its two polls.
const FIRST_WAIT: u32 = if cfg!(loom) { 1 } else { 4 };
/// The most pauses between polls. An owner that waits for contenders does so for longer.
const LONGEST_WAIT: u32 = if cfg!(loom) { 1 } else { 64 };
/// Polls of a contender before it sleeps.
const POLLS: u32 = if cfg!(loom) { 1 } else { 16 };

/// A lock without data; the guard is the engine's.
pub struct VciLock {
    state: AtomicU32,
    /// Whether a thread may sleep for the lock.
    awaited: AtomicU32,
    /// Threads inside [`Self::lock_contended`].
    contenders: AtomicU32,
}

impl VciLock {
    /// A free lock.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
            awaited: AtomicU32::new(0),
            contenders: AtomicU32::new(0),
        }
    }

    /// A free lock.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
            awaited: AtomicU32::new(0),
            contenders: AtomicU32::new(0),
        }
    }

    /// Makes the lock free, in a forked child: a thread that held it does not exist there.
    #[cold]
    pub fn renew(&self) {
        for word in [&self.state, &self.awaited, &self.contenders] {
            // Relaxed: there is no other thread.
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Takes the lock, waiting as long as it takes.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    /// Takes the lock, waiting as long as it takes, after a try that failed.
    #[cold]
    #[inline(never)]
    pub fn lock_contended(&self) {
        self.contenders.fetch_add(1, Ordering::Relaxed);
        if !self.wait_for_idle(|| self.try_lock()) {
            self.lock_asleep();
        }
        self.contenders.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits, after a try that failed, until the owner seems to need the lock no longer, or for some time.
    #[cold]
    #[inline(never)]
    pub fn let_owner_work(&self) {
        self.contenders.fetch_add(1, Ordering::Relaxed);
        self.wait_for_idle(|| true);
        self.contenders.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        // PAIRS: lock.release. What the previous owner wrote is visible.
        self.state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Releases the lock; only its owner may.
    #[inline]
    pub fn unlock(&self) {
        if self.release() {
            self.wake();
        }
    }

    /// Releases the lock; true when the caller must call [`Self::wake`] soon, because a thread may sleep for the lock.
    #[inline(always)]
    #[must_use]
    pub fn release(&self) -> bool {
        self.release_word() != 0
    }

    /// As [`Self::release`]; not 0 when the caller must call [`Self::wake`]. A word, so that a caller can test it together with
    /// others.
    #[inline(always)]
    #[must_use]
    pub fn release_word(&self) -> u32 {
        // PAIRS: lock.release
        self.state.store(FREE, Ordering::Release);
        if FENCES {
            // SeqCst: stands for the barrier that a sleeper has this thread pass; without it this load may come before the store.
            // PAIRS: lock.awaited
            fence(Ordering::SeqCst);
        }
        self.awaited.load(Ordering::Relaxed)
    }

    /// Wakes the threads that sleep for the lock.
    #[cold]
    pub fn wake(&self) {
        self.awaited.store(0, Ordering::Relaxed);
        futex::wake_all(&self.awaited);
    }

    /// Whether another thread wants the lock.
    #[inline(always)]
    pub fn has_contenders(&self) -> bool {
        self.contenders.load(Ordering::Relaxed) != 0
    }

    /// Gives contenders time to take the lock, which the caller has just released.
    #[cold]
    pub fn let_contenders_in(&self) {
        for _ in 0..SPINS {
            if self.state.load(Ordering::Relaxed) != FREE || !self.has_contenders() {
                return;
            }
            spin_loop();
        }
    }

    /// Polls the lock from time to time until it seems idle and `then` is true; false after [`POLLS`].
    fn wait_for_idle(&self, then: impl Fn() -> bool) -> bool {
        let mut pauses = FIRST_WAIT;
        for _ in 0..POLLS {
            pause(pauses);
            if self.is_free() {
                pause(FIRST_WAIT);
                if self.is_free() && then() {
                    return true;
                }
            }
            pauses = (2 * pauses).min(LONGEST_WAIT);
        }
        false
    }

    fn is_free(&self) -> bool {
        self.state.load(Ordering::Relaxed) == FREE
    }

    /// Takes the lock, sleeping while another thread has it.
    fn lock_asleep(&self) {
        loop {
            self.awaited.store(1, Ordering::Relaxed);
            let is_seen = !FENCES && barrier::register() && barrier::everywhere();
            if FENCES {
                // SeqCst: see `release_word`.
                // PAIRS: lock.awaited
                fence(Ordering::SeqCst);
            }
            if self.try_lock() {
                return;
            }
            let longest = if is_seen { SEEN_LIMIT } else { MISSED_LIMIT };
            futex::wait(&self.awaited, 1, longest);
        }
    }
}

/// Pauses the processor.
fn pause(times: u32) {
    for _ in 0..times {
        spin_loop();
    }
}

impl Default for VciLock {
    fn default() -> Self {
        Self::new()
    }
}
