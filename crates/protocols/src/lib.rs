// SPDX-License-Identifier: MIT OR Apache-2.0
//! Protocols of long messages: who starts a message, who copies it, what it costs. No clock, no memory, no operating system.
//!
//! A [`Variant`] is a row of a table ([`Columns`]), after "Design and Implementation of a Write-based version of Exanet MPI"
//! (M. Nikoloudakis, University of Crete, 2022), whose variants are `read`, `write1`, `write2`, `write3c`, `write3` and
//! `optimistic`; `pieces` and `write` are Rankpoint's. Two state machines run all rows: [`SendSide`], one for each receiver of a
//! process, and [`ReceiveSide`], one for all its senders. Each takes an event and says what to do. The drivers own everything else:
//! queues of matching, cells, claim words, copies. How to drive them stands at the head of the two modules.
//!
//! # Names
//! RTS announces a message, CTS answers it with a receive, FIN says that the receiver has all it wants; RTR announces a receive
//! (an *offer*). TAKEN says that the sender writes into an offered receive, LANDED that it has. The publication calls TAKEN
//! "Env", FIN "Ack" and an eager message "Env+D".
//!
//! # Life of an offered receive ([`Variant::Write`])
//! 1. The receiver posts it; no receive before it could take the same message, other than offered ones of its key. It sets the
//!    claim word and sends RTR.
//! 2. A long send of the key finds the RTR. No message of the key is on its way, so the receive can get no other message first.
//!    The sender claims it, copies, and sends LANDED.
//! 3. Or the RTS of the send was out when the RTR arrived. If nothing of the key was on its way before the RTS, the sender claims the
//!    receive for it; else the RTS is closed: the receiver serves it.
//! 4. Or the receiver revokes the RTR, because it gives the receive another message or cancels it. Claim and revocation are one
//!    compare-exchange each on the same word, so exactly one of them wins.

mod choice;
pub mod cost;
mod eager;
#[cfg(any(test, feature = "lab"))]
pub mod emulator;
mod flaw;
mod names;
mod receiver;
mod sender;
mod variant;

pub use choice::{
    FETCHES, Facts, Fetch, FetchRow, IN_PLACE_BYTES, INJECT_BYTES, PROTOCOLS, PUT_BYTES, Protocol,
    ProtocolRow, protocol_of,
};
pub use eager::eager_chunk_bytes;
pub use flaw::Flaw;
pub use names::{Key, ReceiveId, SendId, Source};
pub use receiver::{PostedReceive, ReceiveAction, ReceiveEvent, ReceiveSide};
pub use sender::{Kind, Offer, SendAction, SendEvent, SendSide};
pub use variant::{Announce, Columns, Config, Data, Fabric, Offers, Reads, Stale, Variant};

#[cfg(test)]
mod tests;
