// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a VCI numbers its links, which lead to VCIs of the job's processes.
//!
//! The link to the same VCI index has the number of the process, so that most communicators need no more than world ranks. Those with an
//! index that is larger by `d`, modulo the number of indices, follow `d` times the capacity of the job later: the number of processes that
//! it has room for, so that a process that is added changes no number.

// account: caller

use crate::identity::{LinkIndex, MOST_VCIS, PeerIndex, VciIndex};

/// The numbers of the links of one VCI.
#[derive(Clone, Copy, Debug)]
pub struct Peers {
    capacity: u32,
    vci: VciIndex,
}

impl Peers {
    /// The peers of a VCI in a job that has room for so many processes, at least one.
    pub const fn new(capacity: u32, vci: VciIndex) -> Self {
        Self { capacity, vci }
    }

    /// How many there can be.
    pub const fn count(self) -> u32 {
        self.capacity * MOST_VCIS as u32
    }

    /// How many processes the job has room for.
    pub const fn capacity(self) -> u32 {
        self.capacity
    }

    /// The link to a VCI of a process.
    pub const fn link(self, process: PeerIndex, vci: VciIndex) -> LinkIndex {
        let distance =
            (vci.get() as u32 + MOST_VCIS as u32 - self.vci.get() as u32) % MOST_VCIS as u32;
        LinkIndex::new(process.get() + distance * self.capacity)
    }

    /// The link to the same VCI of a process.
    pub const fn same_vci(self, process: PeerIndex) -> LinkIndex {
        LinkIndex::new(process.get())
    }

    /// The process that a link leads to.
    pub const fn process(self, link: LinkIndex) -> PeerIndex {
        link.process(self.capacity)
    }

    /// The VCI that a link leads to.
    pub const fn vci(self, link: LinkIndex) -> VciIndex {
        VciIndex::of_bits(self.vci.get() as u32 + link.get() / self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_one_number_and_equal_vcis_that_of_the_process() {
        for vci in [0, 1, 63].map(VciIndex::of_bits) {
            let peers = Peers::new(5, vci);
            let mut links: Vec<LinkIndex> = Vec::new();
            for process in (0..5).map(PeerIndex::new) {
                assert_eq!(peers.link(process, vci).get(), process.get());
                for other in VciIndex::all() {
                    let link = peers.link(process, other);
                    assert_eq!((peers.process(link), peers.vci(link)), (process, other));
                    links.push(link);
                }
            }
            links.sort_unstable();
            let all: Vec<_> = (0..peers.count()).map(LinkIndex::new).collect();
            assert_eq!(links, all);
        }
    }
}
