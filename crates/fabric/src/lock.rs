// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock of a stream: one word, taken and released without a system call while nobody contends.
//!
//! States: 0 free, 1 held, 2 held and perhaps awaited. Invariant: whoever changes 0 to 1 or 2 owns the lock; the owner that
//! finds 2 when it releases wakes the waiters. A waiter always leaves a 2 before it sleeps, so its wake-up cannot be lost.
//! The lock lives in private memory and is never held across a system call that waits.

#[cfg(all(test, loom))]
mod models;

use std::time::Duration;

use sys::futex;
use sys::sync::{AtomicU32, Ordering, spin_loop};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;
const SPINS: u32 = if cfg!(loom) { 1 } else { 100 };

/// A lock without data; the guard is the engine's.
pub struct VciLock {
    state: AtomicU32,
}

impl VciLock {
    /// A free lock.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
        }
    }

    /// A free lock.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
        }
    }

    /// Takes the lock, waiting as long as it takes.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // PAIRS: lock.release. What the previous owner wrote is visible.
        self.state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Releases the lock; only its owner may.
    #[inline]
    pub fn unlock(&self) {
        // PAIRS: lock.release
        if self.state.swap(FREE, Ordering::Release) == AWAITED {
            futex::wake_all(&self.state);
        }
    }

    #[cold]
    fn lock_contended(&self) {
        for _ in 0..SPINS {
            spin_loop();
            if self.state.load(Ordering::Relaxed) == FREE && self.try_lock() {
                return;
            }
        }
        // PAIRS: lock.release
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            futex::wait(&self.state, AWAITED, Duration::from_secs(1));
        }
    }
}

impl Default for VciLock {
    fn default() -> Self {
        Self::new()
    }
}
