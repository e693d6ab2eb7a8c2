// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transport of a job of several nodes: rings in the node segment to ranks of this node, a network to the others.

// account: fabric

use std::io;
use std::sync::Arc;

use sys::clock;

use super::Shm;
use super::connection::{Bell, Connection};
use crate::identity::{LinkIndex, PeerIndex, VciIndex};
use crate::network::{ContextsInUse, Network, PeerKey};
use crate::peers::Peers;
use crate::ring::RingReceiver;
use crate::segment::Segment;

/// Ticks of the processor's clock between two polls of a network that was quiet lately: about a microsecond.
const QUIET_TICKS: u64 = 2500;
/// Rounds that a network is polled each time after something arrived.
const BUSY_ROUNDS: u32 = 256;
/// Polls of a VCI of which one is a poll of context 0, too, where requests for addresses arrive, and of one that no thread attends to.
const POLLS_OF_OTHERS: u32 = 16;

/// Rings of a VCI, and the network of its process.
pub struct Nodes {
    shm: Shm,
    peers: Peers,
    vci: VciIndex,
    segment: Arc<Segment>,
    network: Arc<Network>,
    /// When the last poll was, and rounds for which polls follow each other.
    polled: u64,
    busy: u32,
    /// Polls so far; wraps.
    polls: u32,
    /// Whether the last poll has lent payload to a ring.
    is_lent: bool,
    /// What polls have found and nobody has taken.
    accepted: Vec<(LinkIndex, RingReceiver)>,
    ended_puts: Vec<u64>,
    outsiders: u64,
    /// Failures of the network that this VCI has been told of.
    told: usize,
}

impl Nodes {
    /// The transport of a VCI that has these rings and this network.
    pub fn new(segment: Arc<Segment>, vci: VciIndex, shm: Shm, network: Arc<Network>) -> Self {
        Self {
            peers: shm.peers(),
            vci,
            shm,
            segment,
            network,
            polled: 0,
            busy: 0,
            polls: 0,
            is_lent: false,
            accepted: Vec::new(),
            ended_puts: Vec::new(),
            outsiders: 0,
            told: 0,
        }
    }

    /// The network behind it.
    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    pub(super) fn contexts_in_use(&self) -> ContextsInUse {
        self.network.contexts_in_use()
    }

    pub(super) fn vcis_of(&self, process: PeerIndex) -> io::Result<u32> {
        self.network.vcis_of(process)
    }

    /// The peer that a link leads to, if it is on another node.
    fn remote(&self, peer: LinkIndex) -> Option<PeerKey> {
        let process = self.peers.process(peer);
        (!self.segment.is_here(process)).then(|| PeerKey {
            process,
            there: self.peers.vci(peer),
            here: self.vci,
        })
    }

    pub(super) fn connect(&self, peer: LinkIndex) -> io::Result<Connection> {
        let Some(key) = self.remote(peer) else {
            return self.shm.connect(peer);
        };
        let (sender, doorway) = self.network.connect(key)?;
        Ok(Connection {
            sender,
            bell: Bell::Network(doorway),
        })
    }

    #[inline]
    pub(super) fn needs_attention(&mut self) -> bool {
        self.shm.has_new_rings() || self.is_due()
    }

    /// Whether the network is to be polled in this round of progress.
    #[inline]
    fn is_due(&mut self) -> bool {
        if self.busy > 0 {
            self.busy -= 1;
            return true;
        }
        let now = clock::ticks();
        let is_due = now.wrapping_sub(self.polled) >= QUIET_TICKS;
        if is_due {
            self.polled = now;
        }
        is_due
    }

    pub(super) fn poll(&mut self) -> io::Result<()> {
        self.polls = self.polls.wrapping_add(1);
        let with_others = self.polls.is_multiple_of(POLLS_OF_OTHERS);
        let found = self.network.poll(self.vci, self.told, with_others);
        self.is_lent = found.is_lent;
        if found.events != 0 {
            self.busy = BUSY_ROUNDS;
        }
        let peers = self.peers;
        let link = |(key, ring): (PeerKey, _)| (peers.link(key.process, key.there), ring);
        self.accepted.extend(found.accepted.into_iter().map(link));
        self.ended_puts.extend(found.ended_puts);
        self.outsiders += found.outsiders;
        self.told += found.faults.len();
        match found.faults.into_iter().next() {
            Some(fault) => Err(fault.into()),
            None => Ok(()),
        }
    }

    /// The rings have been read since the last poll.
    pub(super) fn end_round(&mut self) {
        if std::mem::take(&mut self.is_lent) {
            self.network.take_back(self.vci);
        }
    }

    pub(super) fn accept(&mut self) -> io::Result<Vec<(LinkIndex, RingReceiver)>> {
        let mut found = self.shm.accept()?;
        found.append(&mut self.accepted);
        Ok(found)
    }

    pub(super) fn wake(&mut self, peer: LinkIndex) {
        match self.remote(peer) {
            None => self.shm.wake(peer),
            Some(key) => self.network.tell_of_room(key),
        }
    }

    /// The network and the peer, if peers are put to.
    pub(super) fn putting(&self, peer: LinkIndex) -> Option<(&Network, PeerKey)> {
        let key = self.remote(peer)?;
        self.network.can_put().then_some((&*self.network, key))
    }

    pub(super) fn close_memory(&self, number: u32) {
        self.network.close_memory(self.vci, number);
    }

    pub(super) fn is_putting(&self, token: u64) -> bool {
        self.ended_puts.contains(&token) || self.network.is_putting(self.vci, token)
    }

    pub(super) fn ended_puts(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.ended_puts)
    }

    pub(super) const fn take_outsiders(&mut self) -> u64 {
        std::mem::replace(&mut self.outsiders, 0)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.network.is_finished()
    }
}
