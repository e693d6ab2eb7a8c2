// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to a receiver, and what it must do.

use crate::names::{Key, ReceiveId, SendId, Source};

/// A receive in the queue of the driver, as [`super::ReceiveSide::may_offer`] sees it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct PostedReceive {
    /// Its id.
    pub receive: ReceiveId,
    /// The sender that it names, or `None` for any.
    pub source: Option<Source>,
    /// Its key, perhaps with any tag.
    pub key: Key,
    /// Whether its capacity exceeds the eager limit.
    pub is_long: bool,
}

/// What happens to a receiver.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ReceiveEvent {
    /// A receive waits in the queue and may be offered.
    Posted {
        /// The receive.
        receive: ReceiveId,
        /// The sender that it names.
        source: Source,
        /// Its key.
        key: Key,
        /// Bytes that it holds.
        capacity: u64,
        /// Whether its capacity exceeds the eager limit.
        is_long: bool,
    },
    /// A receive and an RTS met; the driver has taken both out of its queues.
    Rts {
        /// The receive.
        receive: ReceiveId,
        /// Bytes that the receive holds.
        capacity: u64,
        /// The sender.
        source: Source,
        /// Its send.
        send: SendId,
        /// The message's key.
        key: Key,
        /// The message's length.
        bytes: u64,
    },
    /// A receive and an eager message met; the driver has taken both out of its queues.
    Eager {
        /// The receive.
        receive: ReceiveId,
        /// The sender.
        source: Source,
        /// Its send.
        send: SendId,
        /// The message's key.
        key: Key,
        /// The message's length.
        bytes: u64,
        /// Whether the sender waits for the match.
        is_synchronous: bool,
    },
    /// A TAKEN cell: the sender writes into an offered receive.
    Taken {
        /// The sender.
        source: Source,
        /// The receive.
        receive: ReceiveId,
        /// The message's length.
        bytes: u64,
    },
    /// A LANDED cell: the sender has written into an offered receive.
    Landed {
        /// The sender.
        source: Source,
        /// The receive.
        receive: ReceiveId,
        /// The message's length.
        bytes: u64,
    },
    /// The notification behind the data of a write.
    Notified {
        /// The receive.
        receive: ReceiveId,
        /// The message's length.
        bytes: u64,
        /// Whether the sender has sent an RTS for the message, too.
        rts_sent: bool,
    },
    /// The outcome of revoking an RTR.
    Revoked {
        /// The receive.
        receive: ReceiveId,
        /// Whether the sender can no longer claim it.
        is_won: bool,
    },
    /// A read ended.
    Read {
        /// The receive.
        receive: ReceiveId,
        /// Whether the data are here; if not, nothing of the receive was overwritten that a second try would not write.
        is_done: bool,
    },
    /// All chunks of a message are here.
    ChunksDone {
        /// The receive.
        receive: ReceiveId,
    },
    /// The user cancels a receive that is in the queue.
    Cancel {
        /// The receive.
        receive: ReceiveId,
    },
    /// A sender died.
    PeerLost {
        /// The sender.
        source: Source,
    },
}

/// What a receiver must do.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ReceiveAction {
    /// Send an RTR. [`crate::Stale::Claim`]: set the receive's claim word first.
    SendRtr {
        /// The sender that gets it.
        source: Source,
        /// The receive.
        receive: ReceiveId,
        /// Its key.
        key: Key,
        /// Bytes that it holds.
        capacity: u64,
        /// See [`crate::Offer::number`].
        number: u64,
    },
    /// Try to revoke the RTR by its claim word, then report [`ReceiveEvent::Revoked`].
    Revoke {
        /// The receive.
        receive: ReceiveId,
    },
    /// Take a receive out of the queue: a message of so many bytes is its own.
    Unlink {
        /// The receive.
        receive: ReceiveId,
        /// The message's length.
        bytes: u64,
    },
    /// Read a message's data, then report [`ReceiveEvent::Read`].
    Read {
        /// The receive.
        receive: ReceiveId,
        /// The sender.
        source: Source,
        /// Its send.
        send: SendId,
        /// Bytes to read: what the receive holds at most.
        bytes: u64,
    },
    /// Send a CTS; the data come as chunks or by a write.
    SendCts {
        /// The sender.
        source: Source,
        /// Its send.
        send: SendId,
        /// The receive.
        receive: ReceiveId,
        /// Bytes that it holds.
        capacity: u64,
    },
    /// Send a FIN, or an acknowledgement of an eager message.
    SendFin {
        /// The sender.
        source: Source,
        /// Its send.
        send: SendId,
    },
    /// Copy an eager message into its receive.
    Deliver {
        /// The receive.
        receive: ReceiveId,
    },
    /// The receive is complete. Where `bytes` exceed its capacity, the message was truncated.
    Complete {
        /// The receive.
        receive: ReceiveId,
        /// The message's length.
        bytes: u64,
    },
    /// The receive is cancelled: take it out of the queue.
    Cancelled {
        /// The receive.
        receive: ReceiveId,
    },
    /// It cannot be cancelled any more: it completes soon.
    TooLate {
        /// The receive.
        receive: ReceiveId,
    },
    /// The receive fails, because its sender died.
    Fail {
        /// The receive.
        receive: ReceiveId,
    },
    /// The sender broke the protocol.
    Fault {
        /// The sender.
        source: Source,
        /// What it did.
        reason: &'static str,
    },
}
