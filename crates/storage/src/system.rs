// SPDX-License-Identifier: MIT OR Apache-2.0
//! File systems, and what of them decides.

/// A file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// Its number (`statfs(2)`).
    number: u64,
    /// Its name.
    pub name: &'static str,
    /// Whether a lock of a range is a call into this node's kernel, and keeps everybody out who locks: only there may bytes between
    /// ranges be written back.
    pub has_cheap_locks: bool,
}

const fn local(number: u64, name: &'static str) -> System {
    System {
        number,
        name,
        has_cheap_locks: true,
    }
}

const fn shared(number: u64, name: &'static str) -> System {
    System {
        number,
        name,
        has_cheap_locks: false,
    }
}

/// The file systems that are known by name.
const SYSTEMS: [System; 15] = [
    local(0xef53, "ext4"),
    local(0x5846_5342, "xfs"),
    local(0x9123_683e, "btrfs"),
    local(0x0102_1994, "tmpfs"),
    local(0x8584_58f6, "ramfs"),
    local(0x794c_7630, "overlay"),
    local(0xf2f5_2010, "f2fs"),
    local(0x2fc1_2fc1, "zfs"),
    shared(0x6969, "NFS"),
    shared(0x0bd0_0bd0, "Lustre"),
    shared(0x4750_4653, "GPFS"),
    shared(0x1983_0326, "BeeGFS"),
    shared(0x00c3_6400, "CephFS"),
    shared(0xaad7_aaea, "PanFS"),
    shared(0x6573_5546, "FUSE"),
];

const OTHER: System = shared(0, "another file system");

/// The file system with a number.
pub(crate) fn row(number: u64) -> &'static System {
    let found = SYSTEMS.iter().find(|system| system.number == number);
    found.unwrap_or(&OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_one_system() {
        for system in &SYSTEMS {
            assert_eq!(row(system.number), system);
        }
        assert!(!row(7).has_cheap_locks);
    }
}
