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

/// How long they are believed at first, and at most. What is found again within that time after it has ended is believed twice as
/// long: a program that runs for a moment makes ranks sleep for a moment only.
const FIRST: Duration = Duration::from_millis(10);
const MOST: Duration = Duration::from_secs(1);

/// The yields of one wait since something last happened.
#[derive(Default)]
pub(super) struct Yields {
    pub(super) count: u64,
    /// When the last one ended.
    ended: Option<Instant>,
}

/// Whether a rank's yields have found another program on its core.
pub(super) struct Neighbour {
    start: Instant,
    /// How many of the last yields, of this wait and of those before, were long.
    long: AtomicU32,
    /// Nanoseconds after the start until which external load is assumed, 0 where none has been found.
    until_ns: AtomicU64,
    /// For how long it is assumed.
    believed_ns: AtomicU64,
}

impl Default for Neighbour {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            long: AtomicU32::new(0),
            until_ns: AtomicU64::new(0),
            believed_ns: AtomicU64::new(0),
        }
    }
}

impl Neighbour {
    pub(super) fn is_here(&self) -> bool {
        let until = self.until_ns.load(Ordering::Relaxed);
        until != 0 && self.is_here_at(self.start.elapsed())
    }

    fn is_here_at(&self, now: Duration) -> bool {
        Duration::from_nanos(self.until_ns.load(Ordering::Relaxed)) > now
    }

    /// Gives the core away once.
    pub(super) fn make_room(&self, yields: &mut Yields) {
        yields.count += 1;
        let begun = yields.ended.unwrap_or_else(Instant::now);
        cores::yield_core();
        let now = Instant::now();
        yields.ended = Some(now);
        self.learn(now - begun, now - self.start);
    }

    fn learn(&self, took: Duration, now: Duration) {
        if took < LONG {
            if self.long.load(Ordering::Relaxed) != 0 {
                self.long.store(0, Ordering::Relaxed);
            }
        } else if self.long.fetch_add(1, Ordering::Relaxed) + 1 >= MANY {
            self.long.store(0, Ordering::Relaxed);
            let until = Duration::from_nanos(self.until_ns.load(Ordering::Relaxed));
            let before = Duration::from_nanos(self.believed_ns.load(Ordering::Relaxed));
            let believed = match now < until + before {
                true => (2 * before).min(MOST),
                false => FIRST,
            };
            let ns = |time: Duration| time.as_nanos() as u64;
            self.believed_ns.store(ns(believed), Ordering::Relaxed);
            self.until_ns.store(ns(now + believed), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use fabric::counters::Counter;

    use super::*;
    use crate::completion::test;
    use crate::identity::PeerIndex;
    use crate::progress::wait::tests::{end, receive, send, start_receiving};
    use crate::settings::Settings;
    use crate::testing::{on_ranks_with, shares_memory};

    const QUESTIONS: u64 = 100;
    const READY: i32 = 0;
    const GO: i32 = 1;
    const ANSWER: i32 = 2;

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

    const SHORT: Duration = Duration::from_nanos(300);

    #[test]
    fn only_long_yields_in_a_row_tell_of_somebody_else() {
        let neighbour = Neighbour::default();
        let start = Duration::from_millis(500);
        for took in [SHORT, 2 * LONG, SHORT, 2 * LONG, SHORT] {
            neighbour.learn(took, start);
            assert!(!neighbour.is_here_at(start));
        }
        neighbour.learn(2 * LONG, start);
        neighbour.learn(2 * LONG, start);
        assert!(neighbour.is_here_at(start + FIRST / 2));
        assert!(!neighbour.is_here_at(start + FIRST));
    }

    #[test]
    fn what_is_found_again_and_again_is_believed_longer() {
        let neighbour = Neighbour::default();
        let mut now = Duration::from_millis(500);
        let found = |now| {
            (0..MANY).for_each(|_| neighbour.learn(2 * LONG, now));
            let ends = |believed: Duration| {
                let last = now + believed - Duration::from_millis(1);
                neighbour.is_here_at(last) && !neighbour.is_here_at(now + believed)
            };
            (0..20)
                .map(|power| FIRST * (1 << power))
                .chain([MOST])
                .find(|&it| ends(it))
        };
        for believed in [FIRST, 2 * FIRST, 4 * FIRST] {
            assert_eq!(found(now), Some(believed));
            now += believed + Duration::from_millis(5);
        }
        for _ in 0..10 {
            now += found(now).unwrap();
        }
        assert_eq!(found(now), Some(MOST));
        assert_eq!(found(now + 3 * MOST), Some(FIRST));
    }

    /// How often rank 0 gives its core away while it asks in vain for what rank 1 sends.
    fn yields_of_questions(ranks: u32, patience: u64, load: u32) -> u64 {
        let settings = Settings {
            oversubscribed_spin_polls: patience,
            ..Settings::default()
        };
        let yields = on_ranks_with(&settings, ranks, |process| {
            if process.rank() != 0 {
                send(process, 0, READY);
                receive(process, 0, GO);
                send(process, 0, ANSWER);
                return 0;
            }
            (1..ranks).for_each(|peer| receive(process, peer, READY));
            let board = process.node().board(PeerIndex::new(0));
            board.external_load.store(load, Ordering::Relaxed);
            let mut word = 0;
            let mut request = start_receiving(process, &mut word, 1, ANSWER);
            let counted = || process.vci().enter().counted(Counter::Yields);
            let before = counted();
            for _ in 0..QUESTIONS {
                assert!(test(process.vci(), &mut request).unwrap().is_none());
            }
            let yields = counted() - before;
            (1..ranks).for_each(|peer| send(process, peer, GO));
            end(process, request);
            (2..ranks).for_each(|peer| receive(process, peer, ANSWER));
            yields
        });
        yields[0]
    }

    #[test]
    fn who_asks_again_and_again_gives_its_core_away_where_ranks_outnumber_cores() {
        let cores = cores::usable_cores();
        assert_eq!(yields_of_questions(cores + 1, 0, 0), QUESTIONS);
        assert_eq!(yields_of_questions(cores + 1, 60, 0), QUESTIONS - 60);
        if cores >= 2 {
            assert_eq!(yields_of_questions(2, 0, 0), 0);
        }
    }

    #[test]
    fn who_asks_beside_another_program_sleeps_for_a_moment_instead() {
        if shares_memory() {
            assert_eq!(yields_of_questions(cores::usable_cores() + 1, 0, 1), 0);
        }
    }
}
