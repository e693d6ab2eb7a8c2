// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks that outnumber the cores are kept on cores while the load is even.
//!
//! Neighbours that run at the same time on two cores answer each other without a context switch, which the kernel's own
//! placement gives up for every short sleep. The price of a fixed place is that a core may idle while two ranks share
//! another one. So the launcher looks, each time the job's clock advances, whether that is what happens, and gives the
//! ranks all processors for good when it has happened twice in a row.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::processes::{family, is_runnable, threads};

/// Part of the time that a core must have idled, and the most that another one may have.
const IDLE: f64 = 0.25;
const BUSY: f64 = 0.05;
/// Time between two looks: loads of shorter times say little.
const PERIOD: Duration = Duration::from_millis(240);
/// Looks in a row that must find the same.
const LOOKS: u32 = 2;

/// Watches over ranks that are bound to cores which they share.
pub(crate) struct Balance {
    /// The processors of each core that ranks are bound to, and these ranks.
    cores: Vec<(Vec<u32>, Vec<usize>)>,
    /// Every processor that the ranks may use.
    processors: Vec<u32>,
    before: BTreeMap<u32, Times>,
    looked: Instant,
    uneven: u32,
}

/// What a processor has done since the system was started, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    idle: u64,
    all: u64,
}

impl Balance {
    /// For ranks of which each is bound to one of `sets`.
    pub(crate) fn new(sets: &[Vec<u32>]) -> Self {
        let mut cores: Vec<(Vec<u32>, Vec<usize>)> = Vec::new();
        for (rank, set) in sets.iter().enumerate() {
            match cores.iter_mut().find(|(known, _)| known == set) {
                Some((_, ranks)) => ranks.push(rank),
                None => cores.push((set.clone(), vec![rank])),
            }
        }
        let processors = cores.iter().flat_map(|(set, _)| set.clone()).collect();
        Self {
            cores,
            processors,
            before: processor_times(),
            looked: Instant::now(),
            uneven: 0,
        }
    }

    /// Looks at the load since the last look; true when the ranks should no longer be bound. `pids` are those of the ranks
    /// that have not ended.
    pub(crate) fn look(&mut self, pids: &[Option<u32>]) -> bool {
        if self.looked.elapsed() < PERIOD {
            return false;
        }
        self.looked = Instant::now();
        let now = processor_times();
        let idle: Vec<_> = self
            .cores
            .iter()
            .map(|(set, _)| idle_part(set, &self.before, &now))
            .collect();
        self.before = now;
        let crowd = crowded_core(&idle).is_some_and(|core| {
            let ranks = &self.cores[core].1;
            let runnable = ranks
                .iter()
                .filter(|&&rank| pids[rank].is_some_and(is_runnable));
            runnable.take(2).count() == 2
        });
        self.uneven = if crowd { self.uneven + 1 } else { 0 };
        self.uneven >= LOOKS
    }

    /// Gives all processors to the ranks and to what they have started.
    pub(crate) fn release(&self, pids: &[Option<u32>]) {
        let mut set = CpuSet::new();
        for &processor in &self.processors {
            set.set(processor as usize);
        }
        for task in pids
            .iter()
            .flatten()
            .flat_map(|&pid| family(pid))
            .flat_map(threads)
        {
            // A task that has ended meanwhile needs no processors.
            let _ = sched_setaffinity(Pid::from_raw(task.cast_signed()), &set);
        }
    }
}

/// The part of the time that the processors of a core idled between two looks; `None` when that is not known.
pub(crate) fn idle_part(
    set: &[u32],
    before: &BTreeMap<u32, Times>,
    now: &BTreeMap<u32, Times>,
) -> Option<f64> {
    let (mut idle, mut all) = (0, 0);
    for processor in set {
        let (then, now) = (before.get(processor)?, now.get(processor)?);
        idle += now.idle.saturating_sub(then.idle);
        all += now.all.saturating_sub(then.all);
    }
    (all > 0).then(|| idle as f64 / all as f64)
}

/// The busiest core, if it has no time left while another one has much.
fn crowded_core(idle: &[Option<f64>]) -> Option<usize> {
    let known = || {
        idle.iter()
            .enumerate()
            .filter_map(|(core, idle)| Some((core, (*idle)?)))
    };
    let (core, least) = known().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = known().map(|(_, idle)| idle).fold(0.0, f64::max);
    (least < BUSY && most > IDLE).then_some(core)
}

/// What each processor has done.
pub(crate) fn processor_times() -> BTreeMap<u32, Times> {
    parse_times(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// The lines `cpuN user nice system idle iowait ...`.
pub(crate) fn parse_times(text: &str) -> BTreeMap<u32, Times> {
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let processor = words.next()?.parse().ok()?;
        let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // User time of guests is counted twice, in the last two numbers.
        let all = times.iter().take(8).sum();
        // What runs at a lower priority makes room.
        let idle = times.get(1)? + times.get(3)? + times.get(4)?;
        Some((processor, Times { idle, all }))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_crowded_when_another_one_idles() {
        assert_eq!(crowded_core(&[Some(0.01), Some(0.3)]), Some(0));
        assert_eq!(crowded_core(&[Some(0.9), Some(0.3), Some(0.0)]), Some(2));
        assert_eq!(crowded_core(&[Some(0.01), Some(0.1)]), None);
        assert_eq!(crowded_core(&[Some(0.2), Some(0.9)]), None);
        assert_eq!(crowded_core(&[None, Some(0.0)]), None);
        assert_eq!(crowded_core(&[]), None);
    }

    #[test]
    fn times_are_read_and_compared() {
        let then =
            parse_times("cpu  9 9 9 9 9\ncpu0 10 5 5 75 5 0 0 0 0 0\ncpu1 1 0 0 9 0\nintr 5\n");
        assert_eq!(then.len(), 2);
        assert_eq!(then[&0], Times { idle: 85, all: 100 });
        let now = parse_times("cpu0 40 5 5 135 15 0 0 0 30 0\ncpu1 1 0 0 9 0\n");
        assert_eq!(idle_part(&[0], &then, &now), Some(0.7));
        assert_eq!(idle_part(&[1], &then, &now), None);
        assert_eq!(idle_part(&[2], &then, &now), None);
    }

    #[test]
    fn ranks_are_grouped_by_core() {
        let balance = Balance::new(&[vec![0, 4], vec![1, 5], vec![0, 4]]);
        assert_eq!(balance.cores.len(), 2);
        assert_eq!(balance.cores[0].1, [0, 2]);
        assert_eq!(balance.processors, [0, 4, 1, 5]);
    }
}
