// SPDX-License-Identifier: MIT OR Apache-2.0
//! A barrier of threads that wait for a moment only.

use crate::sync::{AtomicU64, Ordering};

/// Polls after which a waiting thread gives its core to others: there may be more threads than free cores.
const POLLS: u32 = 2000;

/// A barrier of threads that wait for a moment only.
#[derive(Debug)]
pub struct SpinBarrier {
    threads: u64,
    /// Arrivals at all rounds.
    arrived: AtomicU64,
}

impl SpinBarrier {
    /// A barrier of so many threads.
    pub fn new(threads: u64) -> Self {
        Self {
            threads,
            arrived: AtomicU64::new(0),
        }
    }

    /// Waits for all threads.
    pub fn wait(&self) {
        // PAIRS: spin_barrier.arrived
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (before / self.threads + 1) * self.threads;
        let mut polls = 0;
        // PAIRS: spin_barrier.arrived
        while self.arrived.load(Ordering::Acquire) < all {
            std::hint::spin_loop();
            if polls < POLLS {
                polls += 1;
            } else {
                sys::cores::yield_core();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_leaves_before_all_are_there() {
        let (barrier, counted) = (SpinBarrier::new(3), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=100 {
                        counted.fetch_add(1, Ordering::Relaxed);
                        barrier.wait();
                        assert_eq!(counted.load(Ordering::Relaxed), 3 * round);
                        barrier.wait();
                    }
                });
            }
        });
    }
}
