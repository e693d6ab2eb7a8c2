// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transport of a job of several nodes: rings in the node segment to ranks of this node, a network to the others.
#![expect(unsafe_code, reason = "links lead back to the network")]

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use super::Shm;
use super::connection::{Bell, Connection};
use crate::identity::{LinkIndex, PeerIndex};
use crate::network::Net;
use crate::peers::Peers;
use crate::ring::RingReceiver;
use crate::segment::Segment;

/// Rings and a network.
pub struct Nodes {
    shm: Shm,
    peers: Peers,
    segment: Arc<Segment>,
    /// Owned. A pointer, because links use it, too; never while a method of this type runs, since both need the VCI's state.
    net: NonNull<Net>,
}

// SAFETY: the network is owned, and used under the lock of the VCI.
unsafe impl Send for Nodes {}

impl Drop for Nodes {
    fn drop(&mut self) {
        // SAFETY: from a box (`new`); links end before their transport.
        drop(unsafe { Box::from_raw(self.net.as_ptr()) });
    }
}

impl Nodes {
    /// The transport of a VCI that has these rings and this network.
    pub fn new(segment: Arc<Segment>, shm: Shm, net: Box<Net>) -> Self {
        Self {
            peers: shm.peers(),
            shm,
            segment,
            net: NonNull::from(Box::leak(net)),
        }
    }

    fn net(&mut self) -> &mut Net {
        // SAFETY: owned, and no other reference is in use (see the field).
        unsafe { self.net.as_mut() }
    }

    pub(super) const fn net_ref(&self) -> &Net {
        // SAFETY: as for `net`.
        unsafe { self.net.as_ref() }
    }

    pub(super) fn can_put(&self) -> bool {
        self.net_ref().can_put()
    }

    pub(super) fn connect(&self, peer: LinkIndex) -> io::Result<Connection> {
        let process = self.peers.process(peer);
        if self.segment.is_here(process) {
            return self.shm.connect(peer);
        }
        if peer != self.peers.same_vci(process) {
            return self.shm.connect(peer);
        }
        // SAFETY: the network stays where it is until drop, and the VCI's lock is held.
        let (sender, doorway) = unsafe { Net::connect(self.net, process) }?;
        Ok(Connection {
            sender,
            bell: Bell::Network(doorway),
        })
    }

    #[inline]
    pub(super) fn needs_attention(&mut self) -> bool {
        self.shm.has_new_rings() || self.net().is_due()
    }

    pub(super) fn poll(&mut self) -> io::Result<()> {
        self.net().poll().map(drop)
    }

    pub(super) fn accept(&mut self) -> io::Result<Vec<(LinkIndex, RingReceiver)>> {
        let mut found = self.shm.accept()?;
        let accepted = self.net().accept();
        let peers = self.peers;
        found.extend(
            accepted
                .into_iter()
                .map(|(process, ring)| (peers.same_vci(process), ring)),
        );
        Ok(found)
    }

    pub(super) fn wake(&mut self, peer: LinkIndex) {
        let process = self.peers.process(peer);
        if self.segment.is_here(process) {
            self.shm.wake(peer);
        } else {
            self.net().tell_of_room(process);
        }
    }

    /// The network and the peer's process, if peers are put to.
    pub(super) fn putting(&mut self, peer: LinkIndex) -> Option<(&mut Net, PeerIndex)> {
        let process = self.peers.process(peer);
        let is_far = !self.segment.is_here(process);
        let net = self.net();
        (is_far && net.can_put()).then_some((net, process))
    }

    pub(super) fn close_memory(&mut self, number: u32) {
        self.net().close_memory(number);
    }

    pub(super) fn ended_puts(&mut self) -> Vec<u64> {
        self.net().ended_puts()
    }

    pub(super) fn is_finished(&mut self) -> bool {
        self.net().is_finished()
    }
}
