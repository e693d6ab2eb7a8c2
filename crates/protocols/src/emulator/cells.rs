// SPDX-License-Identifier: MIT OR Apache-2.0
//! What travels between emulated ranks.

use crate::names::{Key, ReceiveId, SendId};

/// A cell from a sender to a receiver.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Cell {
    /// RTS.
    Rts {
        /// The send.
        send: SendId,
        /// Its key.
        key: Key,
        /// Its length.
        bytes: u64,
        /// RTRs that the sender had handled, where a wrong rule asks.
        handled: Option<u64>,
    },
    /// A message with its data.
    Eager {
        /// The send.
        send: SendId,
        /// Its key.
        key: Key,
        /// Its length.
        bytes: u64,
        /// Whether the sender waits for the match.
        is_synchronous: bool,
    },
    /// The sender writes into an offered receive.
    Taken {
        /// The receive.
        receive: ReceiveId,
        /// The message's length.
        bytes: u64,
    },
    /// The sender has written into an offered receive.
    Landed {
        /// The receive.
        receive: ReceiveId,
        /// The message's length.
        bytes: u64,
    },
    /// All chunks of a message.
    Chunks {
        /// The receive.
        receive: ReceiveId,
        /// The send.
        send: SendId,
        /// The message's length.
        bytes: u64,
    },
}

/// A claim word in memory that both ranks share, and its generation when the receive was offered.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Claim {
    /// Which word of those that the receiver has for the sender.
    pub index: usize,
    /// What the sender compares.
    pub generation: u32,
}

/// Memory of a receive that is open for the writes of its sender: how often that receive has opened it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Region(pub u8);

/// A cell from a receiver to a sender.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Back {
    /// RTR.
    Rtr {
        /// The receive.
        receive: ReceiveId,
        /// Its key.
        key: Key,
        /// Bytes that it holds.
        capacity: u64,
        /// See [`crate::Offer::number`].
        number: u64,
        /// Its claim word, if the variant has any.
        claim: Option<Claim>,
        /// Cells of the sender that the receiver has consumed.
        consumed: u64,
        /// The memory that is open for it, if memory has to be opened.
        region: Option<Region>,
    },
    /// CTS.
    Cts {
        /// The send.
        send: SendId,
        /// The receive.
        receive: ReceiveId,
        /// Bytes that it holds.
        capacity: u64,
        /// The memory that is open for it, if memory has to be opened.
        region: Option<Region>,
    },
    /// FIN, or the acknowledgement of an eager message.
    Fin {
        /// The send.
        send: SendId,
    },
}

impl Cell {
    /// Its name in tables and time lines.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Rts { .. } => "RTS",
            Self::Eager { .. } => "EAGER",
            Self::Taken { .. } => "TAKEN",
            Self::Landed { .. } => "LANDED",
            Self::Chunks { .. } => "CHUNKS",
        }
    }

    /// The key, if a receive must be found for it.
    pub const fn key(&self) -> Option<Key> {
        match *self {
            Self::Rts { key, .. } | Self::Eager { key, .. } => Some(key),
            _ => None,
        }
    }
}

impl Back {
    /// A cell's words, for time lines.
    pub(super) fn fields(&self) -> String {
        match *self {
            Self::Rtr {
                receive,
                key,
                capacity,
                number,
                claim,
                consumed,
                region,
            } => {
                let extra = match claim {
                    Some(claim) => format!(
                        ", claim {}.{}, consumed {consumed}",
                        claim.index, claim.generation
                    ),
                    None if region.is_some() => format!(", consumed {consumed}"),
                    None => format!(", number {number}"),
                };
                format!(
                    "receive {}, tag {}, capacity {capacity}{extra}",
                    receive.0,
                    key.tag()
                )
            }
            Self::Cts {
                send,
                receive,
                capacity,
                ..
            } => format!(
                "send {}, receive {}, capacity {capacity}",
                send.0, receive.0
            ),
            Self::Fin { send } => format!("send {}", send.0),
        }
    }

    /// Its name in tables and time lines.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Rtr { .. } => "RTR",
            Self::Cts { .. } => "CTS",
            Self::Fin { .. } => "FIN",
        }
    }
}
