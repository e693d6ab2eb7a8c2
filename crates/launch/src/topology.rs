// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cores of this node that the launcher may use, by the kernel's own description.

use std::collections::BTreeMap;
use std::path::Path;

/// Processors that this thread may run on, in order.
pub(crate) fn usable_processors() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&index| set.is_set(index))
        .filter_map(|index| u32::try_from(index).ok())
        .collect()
}

/// Whether the system lets processes be bound to processors at all.
pub(crate) fn may_bind() -> rustix::io::Result<()> {
    let all = rustix::thread::sched_getaffinity(None)?;
    rustix::thread::sched_setaffinity(None, &all)
}

/// The same, grouped by core: the hardware threads of one core together, cores in the order of their first one.
pub(crate) fn usable_cores(processors: &[u32]) -> Vec<Vec<u32>> {
    group(processors, |processor| {
        let folder = format!("/sys/devices/system/cpu/cpu{processor}/topology");
        let siblings = Path::new(&folder).join("thread_siblings_list");
        std::fs::read_to_string(siblings).ok()
    })
}

fn group(processors: &[u32], siblings: impl Fn(u32) -> Option<String>) -> Vec<Vec<u32>> {
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &processor in processors {
        let text = siblings(processor).unwrap_or_default();
        let first = text
            .trim()
            .split([',', '-'])
            .next()
            .and_then(|first| first.parse().ok());
        cores
            .entry(first.unwrap_or(processor))
            .or_default()
            .push(processor);
    }
    cores.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_threads_are_grouped_by_core() {
        let siblings = |processor: u32| Some(format!("{},{}\n", processor % 4, processor % 4 + 4));
        assert_eq!(
            group(&[0, 1, 2, 5, 6], siblings),
            [vec![0], vec![1, 5], vec![2, 6]]
        );
        assert_eq!(group(&[3, 4], |_| None), [[3], [4]]);
    }

    #[test]
    fn this_thread_may_run_somewhere() {
        let processors = usable_processors();
        let cores = usable_cores(&processors);
        assert!(!processors.is_empty());
        assert_eq!(cores.concat().len(), processors.len());
    }
}
