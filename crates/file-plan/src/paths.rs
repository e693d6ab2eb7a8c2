// SPDX-License-Identifier: MIT OR Apache-2.0
//! How one rank accesses a file: a table, of which the first row that fits is the choice. Ranks go through it, and `rankpoint explain file`
//! prints it.

use crate::costs::{Cost, Costs};

/// Whether bytes are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// What decides how a rank accesses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether it reads or writes.
    pub action: Action,
    /// Bytes that it has.
    pub bytes: u64,
    /// Ranges of the file in which they lie.
    pub ranges: u64,
    /// From the first byte in the file to behind the last one.
    pub covered: u64,
    /// Whether the memory of the program is contiguous.
    pub is_contiguous: bool,
    /// Whether it may read gaps, or write them as it has read them.
    pub may_cover: bool,
}

/// How a rank accesses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// It has no bytes.
    Nothing,
    /// One system call.
    Single,
    /// Memory with gaps is packed, part by part, to one range of the file.
    Packed,
    /// Ranges with short gaps are read together.
    SieveRead,
    /// What covers the ranges is read, changed and written under a lock.
    SieveWrite,
    /// Each range by itself.
    List,
}

/// A path, and the accesses that use it.
#[derive(Clone, Copy, Debug)]
pub struct PathRow {
    /// The path.
    pub path: Path,
    /// In messages to users.
    pub name: &'static str,
    /// The rule in words.
    pub rule: &'static str,
    /// Whether an access may use it.
    pub fits: fn(&Access, &Costs) -> bool,
}

/// The paths, in the order in which they are tried. The last one fits every access.
pub const PATHS: [PathRow; 6] = [
    PathRow {
        path: Path::Nothing,
        name: "nothing",
        rule: "an access without bytes makes no system call",
        fits: |access, _| access.bytes == 0,
    },
    PathRow {
        path: Path::Single,
        name: "single",
        rule: "one range of the file and contiguous memory need one system call",
        fits: |access, _| access.ranges <= 1 && access.is_contiguous,
    },
    PathRow {
        path: Path::Packed,
        name: "packed",
        rule: "one range of the file and memory with gaps: packed, part by part",
        fits: |access, _| access.ranges <= 1,
    },
    PathRow {
        path: Path::SieveRead,
        name: "sieve read",
        rule: "ranges are read together where a gap costs no more than a system call; hint romio_ds_read",
        fits: |access, _| access.action == Action::Read && access.may_cover,
    },
    PathRow {
        path: Path::SieveWrite,
        name: "sieve write",
        rule: "reading what covers the ranges and writing it back under a lock costs less than a system call for each; hint romio_ds_write",
        fits: |access, costs| {
            access.action == Action::Write
                && access.may_cover
                && Path::SieveWrite.ps(access, costs) < Path::List.ps(access, costs)
        },
    },
    PathRow {
        path: Path::List,
        name: "list",
        rule: "every other access: a system call for each range",
        fits: |_, _| true,
    },
];

impl Path {
    /// The predicted time of an access, in picoseconds.
    pub fn ps(self, access: &Access, costs: &Costs) -> u64 {
        let byte = match access.action {
            Action::Read => Cost::Read,
            Action::Write => Cost::Write,
        };
        let calls = |count: u64| costs.times(Cost::Call, count);
        let bytes = costs.times(byte, access.bytes);
        match self {
            Self::Nothing => 0,
            Self::Single => calls(1).saturating_add(bytes),
            Self::Packed => {
                let parts = access.bytes.div_ceil(costs.packed_bytes());
                let copied = costs.times(Cost::Read, access.bytes);
                calls(parts).saturating_add(bytes).saturating_add(copied)
            }
            Self::SieveRead => {
                let together = calls(1).saturating_add(costs.times(Cost::Read, access.covered));
                together.min(calls(access.ranges).saturating_add(bytes))
            }
            Self::SieveWrite => {
                let both = costs.ps(Cost::Read).saturating_add(costs.ps(Cost::Write));
                let covered = both.saturating_mul(access.covered);
                calls(2).saturating_add(covered)
            }
            Self::List => calls(access.ranges).saturating_add(bytes),
        }
    }
}

/// The row that an access uses.
pub fn path(access: &Access, costs: &Costs) -> &'static PathRow {
    let found = PATHS.iter().find(|row| (row.fits)(access, costs));
    found.unwrap_or(&PATHS[PATHS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIDED: Access = Access {
        action: Action::Write,
        bytes: 8 * 1000,
        ranges: 1000,
        covered: 16 * 1000,
        is_contiguous: true,
        may_cover: true,
    };

    fn chosen(access: Access) -> Path {
        path(&access, &Costs::default()).path
    }

    #[test]
    fn the_first_row_that_fits_is_the_choice() {
        assert_eq!(
            chosen(Access {
                bytes: 0,
                ..STRIDED
            }),
            Path::Nothing
        );
        let one = Access {
            ranges: 1,
            ..STRIDED
        };
        assert_eq!(chosen(one), Path::Single);
        let gaps = Access {
            is_contiguous: false,
            ..one
        };
        assert_eq!(chosen(gaps), Path::Packed);
        assert_eq!(chosen(STRIDED), Path::SieveWrite);
        let read = Access {
            action: Action::Read,
            ..STRIDED
        };
        assert_eq!(chosen(read), Path::SieveRead);
        for action in [Action::Read, Action::Write] {
            let forbidden = Access {
                action,
                may_cover: false,
                ..STRIDED
            };
            assert_eq!(chosen(forbidden), Path::List);
        }
    }

    #[test]
    fn other_costs_choose_another_path_for_the_same_write() {
        let access = Access {
            bytes: 512 * 100,
            ranges: 100,
            covered: 2048 * 100,
            ..STRIDED
        };
        let (local, remote) = (
            Costs::default().with(Cost::Call, 300_000),
            Costs::default().with(Cost::Call, 5_000_000),
        );
        assert_eq!(path(&access, &local).path, Path::List);
        assert_eq!(path(&access, &remote).path, Path::SieveWrite);
    }
}
