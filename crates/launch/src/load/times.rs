// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of processors, by `/proc/stat`.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::getpriority_process;

/// The times of a processor since the system was started, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    idle: u64,
    /// The time that a hypervisor gave to others: no program here can use it.
    stolen: u64,
    all: u64,
}

/// The times of each processor.
pub(super) type AllTimes = BTreeMap<u32, Times>;

/// Parts of a core's time in some interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parts {
    pub(super) idle: f64,
    pub(super) stolen: f64,
}

/// The present times of each processor.
pub(super) fn processor_times() -> AllTimes {
    // Programs of a lower priority make room for the ranks, unless those have a lower one, too.
    let makes_room = getpriority_process(None).is_ok_and(|niceness| niceness <= 0);
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    parse_times(&text, makes_room)
}

/// The lines `cpuN user nice system idle iowait irq softirq steal ...`; whether the time of niced programs counts as idle.
pub(super) fn parse_times(text: &str, nice_is_idle: bool) -> AllTimes {
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let processor = words.next()?.parse().ok()?;
        let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // User time of guests is counted twice, in the last two numbers.
        let all = times.iter().take(8).sum();
        let nice = if nice_is_idle { *times.get(1)? } else { 0 };
        let idle = nice + times.get(3)? + times.get(4)?;
        let stolen = times.get(7).copied().unwrap_or(0);
        Some((processor, Times { idle, stolen, all }))
    };
    text.lines().filter_map(line).collect()
}

/// The parts of a core's time between two measurements; `None` when they are not known.
pub(super) fn parts(set: &[u32], before: &AllTimes, now: &AllTimes) -> Option<Parts> {
    let (mut idle, mut stolen, mut all) = (0, 0, 0);
    for processor in set {
        let (then, now) = (before.get(processor)?, now.get(processor)?);
        idle += now.idle.saturating_sub(then.idle);
        stolen += now.stolen.saturating_sub(then.stolen);
        all += now.all.saturating_sub(then.all);
    }
    (all > 0).then(|| Parts {
        idle: idle as f64 / all as f64,
        stolen: stolen as f64 / all as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_compared() {
        let before = "cpu  9 9 9 9 9\ncpu0 10 5 5 75 5 0 0 0 0 0\ncpu1 1 0 0 9 0\nintr 5\n";
        let later = "cpu0 20 15 5 135 15 0 0 10 30 0\ncpu1 1 0 0 9 0\n";
        let (then, now) = (parse_times(before, true), parse_times(later, true));
        assert_eq!(then.len(), 2);
        let part = parts(&[0], &then, &now).unwrap();
        assert_eq!((part.idle, part.stolen), (0.8, 0.1));
        let (then_niced, now_niced) = (parse_times(before, false), parse_times(later, false));
        let part = parts(&[0], &then_niced, &now_niced).unwrap();
        assert_eq!((part.idle, part.stolen), (0.7, 0.1));
        assert_eq!(parts(&[1], &then, &now), None);
        assert_eq!(parts(&[2], &then, &now), None);
    }
}
