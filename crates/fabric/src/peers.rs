// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a VCI numbers its peers, which are VCIs of the job's processes.
//!
//! The peer with the same VCI index has the number of its process, so that most communicators need no more than world ranks. Those with an
//! index that is larger by `d`, modulo the number of indices, follow `d` times the number of processes later.

use crate::board::MOST_VCIS;

/// The numbers of the peers of one VCI.
#[derive(Clone, Copy, Debug)]
pub struct Peers {
    processes: u32,
    vci: u8,
}

impl Peers {
    /// The peers of a VCI among those of so many processes, at least one.
    pub const fn new(processes: u32, vci: u8) -> Self {
        Self { processes, vci }
    }

    /// How many there are.
    pub const fn count(self) -> u32 {
        self.processes * MOST_VCIS as u32
    }

    /// The number of a VCI of a process.
    pub const fn number(self, process: u32, vci: u8) -> u32 {
        let distance = (vci as u32 + MOST_VCIS as u32 - self.vci as u32) % MOST_VCIS as u32;
        process + distance * self.processes
    }

    /// The world rank of a peer's process.
    pub const fn process(self, peer: u32) -> u32 {
        peer % self.processes
    }

    /// The VCI of a peer.
    pub const fn vci(self, peer: u32) -> u8 {
        ((self.vci as u32 + peer / self.processes) % MOST_VCIS as u32) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_one_number_and_equal_vcis_that_of_the_process() {
        for vci in [0, 1, 63] {
            let peers = Peers::new(5, vci);
            let mut numbers: Vec<u32> = Vec::new();
            for process in 0..5 {
                assert_eq!(peers.number(process, vci), process);
                for other in 0..MOST_VCIS as u8 {
                    let number = peers.number(process, other);
                    assert_eq!((peers.process(number), peers.vci(number)), (process, other));
                    numbers.push(number);
                }
            }
            numbers.sort_unstable();
            assert_eq!(numbers, (0..peers.count()).collect::<Vec<_>>());
        }
    }
}
