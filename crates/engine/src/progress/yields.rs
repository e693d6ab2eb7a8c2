// SPDX-License-Identifier: MIT OR Apache-2.0
//! External load on a rank's core, which the rank detects by the time that its yields take.
//!
//! A rank that yields gets the core back after the other program's time slice, which lasts milliseconds; a rank that sleeps gets it
//! back when it is woken. So a
//! rank that waits yields while the core is its own, and sleeps soon where it is not.

use std::time::{Duration, Instant};

use sys::cores;
use sys::sync::{AtomicU32, AtomicU64, Ordering};

/// Longer than a yield takes on a core without external load, and shorter than the time slice of a program that computes there.
const LONG: Duration = Duration::from_micros(200);

/// So many in a row are no accident.
const MANY: u32 = 2;

/// How long they are believed.
const BELIEVED_MS: u64 = 1000;

/// The yields of one wait since something last happened.
#[derive(Default)]
pub(super) struct Yields {
    pub(super) count: u64,
    /// When the last one ended.
    ended: Option<Instant>,
}

/// Whether a rank's yields have found another program on its core.
#[derive(Default)]
pub(super) struct Neighbour {
    /// How many of the last yields, of this wait and of those before, were long.
    long: AtomicU32,
    /// Job time until which external load is assumed.
    until_ms: AtomicU64,
}

impl Neighbour {
    pub(super) fn is_here(&self, now_ms: u64) -> bool {
        self.until_ms.load(Ordering::Relaxed) > now_ms
    }

    /// Gives the core away once.
    pub(super) fn make_room(&self, yields: &mut Yields, now_ms: u64) {
        yields.count += 1;
        let begun = yields.ended.unwrap_or_else(Instant::now);
        cores::yield_core();
        let now = Instant::now();
        yields.ended = Some(now);
        self.learn(now - begun, now_ms);
    }

    fn learn(&self, took: Duration, now_ms: u64) {
        if took < LONG {
            if self.long.load(Ordering::Relaxed) != 0 {
                self.long.store(0, Ordering::Relaxed);
            }
        } else if self.long.fetch_add(1, Ordering::Relaxed) + 1 >= MANY {
            self.long.store(0, Ordering::Relaxed);
            self.until_ms.store(now_ms + BELIEVED_MS, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use fabric::counters::Counter;

    use super::*;
    use crate::identity::PeerIndex;
    use crate::progress::wait::tests::{receive, send};
    use crate::settings::Settings;
    use crate::testing::{on_ranks_with, shares_memory};

    #[test]
    fn ranks_with_external_load_sleep_instead_of_yielding() {
        if !shares_memory() {
            return;
        }
        let ranks = cores::usable_cores() + 1;
        let yields = on_ranks_with(&Settings::default(), ranks.max(2), |process| {
            let board = |rank| process.node().board(PeerIndex::new(rank));
            board(process.rank())
                .external_load
                .store(1, Ordering::Relaxed);
            let counted = || process.vci().enter().counted(Counter::Yields);
            let before = counted();
            match process.rank() {
                0 => receive(process, 1, 0),
                1 => {
                    while board(0).vcis[0].asleep.load(Ordering::Relaxed) == 0 {
                        cores::yield_core();
                    }
                    send(process, 0, 0);
                }
                _ => {}
            }
            counted() - before
        });
        assert_eq!(yields[0], 0);
    }

    #[test]
    fn only_long_yields_in_a_row_tell_of_somebody_else() {
        let neighbour = Neighbour::default();
        let short = Duration::from_nanos(300);
        for took in [short, 2 * LONG, short, 2 * LONG, short] {
            neighbour.learn(took, 500);
            assert!(!neighbour.is_here(0));
        }
        neighbour.learn(2 * LONG, 500);
        neighbour.learn(2 * LONG, 500);
        assert!(neighbour.is_here(500 + BELIEVED_MS - 1));
        assert!(!neighbour.is_here(500 + BELIEVED_MS));
        neighbour.learn(2 * LONG, 2000);
        assert!(!neighbour.is_here(2000));
    }
}
