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

/// Cores such that each socket gives `each` of its cores after the other; those that are too few for that stand at the end.
pub(crate) fn round_sockets(cores: Vec<Vec<u32>>, each: u32) -> Vec<Vec<u32>> {
    alternate(cores, each as usize, |processor| {
        let folder = format!("/sys/devices/system/cpu/cpu{processor}/topology");
        let socket = Path::new(&folder).join("physical_package_id");
        std::fs::read_to_string(socket).ok()
    })
}

fn alternate(
    cores: Vec<Vec<u32>>,
    each: usize,
    socket: impl Fn(u32) -> Option<String>,
) -> Vec<Vec<u32>> {
    let mut sockets: Vec<(String, Vec<Vec<u32>>)> = Vec::new();
    for core in cores {
        let number = core.first().and_then(|&first| socket(first));
        let number = number.unwrap_or_default();
        match sockets.iter_mut().find(|(known, _)| *known == number) {
            Some((_, own)) => own.push(core),
            None => sockets.push((number, vec![core])),
        }
    }
    let each = each.max(1);
    let most = sockets.iter().map(|(_, own)| own.len() / each).max();
    let mut ordered = Vec::new();
    for round in 0..most.unwrap_or(0) {
        let parts = sockets.iter().map(|(_, own)| own.chunks_exact(each));
        ordered.extend(
            parts
                .filter_map(|mut parts| parts.nth(round))
                .flatten()
                .cloned(),
        );
    }
    let rest = sockets.iter().map(|(_, own)| own.chunks_exact(each));
    let rest = rest.flat_map(|parts| parts.remainder().to_vec());
    ordered.extend(rest);
    ordered
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
    fn sockets_give_cores_in_rounds() {
        let cores = |numbers: &[u32]| -> Vec<Vec<u32>> {
            numbers.iter().map(|&core| vec![core, core + 8]).collect()
        };
        let socket = |processor: u32| Some((processor / 3).to_string());
        let rounds = |each| alternate(cores(&[0, 1, 2, 3, 4, 5, 6]), each, socket);
        assert_eq!(rounds(1), cores(&[0, 3, 6, 1, 4, 2, 5]));
        assert_eq!(rounds(2), cores(&[0, 1, 3, 4, 2, 5, 6]));
        let mixed = cores(&[4, 0, 3]);
        assert_eq!(alternate(mixed.clone(), 1, |_| None), mixed);
    }

    #[test]
    fn this_thread_may_run_somewhere() {
        let processors = usable_processors();
        let cores = usable_cores(&processors);
        assert!(!processors.is_empty());
        assert_eq!(cores.concat().len(), processors.len());
    }
}
