// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of others.

use account::Category;

use super::calls::{Group, Level};

/// Counts by category of the paper's MPICH/CH4, from the application to the low-level network call (Raffenetti et al., "Why Is MPI So
/// Slow?", SC'17: instruction counts by reason, and the savings of sections 3.1 to 3.6). What the paper counts as mandatory and divides no
/// further is `other`.
pub(super) const fn published(group: Group) -> Option<&'static [(Category, u32)]> {
    match group {
        Group::Isend => Some(&[
            (Category::FunctionCall, 23),
            (Category::ArgumentChecks, 74),
            (Category::ThreadSafety, 6),
            (Category::Communicator, 8),
            (Category::RankTranslation, 10),
            (Category::ProcNull, 3),
            (Category::Datatype, 59),
            (Category::Request, 10),
            (Category::MatchBits, 5),
            (Category::Other, 23),
        ]),
        Group::Put => Some(&[
            (Category::FunctionCall, 25),
            (Category::ArgumentChecks, 72),
            (Category::ThreadSafety, 14),
            (Category::RankTranslation, 4),
            (Category::Datatype, 62),
            (Category::Other, 40),
        ]),
        _ => None,
    }
}

/// Totals of the paper to the low-level network call: the library before CH4, CH4 as it is built by default, CH4 without checks of arguments
/// and threads and inlined into the program, and with all proposals of the paper.
pub(super) const fn published_totals(group: Group) -> &'static [(&'static str, u32)] {
    match group {
        Group::Isend => &[
            ("MPICH/CH3", 253),
            ("MPICH/CH4", 221),
            ("its best build for MPI-3.1", 59),
            ("with all proposals", 16),
        ],
        Group::Put => &[
            ("MPICH/CH3", 1342),
            ("MPICH/CH4", 217),
            ("its best build for MPI-3.1", 44),
        ],
        _ => &[],
    }
}

/// A library, and what its calls with 1 byte take in all between two ranks of a node, counted by callgrind in November 2026.
pub(super) struct Peer {
    pub(super) name: &'static str,
    isend: [u32; 2],
    irecv: u32,
    put: u32,
}

pub(super) const PEERS: [Peer; 3] = [
    peer("MPICH 5.0.2", [804, 1107], 846, 777),
    peer("Intel MPI 2021.18", [652, 741], 485, 310),
    peer("Open MPI 5.0.11", [551, 623], 391, 252),
];

const fn peer(name: &'static str, isend: [u32; 2], irecv: u32, put: u32) -> Peer {
    Peer {
        name,
        isend,
        irecv,
        put,
    }
}

impl Peer {
    /// The total of a call without promises, where it was counted.
    pub(super) const fn total(&self, group: Group, level: Level) -> Option<u32> {
        match (group, level) {
            (Group::Isend, Level::Single) => Some(self.isend[0]),
            (Group::Isend, Level::Multiple) => Some(self.isend[1]),
            (Group::Irecv, Level::Single) => Some(self.irecv),
            (Group::Put, Level::Single) => Some(self.put),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_published_totals() {
        let sum = |group| {
            published(group)
                .unwrap_or_default()
                .iter()
                .map(|part| part.1)
                .sum::<u32>()
        };
        assert_eq!((sum(Group::Isend), sum(Group::Put)), (221, 217));
    }
}
