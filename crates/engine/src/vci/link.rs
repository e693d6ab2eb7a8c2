// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of each peer beside its [`Link`]: the receiving end of the connection, and sends that wait for room.

use std::collections::VecDeque;

use fabric::ring::RingReceiver;

use super::cell::Cell;
use crate::datatype::SentSignature;
use crate::identity::LinkIndex;
use crate::request::RequestIndex;

pub(crate) use fabric::link::{Access, Link, Links};

/// A ring from a peer.
pub(crate) struct Incoming {
    pub(crate) ring: RingReceiver,
    /// The sender.
    pub(crate) peer: LinkIndex,
    /// Unexpected data held for this sender, in bytes.
    pub(crate) held_bytes: u64,
    pub(crate) throttled: bool,
    /// Whether receives have lately been posted before their messages arrived, and the points that decide it (`protocol`).
    pub(crate) prompt: bool,
    pub(crate) points: u8,
    /// Bytes of the injected messages that found their receive posted.
    pub(crate) injected_bytes: u64,
    /// Id of the receive that gets the early chunks of the last RTS with data; 0 for none.
    pub(crate) early: u64,
    /// The message whose chunks are arriving.
    pub(crate) arriving: Option<Arriving>,
    /// Type signature of the next message, where types are checked.
    pub(crate) signature: Option<Box<SentSignature>>,
}

impl Incoming {
    /// The receiving end of a new connection from `peer`.
    pub(crate) const fn new(peer: LinkIndex, ring: RingReceiver) -> Self {
        Self {
            ring,
            peer,
            held_bytes: 0,
            throttled: false,
            prompt: false,
            points: 0,
            injected_bytes: 0,
            early: 0,
            arriving: None,
            signature: None,
        }
    }
}

/// A message of which some chunks have arrived.
pub(crate) struct Arriving {
    /// The receive it goes to, or the unexpected message.
    pub(crate) index: RequestIndex,
    /// Bytes still to come.
    pub(crate) rest: usize,
}

/// A send or control message that waits behind a full ring.
pub(crate) enum Queued {
    /// A send that has not been transmitted.
    Send(RequestIndex),
    /// A control message.
    Cell(Box<Cell>),
}

/// Everything that waits for room towards one peer.
pub(crate) struct Backlog {
    pub(crate) peer: LinkIndex,
    pub(crate) queue: VecDeque<Queued>,
}

/// The sends to one peer that go in chunks, in the order of its CTS messages.
pub(crate) struct Streams {
    pub(crate) peer: LinkIndex,
    pub(crate) queue: VecDeque<RequestIndex>,
}

/// Bytes that a rank sends or takes in before it changes to the other, while it does both: less data then lie in the caches of both
/// sides than when each first fills all blocks and then empties all of them.
pub(crate) const QUANTUM_BYTES: usize = 64 << 10;
