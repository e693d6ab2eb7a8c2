// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks that outnumber the cores are told when others take much of the time of theirs.
//!
//! Such ranks give their cores to each other by yields, which cost little. But where another program computes on the core, each
//! yield lasts for one turn of it: some milliseconds, a thousand times as long as the answer of another rank takes. Who sleeps gets
//! the core when it is woken. A rank cannot know for whom it waited, so the launcher compares what its ranks have spent with what the
//! processors have done. (A rank that has a core of its own finds out by itself.)

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::balance::{Times, idle_part, processor_times};

/// Parts of a core's time that strangers take when ranks are told that they are here, and that they have gone.
const MUCH: f64 = 0.3;
const LITTLE: f64 = 0.1;
/// Time between two looks, and more of it for each rank, so that many of them take no time to speak of.
const PERIOD: Duration = Duration::from_millis(480);
const PERIOD_EACH: Duration = Duration::from_millis(2);

/// Watches the cores of a job whose ranks outnumber them.
pub(crate) struct Strangers {
    cores: Vec<Core>,
    before: BTreeMap<u32, Times>,
    looked: Instant,
    period: Duration,
}

/// Processors, and the ranks that run there and nowhere else.
struct Core {
    processors: Vec<u32>,
    ranks: Vec<u32>,
    /// What each of them had spent at the last look.
    spent: Vec<Option<Duration>>,
    are_here: bool,
}

impl Strangers {
    /// For ranks of which each is bound to one of `sets`, or all run on all of `processors` if there are none.
    pub(crate) fn new(sets: &[Vec<u32>], processors: &[u32], ranks: u32) -> Self {
        let mut cores: Vec<Core> = Vec::new();
        for rank in 0..ranks {
            let set = sets.get(rank as usize).map_or(processors, Vec::as_slice);
            match cores.iter_mut().find(|core| core.processors == set) {
                Some(core) => core.ranks.push(rank),
                None => cores.push(Core {
                    processors: set.to_vec(),
                    ranks: vec![rank],
                    spent: Vec::new(),
                    are_here: false,
                }),
            }
        }
        Self {
            cores,
            before: BTreeMap::new(),
            looked: Instant::now(),
            period: PERIOD + PERIOD_EACH * ranks,
        }
    }

    /// Looks at what was done since the last look, and gives the ranks for whom something has changed: whether strangers are
    /// here now. `spent` says what a rank has spent, if that is known.
    pub(crate) fn look(&mut self, spent: impl Fn(u32) -> Option<Duration>) -> Vec<(u32, bool)> {
        let elapsed = self.looked.elapsed();
        if elapsed < self.period {
            return Vec::new();
        }
        self.looked = Instant::now();
        let now = processor_times();
        let mut changed = Vec::new();
        for core in &mut self.cores {
            let part = core.part_of_strangers(&self.before, &now, elapsed, &spent);
            if core.judge(part) {
                changed.extend(core.ranks.iter().map(|&rank| (rank, core.are_here)));
            }
        }
        self.before = now;
        changed
    }
}

impl Core {
    /// The part of the processors' time that neither idled nor was spent by ranks, if that is known.
    fn part_of_strangers(
        &mut self,
        before: &BTreeMap<u32, Times>,
        now: &BTreeMap<u32, Times>,
        elapsed: Duration,
        spent: impl Fn(u32) -> Option<Duration>,
    ) -> Option<f64> {
        let after: Vec<_> = self.ranks.iter().map(|&rank| spent(rank)).collect();
        let then = std::mem::replace(&mut self.spent, after);
        let since = |(then, now): (&Option<Duration>, &Option<Duration>)| {
            Some(now.as_ref()?.saturating_sub((*then)?).as_secs_f64())
        };
        let own: Option<f64> = then.iter().zip(&self.spent).map(since).sum();
        if then.is_empty() {
            return None;
        }
        let all = elapsed.as_secs_f64() * self.processors.len() as f64;
        let busy = 1.0 - idle_part(&self.processors, before, now)?;
        Some(busy - own? / all)
    }

    /// Whether strangers have come or gone.
    fn judge(&mut self, part: Option<f64>) -> bool {
        let are_here = part.is_some_and(|part| part > if self.are_here { LITTLE } else { MUCH });
        std::mem::replace(&mut self.are_here, are_here) != are_here
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::parse_times;

    #[test]
    fn ranks_are_grouped_by_core() {
        let sets = [vec![0, 4], vec![1, 5], vec![0, 4]];
        let bound = Strangers::new(&sets, &[], 3);
        let ranks: Vec<_> = bound.cores.iter().map(|core| &core.ranks[..]).collect();
        assert_eq!(ranks, [&[0, 2][..], &[1]]);
        let free = Strangers::new(&[], &[0, 1], 3);
        assert_eq!(free.cores.len(), 1);
        assert_eq!(free.cores[0].ranks, [0, 1, 2]);
    }

    #[test]
    fn strangers_come_at_one_part_and_go_at_a_smaller_one() {
        let mut job = Strangers::new(&[], &[0], 2);
        let core = &mut job.cores[0];
        let changes = [0.0, 0.2, 0.4, 0.2, 0.05, 0.2].map(|part| core.judge(Some(part)));
        assert_eq!(changes, [false, false, true, false, true, false]);
        assert!(core.judge(Some(0.9)) && core.judge(None));
    }

    #[test]
    fn what_ranks_spend_is_not_taken_by_strangers() {
        let mut job = Strangers::new(&[], &[0], 2);
        let mut part = |times: [&str; 2], seconds: f64| {
            let [before, now] = times.map(parse_times);
            let spent = |_| Some(Duration::from_secs_f64(seconds));
            job.cores[0].part_of_strangers(&before, &now, Duration::from_secs(1), spent)
        };
        let times = ["cpu0 0 0 0 100 0", "cpu0 75 0 0 125 0"];
        assert_eq!(part(times, 1.0), None);
        // Three quarters of the second were busy, and each of two ranks spent a quarter.
        assert_eq!(part(times, 1.25), Some(0.25));
        assert_eq!(part(["", ""], 1.5), None);
    }
}
