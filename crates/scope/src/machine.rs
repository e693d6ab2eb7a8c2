// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that runs.

use std::path::Path;

use machine_profile::{Host, Place, PlaceKind};
use sys::topology::{Resource, first_sharing};

/// What the system tells about itself.
pub fn here() -> Host {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = text("/proc/cpuinfo");
    let field = |name: &str| {
        let line = processors.lines().find(|line| line.starts_with(name));
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
    };
    let is_virtual =
        field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let count = |path: &str| listed(&text(path));
    // A container may hide the kernel's folder of devices.
    let shown = (processors.lines()).filter(|line| line.starts_with("processor"));
    let shown = shown.count() as u64;
    let cores = Some(count("/sys/devices/system/cpu/present")).filter(|&cores| cores > 0);
    // SAFETY: takes a number and gives one.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Host {
        cpu: field("model name").unwrap_or_else(|| "unknown".to_owned()),
        architecture: std::env::consts::ARCH.to_owned(),
        cores: cores.unwrap_or(shown).max(1),
        l3_bytes: sys::memory::cache_bytes().unwrap_or(0) as u64,
        numa_nodes: count("/sys/devices/system/node/online").max(1),
        page_bytes: u64::try_from(page_bytes).unwrap_or(4096),
        is_virtual,
        kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
    }
}

/// The processors that this process may use, in ascending order.
pub fn places() -> Vec<Place> {
    let place = |core: u32| Place {
        name: format!("core {core}"),
        kind: PlaceKind::Core,
        index: u64::from(core),
        l3: first_sharing(Resource::L3Cache, core).map(u64::from),
        numa: numa_node(core),
    };
    sys::cores::usable_processors()
        .into_iter()
        .map(place)
        .collect()
}

/// The NUMA node of a processor.
fn numa_node(core: u32) -> Option<u64> {
    let folder = format!("/sys/devices/system/cpu/cpu{core}");
    let files = std::fs::read_dir(Path::new(&folder)).ok()?;
    let names = files.flatten().map(|file| file.file_name());
    names.into_iter().find_map(|name| {
        let number = name.to_str()?.strip_prefix("node")?;
        number.parse().ok()
    })
}

/// How many numbers one of the kernel's lists has, such as `0-3,8`.
fn listed(text: &str) -> u64 {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    text.trim().split(',').filter_map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted() {
        assert_eq!(listed("0-3,8\n"), 5);
        assert_eq!(listed(""), 0);
        assert_eq!(listed("3-1"), 0);
    }

    #[test]
    fn this_machine_is_the_same_each_time() {
        assert_eq!(here(), here());
        assert!(here().cores >= 1 && here().page_bytes >= 4096);
        assert_eq!(places().len(), sys::cores::usable_processors().len());
    }
}
