// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resources that the processors of this node share, by the kernel's own description, and how far a thread is confined in it.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::cores;

/// A resource that processors share, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A package: what sits in one socket.
    Package,
    /// A NUMA node: memory that is near.
    NumaNode,
    /// A cache of the third level.
    L3Cache,
    /// A cache of the second level.
    L2Cache,
    /// A core.
    Core,
    /// A hardware thread, which nobody shares.
    Processor,
}

impl Resource {
    /// All, from the largest to the smallest.
    pub const ALL: [Self; 6] = [
        Self::Package,
        Self::NumaNode,
        Self::L3Cache,
        Self::L2Cache,
        Self::Core,
        Self::Processor,
    ];
}

/// Knowledge about the resources of one kind that a thread may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// The kernel does not tell.
    Unknown,
    /// It may run on processors that belong to different ones.
    Several,
    /// All its processors belong to the one whose first processor is this.
    One(u32),
}

/// The first of the processors that share a resource of this kind with one, if the kernel tells.
pub fn first_sharing(resource: Resource, processor: u32) -> Option<u32> {
    let sharing = sharing(resource, processor, &read)?;
    sharing.iter().map(|range| *range.start()).min()
}

fn read(path: &str) -> Option<String> {
    let path = Path::new("/sys/devices/system").join(path);
    std::fs::read_to_string(path).ok()
}

/// How far the calling thread is confined, for each of [`Resource::ALL`].
pub fn confinement() -> [Confinement; Resource::ALL.len()] {
    describe(&cores::usable_processors(), read)
}

/// The same for a thread that may run on these processors, in ascending order; `read` gives files of the kernel's description.
fn describe(
    processors: &[u32],
    read: impl Fn(&str) -> Option<String>,
) -> [Confinement; Resource::ALL.len()] {
    Resource::ALL.map(|resource| {
        let sharing = processors
            .first()
            .and_then(|&first| sharing(resource, first, &read));
        let Some(sharing) = sharing else {
            return Confinement::Unknown;
        };
        let is_inside = |processor: &u32| sharing.iter().any(|range| range.contains(processor));
        match sharing.iter().map(|range| *range.start()).min() {
            Some(name) if processors.iter().all(is_inside) => Confinement::One(name),
            _ => Confinement::Several,
        }
    })
}

/// The processors that share a resource of this kind with one.
fn sharing(
    resource: Resource,
    processor: u32,
    read: &impl Fn(&str) -> Option<String>,
) -> Option<Vec<RangeInclusive<u32>>> {
    let of_processor = |names: [&str; 2]| {
        let paths = names.map(|name| format!("cpu/cpu{processor}/topology/{name}"));
        let text = paths.iter().find_map(|path| read(path))?;
        ranges(&text)
    };
    match resource {
        // The second name is that of kernels before 5.4.
        Resource::Package => of_processor(["package_cpus_list", "core_siblings_list"]),
        Resource::Core => of_processor(["core_cpus_list", "thread_siblings_list"]),
        Resource::NumaNode => {
            let online = ranges(&read("node/online")?)?;
            let mut nodes = online.into_iter().flatten();
            nodes.find_map(|node| {
                let found = ranges(&read(&format!("node/node{node}/cpulist"))?)?;
                let is_here = found.iter().any(|range| range.contains(&processor));
                is_here.then_some(found)
            })
        }
        Resource::L3Cache => cache(3, processor, read),
        Resource::L2Cache => cache(2, processor, read),
        Resource::Processor => Some(vec![processor..=processor]),
    }
}

/// Caches of one processor that are looked at: kernels tell of three or four.
const MOST_CACHES: u32 = 16;

fn cache(
    level: u32,
    processor: u32,
    read: &impl Fn(&str) -> Option<String>,
) -> Option<Vec<RangeInclusive<u32>>> {
    for index in 0..MOST_CACHES {
        let folder = format!("cpu/cpu{processor}/cache/index{index}");
        let found = read(&format!("{folder}/level"))?;
        if found.trim().parse() == Ok(level) {
            return ranges(&read(&format!("{folder}/shared_cpu_list"))?);
        }
    }
    None
}

/// The kernel's lists of numbers, such as `0-3,8`; `None` for another text, or none at all.
fn ranges(text: &str) -> Option<Vec<RangeInclusive<u32>>> {
    let parts = text.trim().split(',').map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Two packages of two cores of two threads, each package a NUMA node with an L3 cache; cores have L2 caches of their own.
    fn host() -> HashMap<String, String> {
        let mut files = HashMap::new();
        let mut file = |path: String, text: &str| {
            files.insert(path, format!("{text}\n"));
        };
        file("node/online".to_owned(), "0-1");
        for processor in 0..8 {
            let (core, package) = (processor % 4, processor / 2 % 2);
            let cpus = if package == 0 { "0-1,4-5" } else { "2-3,6-7" };
            let threads = format!("{core},{}", core + 4);
            let folder = format!("cpu/cpu{processor}");
            file(format!("{folder}/topology/package_cpus_list"), cpus);
            file(format!("{folder}/topology/thread_siblings_list"), &threads);
            file(format!("node/node{package}/cpulist"), cpus);
            let caches = [
                ("1", &*threads),
                ("1", &threads),
                ("2", &threads),
                ("3", cpus),
            ];
            for (index, (level, shared)) in caches.into_iter().enumerate() {
                file(format!("{folder}/cache/index{index}/level"), level);
                file(
                    format!("{folder}/cache/index{index}/shared_cpu_list"),
                    shared,
                );
            }
        }
        files
    }

    #[test]
    fn threads_are_confined_as_far_as_all_their_processors_share_something() {
        use Confinement::{One, Several};
        let files = host();
        let of = |processors: &[u32]| describe(processors, |path| files.get(path).cloned());
        assert_eq!(of(&[3]), [One(2), One(2), One(2), One(3), One(3), One(3)]);
        assert_eq!(
            of(&[3, 7]),
            [One(2), One(2), One(2), One(3), One(3), Several]
        );
        assert_eq!(
            of(&[0, 5]),
            [One(0), One(0), One(0), Several, Several, Several]
        );
        assert_eq!(of(&[1, 2]), [Several; 6]);
        assert_eq!(of(&[0, 1, 2, 3, 4, 5, 6, 7]), [Several; 6]);
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_unknown() {
        use Confinement::{One, Several, Unknown};
        let mut expected = [Unknown; 6];
        expected[5] = One(4);
        assert_eq!(describe(&[4], |_| None), expected);
        expected[5] = Several;
        assert_eq!(describe(&[4, 5], |_| None), expected);
        assert_eq!(describe(&[], |_| None), [Unknown; 6]);
        assert_eq!(
            describe(&[4], |_| Some("none".to_owned()))[..5],
            [Unknown; 5]
        );
    }

    #[test]
    fn a_thread_on_one_processor_is_confined_to_it() {
        let mine = cores::usable_processors();
        assert!(!mine.is_empty());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(cores::run_on(&mine[..1]));
                assert_eq!(cores::usable_processors(), mine[..1]);
                assert_eq!(confinement()[5], Confinement::One(mine[0]));
            });
        });
    }
}
