// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock that threads wait for on their cores, as a driver's does.

use sys::sync::{AtomicU32, Ordering, spin_loop};

/// Polls after which a waiting thread gives its core away: there may be more threads than cores.
#[cfg(not(loom))]
const POLLS: u32 = 1000;

/// A lock.
#[derive(Debug)]
pub(super) struct Lock {
    /// 1 while a thread holds it.
    word: AtomicU32,
}

/// The lock is held as long as this lives.
pub(super) struct Held<'l>(&'l Lock);

impl Lock {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
        }
    }

    /// Takes it, if nobody holds it.
    pub(super) fn try_lock(&self) -> Option<Held<'_>> {
        // PAIRS: nic_lock.word
        let taken = self
            .word
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        // Not `then_some`, whose argument would be dropped, and so unlock, where the lock is another thread's.
        taken.is_ok().then(|| Held(self))
    }

    /// Waits for it.
    pub(super) fn lock(&self) -> Held<'_> {
        #[cfg(not(loom))]
        let mut polls = 0;
        loop {
            if let Some(held) = self.try_lock() {
                return held;
            }
            spin_loop();
            #[cfg(not(loom))]
            {
                polls += 1;
                if polls > POLLS {
                    sys::cores::yield_core();
                }
            }
            #[cfg(loom)]
            loom::thread::yield_now();
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // PAIRS: nic_lock.word
        self.0.word.store(0, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use sys::sync::AtomicU64;

    /// Two threads try: one that gets in is alone, and sees what the one before has done.
    #[test]
    fn model_one_thread_at_a_time_is_inside() {
        loom::model(|| {
            let shared = Arc::new((Lock::new(), AtomicU64::new(0)));
            let other = shared.clone();
            let work = |(lock, count): &(Lock, AtomicU64)| {
                let Some(_held) = lock.try_lock() else {
                    return 0;
                };
                let old = count.load(Ordering::Relaxed);
                count.store(old + 1, Ordering::Relaxed);
                1
            };
            let thread = loom::thread::spawn(move || work(&other));
            let inside = work(&shared) + thread.join().unwrap();
            assert!(inside > 0);
            let _held = shared.0.try_lock().expect("nobody is inside any more");
            assert_eq!(shared.1.load(Ordering::Relaxed), inside);
        });
    }
}
