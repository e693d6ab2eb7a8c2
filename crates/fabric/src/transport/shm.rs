// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transport between ranks of one node: rings in the node segment, found through each rank's list of rings.

// account: fabric

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use sys::sync::{AtomicU64, Ordering};

use super::connection::{Bell, Connection};
use crate::directory::RingKey;
use crate::identity::{LinkIndex, PeerIndex, VciIndex};
use crate::peers::Peers;
use crate::ring::{RingReceiver, RingSender};
use crate::segment::Segment;

/// Rings in the node segment.
pub struct Shm {
    segment: Arc<Segment>,
    me: PeerIndex,
    /// The VCI that this transport belongs to.
    vci: VciIndex,
    /// Offset of the newest ring towards this VCI, in its board.
    head: NonNull<AtomicU64>,
    /// The newest ring that has been accepted.
    accepted: u64,
}

// SAFETY: `head` points into the board that `segment` keeps mapped; it is atomic.
unsafe impl Send for Shm {}

impl Shm {
    /// The transport of a VCI of world rank `me`.
    ///
    /// # Panics
    /// When there is no such rank or VCI.
    pub fn new(segment: Arc<Segment>, me: PeerIndex, vci: VciIndex) -> Self {
        let head = NonNull::from(&segment.vci_board(me, vci).newest_ring);
        Self {
            segment,
            me,
            vci,
            head,
            accepted: 0,
        }
    }

    // TIER: short
    #[inline(always)]
    pub(super) fn has_new_rings(&self) -> bool {
        // SAFETY: points into this rank's board, which `segment` keeps mapped.
        unsafe { self.head.as_ref() }.load(Ordering::Relaxed) != self.accepted
    }

    pub(super) fn peers(&self) -> Peers {
        Peers::new(self.segment.job().capacity, self.vci)
    }

    pub(super) fn connect(&self, peer: LinkIndex) -> io::Result<Connection> {
        let (process, vci) = (self.peers().process(peer), self.peers().vci(peer));
        if !self.segment.is_here(process) {
            let (host, here) = (self.segment.host(self.segment.node_of(process)), self.vci);
            return Err(io::Error::other(format!(
                "VCI {vci} of rank {process} is on host {host}, to which only the first VCIs are connected, not VCI {here}"
            )));
        }
        let (ring, view) = self.segment.make_ring()?;
        let sender = RingSender::new(view);
        let key = RingKey {
            source: self.me,
            source_vci: self.vci,
            target_vci: vci,
        };
        self.segment.publish_ring(process, ring, key);
        let fences = self.segment.sender_fences().load(Ordering::Relaxed) != 0;
        let board = self.segment.board(process);
        // The peer may sleep without this ring on its list.
        board.ring(vci, fences);
        Ok(Connection {
            sender,
            bell: Bell::Board {
                board: NonNull::from(board),
                vci,
                fences,
            },
        })
    }

    pub(super) fn accept(&mut self) -> io::Result<Vec<(LinkIndex, RingReceiver)>> {
        let (newest, rings) = self.segment.rings_since(self.me, self.vci, self.accepted)?;
        self.accepted = newest;
        let peers = self.peers();
        let receiver = |(key, view): (RingKey, _)| {
            let peer = peers.link(key.source, key.source_vci);
            (peer, RingReceiver::new(view))
        };
        Ok(rings.into_iter().map(receiver).collect())
    }

    pub(super) fn wake(&self, peer: LinkIndex) {
        let fences = self.segment.sender_fences().load(Ordering::Relaxed) != 0;
        let (process, vci) = (self.peers().process(peer), self.peers().vci(peer));
        self.segment.board(process).ring(vci, fences);
    }
}
