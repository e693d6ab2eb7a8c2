// SPDX-License-Identifier: MIT OR Apache-2.0
//! RTS with data: long messages whose first chunks travel before the receiver's CTS.
//!
//! A sender that has nothing else in progress to the receiver does not wait for the CTS: RTS_DATA announces the message and brings
//! its first chunk, EARLY_CHUNK cells bring a few more. A receiver with a matching receive copies them at once and answers
//! CTS_REST; then the rest follows as CHUNKs. The answer travels while both sides copy. A receiver without a matching receive drops
//! the data and keeps the RTS; it requests the whole message with CTS when the receive is posted. So nothing is stored for a late
//! receiver, and the loss is one copy of at most `EARLY_BYTES` by a sender that would have waited anyway.
//!
//! One message to a peer at a time is sent like this, and after one was sent in vain the next ones send the RTS only.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub(super) use receiver::{arrived_early_chunk, arrived_rts_data};
pub(super) use sender::{note_answer, should_begin, transmit_rts_data};
