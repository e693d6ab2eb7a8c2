// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to a sender, and what it must do.

use crate::names::{Key, ReceiveId, SendId};

/// How a message travels.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// With its data at once; complete on return.
    Eager,
    /// With its data at once; complete when it is matched (`MPI_Ssend`).
    EagerSynchronous,
    /// By rendezvous.
    Long,
}

/// An RTR: a receive that the sender may write into.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Offer {
    /// The receive, as its owner calls it.
    pub receive: ReceiveId,
    /// Its key; with [`Key::ANY_TAG`] where the variant allows.
    pub key: Key,
    /// Bytes that it holds.
    pub capacity: u64,
    /// [`crate::Stale::Ticket`]: its number among the receives of its key; [`crate::Stale::Counter`]: receives before it that sent nothing;
    /// [`crate::Stale::Log`]: cells of the sender that its receiver had consumed.
    pub number: u64,
}

/// What happens to a sender.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum SendEvent {
    /// A send begins.
    Posted {
        /// The send.
        send: SendId,
        /// Its key, without wildcards.
        key: Key,
        /// Its length.
        bytes: u64,
        /// How it travels.
        kind: Kind,
        /// Whether an earlier own message of the key may be unconsumed; [`crate::Stale::Log`]: may have left since the offer of
        /// [`SendSide::offered_at`](crate::SendSide::offered_at).
        is_blocked: bool,
    },
    /// An RTR arrived.
    Rtr {
        /// What it says.
        offer: Offer,
        /// Whether a message of the key before the oldest open RTS may be unconsumed.
        is_blocked: bool,
    },
    /// The claim word of an offer was tried.
    Claimed {
        /// The send that tried.
        send: SendId,
        /// Whether the receive is this send's.
        is_won: bool,
        /// Whether the copy takes so long that the receive must be told first.
        in_parts: bool,
    },
    /// A write goes on after this event, so later messages may leave before its end ([`crate::Stale::Log`]).
    Begun {
        /// The send.
        send: SendId,
    },
    /// The data of a write are in the receive.
    Written {
        /// The send.
        send: SendId,
    },
    /// The fabric refused to write.
    Refused {
        /// The send.
        send: SendId,
    },
    /// All chunks are in the ring.
    Pushed {
        /// The send.
        send: SendId,
    },
    /// A CTS arrived.
    Cts {
        /// The send that it names.
        send: SendId,
        /// The receive that waits.
        receive: ReceiveId,
        /// Bytes that it holds.
        capacity: u64,
    },
    /// A FIN (of an eager message: an acknowledgement) arrived.
    Fin {
        /// The send that it names.
        send: SendId,
    },
    /// The user cancels a send.
    Recalled {
        /// The send.
        send: SendId,
    },
    /// The receiver died.
    PeerLost,
}

/// What a sender must do.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum SendAction {
    /// Send the RTS of a send.
    SendRts {
        /// The send.
        send: SendId,
    },
    /// Send an eager message.
    SendEager {
        /// The send.
        send: SendId,
        /// Whether it is a synchronous send that waits for its match.
        is_synchronous: bool,
    },
    /// Try the claim word of an offer, then report [`SendEvent::Claimed`].
    Claim {
        /// The send.
        send: SendId,
        /// The offered receive.
        receive: ReceiveId,
    },
    /// Send TAKEN: the receive is this message's, the data follow.
    SendTaken {
        /// The send.
        send: SendId,
        /// The receive.
        receive: ReceiveId,
        /// Bytes of the whole message.
        bytes: u64,
    },
    /// Copy into the receive's memory, then report [`SendEvent::Written`] or [`SendEvent::Refused`]. On a fabric that is not ordered the
    /// notification follows the data: the message's bytes and `rts_sent`.
    Write {
        /// The send.
        send: SendId,
        /// The receive.
        receive: ReceiveId,
        /// Bytes to copy.
        bytes: u64,
        /// Whether the receiver gets an RTS for this message, too.
        rts_sent: bool,
    },
    /// Send LANDED: the data are in the receive.
    SendLanded {
        /// The send.
        send: SendId,
        /// The receive.
        receive: ReceiveId,
        /// Bytes of the whole message.
        bytes: u64,
    },
    /// Send the data as chunks for the receive, then report [`SendEvent::Pushed`].
    Push {
        /// The send.
        send: SendId,
        /// The receive.
        receive: ReceiveId,
    },
    /// The send is complete.
    Complete {
        /// The send.
        send: SendId,
    },
    /// The send fails, because the receiver died.
    Fail {
        /// The send.
        send: SendId,
    },
    /// The receiver broke the protocol.
    Fault {
        /// What it did.
        reason: &'static str,
    },
}
