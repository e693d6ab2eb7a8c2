// SPDX-License-Identifier: MIT OR Apache-2.0
//! External load: the time that other programs take on the cores of ranks.
//!
//! A rank that is bound to a core which another program fills gets half of it or less, though other cores may idle. And
//! oversubscribed ranks give their cores to each other by yields, which cost little; but where another program computes, a
//! yield lasts for one time slice of it. Such a rank should sleep instead: a rank that is woken gets the core. The load is
//! the processors' busy time less the time that the ranks themselves have spent.

use std::time::{Duration, Instant};

use super::times::{AllTimes, parts, processor_times};

/// Parts of a core's time that other programs take when there is external load, and when it has gone.
const MUCH: f64 = 0.3;
const LITTLE: f64 = 0.1;
/// Polling interval, and more of it for each rank, so that the measurement of many ranks takes a small part of the time.
const PERIOD: Duration = Duration::from_millis(480);
const PERIOD_EACH: Duration = Duration::from_millis(2);
/// Polls in a row that must find much external load before it counts as lasting.
const LASTING_POLLS: u32 = 2;

/// Watches the cores of ranks.
pub(super) struct ExternalLoad {
    cores: Vec<Core>,
    before: AllTimes,
    polled: Instant,
    period: Duration,
    polls_in_a_row: u32,
}

/// Processors, and the ranks that run there and nowhere else.
struct Core {
    processors: Vec<u32>,
    ranks: Vec<u32>,
    /// Processor time of each of them at the last poll.
    spent: Vec<Option<Duration>>,
    is_here: bool,
}

impl ExternalLoad {
    /// For ranks of which each is bound to one of `sets`, or all run on all of `processors` if there are none. `is_here` says
    /// whether there is external load at present.
    pub(super) fn new(sets: &[Vec<u32>], processors: &[u32], ranks: u32, is_here: bool) -> Self {
        let mut cores: Vec<Core> = Vec::new();
        for rank in 0..ranks {
            let set = sets.get(rank as usize).map_or(processors, Vec::as_slice);
            match cores.iter_mut().find(|core| core.processors == set) {
                Some(core) => core.ranks.push(rank),
                None => cores.push(Core {
                    processors: set.to_vec(),
                    ranks: vec![rank],
                    spent: Vec::new(),
                    is_here,
                }),
            }
        }
        Self {
            cores,
            before: AllTimes::new(),
            polled: Instant::now(),
            period: PERIOD + PERIOD_EACH * ranks,
            polls_in_a_row: 0,
        }
    }

    /// Measures the load since the last poll; the ranks for which something has changed: whether there is external load now.
    /// `spent` gives the processor time of a rank, if that is known.
    pub(super) fn poll(&mut self, spent: impl Fn(u32) -> Option<Duration>) -> Vec<(u32, bool)> {
        let elapsed = self.polled.elapsed();
        if elapsed < self.period {
            return Vec::new();
        }
        self.polled = Instant::now();
        let now = processor_times();
        let (mut changed, mut measured) = (Vec::new(), Vec::new());
        for core in &mut self.cores {
            let part = core.external_part(&self.before, &now, elapsed, &spent);
            measured.push(part);
            if core.judge(part) {
                changed.extend(core.ranks.iter().map(|&rank| (rank, core.is_here)));
            }
        }
        self.polls_in_a_row = count(self.polls_in_a_row, &measured);
        self.before = now;
        changed
    }

    /// Whether ranks are better off where the kernel puts them than on their cores.
    pub(super) const fn persists(&self) -> bool {
        self.polls_in_a_row >= LASTING_POLLS
    }

    /// Whether there is external load on any core.
    pub(super) fn is_here(&self) -> bool {
        self.cores.iter().any(|core| core.is_here)
    }
}

/// Polls in a row that found much external load on a core, after one that measured these parts.
fn count(in_a_row: u32, measured: &[Option<f64>]) -> u32 {
    if measured.iter().flatten().any(|&part| part > MUCH) {
        in_a_row + 1
    } else {
        0
    }
}

impl Core {
    /// The part of the processors' time that neither idled nor was spent by ranks, if that is known.
    fn external_part(
        &mut self,
        before: &AllTimes,
        now: &AllTimes,
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
        let parts = parts(&self.processors, before, now)?;
        Some(1.0 - parts.idle - parts.stolen - own? / all)
    }

    /// Whether external load has come or gone.
    fn judge(&mut self, part: Option<f64>) -> bool {
        let is_here = part.is_some_and(|part| part > if self.is_here { LITTLE } else { MUCH });
        std::mem::replace(&mut self.is_here, is_here) != is_here
    }
}

#[cfg(test)]
mod tests {
    use super::super::times::parse_times;
    use super::*;

    #[test]
    fn ranks_are_grouped_by_core() {
        let sets = [vec![0, 4], vec![1, 5], vec![0, 4]];
        let bound = ExternalLoad::new(&sets, &[], 3, false);
        let ranks: Vec<_> = bound.cores.iter().map(|core| &core.ranks[..]).collect();
        assert_eq!(ranks, [&[0, 2][..], &[1]]);
        let free = ExternalLoad::new(&[], &[0, 1], 3, false);
        assert_eq!(free.cores.len(), 1);
        assert_eq!(free.cores[0].ranks, [0, 1, 2]);
    }

    #[test]
    fn load_comes_at_one_part_and_goes_at_a_smaller_one() {
        let mut job = ExternalLoad::new(&[], &[0], 2, false);
        let core = &mut job.cores[0];
        let changes = [0.0, 0.2, 0.4, 0.2, 0.05, 0.2].map(|part| core.judge(Some(part)));
        assert_eq!(changes, [false, false, true, false, true, false]);
        assert!(core.judge(Some(0.9)) && core.judge(None));
        // A job that was told of it is told when it has gone.
        let mut job = ExternalLoad::new(&[], &[0], 2, true);
        assert!(job.is_here() && job.cores[0].judge(Some(0.0)) && !job.is_here());
    }

    #[test]
    fn lasting_load_on_one_core_ends_the_binding() {
        let polls = |measured: &[&[Option<f64>]]| {
            let last = measured.iter().fold(0, |polls, parts| count(polls, parts));
            last >= LASTING_POLLS
        };
        let (busy, quiet) = (&[Some(0.0), Some(0.5)][..], &[Some(0.05), Some(0.2)][..]);
        assert!(polls(&[busy, busy]) && polls(&[quiet, busy, busy]));
        assert!(!polls(&[busy]) && !polls(&[busy, quiet, busy]) && !polls(&[]));
        assert!(!polls(&[&[None, None], &[None, None]]));
    }

    #[test]
    fn time_of_ranks_and_of_the_hypervisor_is_no_external_load() {
        let mut job = ExternalLoad::new(&[], &[0], 2, false);
        let mut part = |times: [&str; 2], seconds: f64| {
            let [before, now] = times.map(|times| parse_times(times, true));
            let spent = |_| Some(Duration::from_secs_f64(seconds));
            job.cores[0].external_part(&before, &now, Duration::from_secs(1), spent)
        };
        let times = ["cpu0 0 0 0 100 0", "cpu0 75 0 0 125 0"];
        assert_eq!(part(times, 1.0), None);
        // Three quarters of the second were busy, and each of two ranks spent a quarter.
        assert_eq!(part(times, 1.25), Some(0.25));
        let stolen = ["cpu0 0 0 0 100 0 0 0 0", "cpu0 50 0 0 125 0 0 0 25"];
        assert_eq!(part(stolen, 1.5), Some(0.0));
        assert_eq!(part(["", ""], 1.75), None);
    }
}
