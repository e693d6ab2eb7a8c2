// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of processors, by `/proc/stat`.

use std::collections::BTreeMap;
use std::fs;

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
    parse_times(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// The lines `cpuN user nice system idle iowait irq softirq steal ...`.
pub(super) fn parse_times(text: &str) -> AllTimes {
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let processor = words.next()?.parse().ok()?;
        let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // User time of guests is counted twice, in the last two numbers.
        let all = times.iter().take(8).sum();
        // Programs of a lower priority make room.
        let idle = times.get(1)? + times.get(3)? + times.get(4)?;
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
        let then =
            parse_times("cpu  9 9 9 9 9\ncpu0 10 5 5 75 5 0 0 0 0 0\ncpu1 1 0 0 9 0\nintr 5\n");
        assert_eq!(then.len(), 2);
        let now = parse_times("cpu0 30 5 5 135 15 0 0 10 30 0\ncpu1 1 0 0 9 0\n");
        let part = parts(&[0], &then, &now).unwrap();
        assert_eq!((part.idle, part.stolen), (0.7, 0.1));
        assert_eq!(parts(&[1], &then, &now), None);
        assert_eq!(parts(&[2], &then, &now), None);
    }
}
