// SPDX-License-Identifier: MIT OR Apache-2.0
//! One peer on another node: a VCI of a process there that a VCI of this process talks to.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use super::Network;
use super::card::Card;
use crate::identity::{PeerIndex, VciIndex};
use crate::ring::{Feedback, MirrorSource, MirrorTarget};

/// The entrance of a link to the network: a link that has published a cell rings here.
pub struct Doorway {
    network: *const Network,
    context: u8,
    peer: usize,
}

impl Doorway {
    pub(super) const fn new(network: *const Network, context: u8, peer: usize) -> Self {
        Self {
            network,
            context,
            peer,
        }
    }

    pub(super) const fn network(&self) -> *const Network {
        self.network
    }

    pub(super) const fn context(&self) -> u8 {
        self.context
    }

    pub(super) const fn peer(&self) -> usize {
        self.peer
    }
}

/// What tells peers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerKey {
    /// The process on another node.
    pub process: PeerIndex,
    /// Its VCI.
    pub there: VciIndex,
    /// The VCI of this process.
    pub here: VciIndex,
}

/// A process on another node.
pub(super) struct RemoteProcess {
    /// The name of its node.
    pub(super) host: String,
    /// What it has published.
    pub(super) card: Card,
    /// The tokens of frames to it and from it.
    pub(super) token_out: u64,
    pub(super) token_in: u64,
}

impl RemoteProcess {
    /// The number of the context that a VCI of it uses.
    pub(super) const fn context_of(&self, vci: VciIndex) -> u8 {
        vci.get() % self.card.contexts
    }
}

/// Zero-copy payload: the network sends it out of the memory of the program instead of the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZeroCopy {
    /// Its location in the ring, which stays empty there.
    pub(super) location: u64,
    pub(super) start: NonNull<u8>,
    pub(super) bytes: usize,
    /// Names it when the network reports that it has left.
    pub(super) token: u64,
}

/// A peer.
pub(super) struct Peer {
    pub(super) key: PeerKey,
    pub(super) process: Arc<RemoteProcess>,
    /// The number of its context in the address vector of the one here; `None` until its address has come.
    pub(super) to: Option<u64>,
    /// The ring to it.
    pub(super) out: Option<MirrorSource>,
    /// Payload of cells in it that lies in the memory of the program, in their order.
    pub(super) zero_copy: VecDeque<ZeroCopy>,
    /// The registration of that ring's memory.
    pub(super) out_desc: *mut c_void,
    /// The ring from it.
    pub(super) into: Option<MirrorTarget>,
    /// Bytes of puts to it that it has not acknowledged, of those that it acknowledges.
    pub(super) put_bytes: usize,
    /// Numbers of the next frames.
    pub(super) sequence_out: u32,
    pub(super) sequence_in: u32,
    /// Frames that came before their turn, by their numbers.
    pub(super) ahead: HashMap<u32, Box<[u8]>>,
    /// The line of the ring from it as this rank has sent it last.
    pub(super) told: Feedback,
    /// Whether it waits in the list of those to whom something is to be sent.
    pub(super) is_pending: bool,
    /// Whether it has to be told of room.
    pub(super) owes_feedback: bool,
    /// Whether cells went or came since the last farewell.
    pub(super) is_active: bool,
    /// Farewells sent and received.
    pub(super) farewells_out: u32,
    pub(super) farewells_in: u32,
    /// Whether farewells are being exchanged.
    pub(super) is_leaving: bool,
    /// Whether a farewell is to be sent.
    pub(super) owes_farewell: bool,
    /// Whether it is gone: nothing more is sent.
    pub(super) is_gone: bool,
    /// The link's entrance, which has a fixed address.
    pub(super) doorway: Box<Doorway>,
}

impl Peer {
    /// The frame that is due, if it has come before its turn.
    pub(super) fn next_kept(&mut self) -> Option<Box<[u8]>> {
        match self.ahead.is_empty() {
            true => None,
            false => self.ahead.remove(&self.sequence_in),
        }
    }
}

// SAFETY: the pointers are used under the lock of the context.
#[expect(unsafe_code, reason = "a link knows its network")]
unsafe impl Send for Peer {}
