// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of threads, by which their puts and gets are spread over the VCIs of a window.
//!
//! A thread has the lowest number that no other living thread has, from its first operation on: threads that a program starts anew get the
//! numbers of those that have ended, and as many threads as VCIs share none.

use sys::sync::{AtomicU64, Ordering};

/// Numbers in use, one bit each.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// The number of a thread.
struct Number(u32);

thread_local! {
    static NUMBER: Number = Number::take();
}

impl Number {
    /// The lowest free one; all threads beyond the bits share one more.
    fn take() -> Self {
        let mut taken = TAKEN.load(Ordering::Relaxed);
        loop {
            let free = taken.trailing_ones();
            if free == u64::BITS {
                return Self(free);
            }
            // Relaxed: a number guards nothing.
            let outcome = TAKEN.compare_exchange_weak(
                taken,
                taken | 1 << free,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match outcome {
                Ok(_) => return Self(free),
                Err(now) => taken = now,
            }
        }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if self.0 < u64::BITS {
            TAKEN.fetch_and(!(1 << self.0), Ordering::Relaxed);
        }
    }
}

/// The number of the calling thread; 0 of one that is ending.
pub(in crate::rma) fn thread_number() -> u32 {
    NUMBER.try_with(|number| number.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn living_threads_have_different_numbers() {
        const THREADS: usize = 4;
        let barrier = Barrier::new(THREADS);
        let numbers: Vec<u32> = std::thread::scope(|scope| {
            let number = || {
                let number = thread_number();
                assert_eq!(thread_number(), number);
                barrier.wait();
                number
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(number)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        // Other tests have threads, too.
        let below: BTreeSet<_> = numbers.iter().filter(|&&it| it < u64::BITS).collect();
        let beyond = numbers.iter().filter(|&&it| it == u64::BITS).count();
        assert_eq!(below.len() + beyond, THREADS);
    }
}
