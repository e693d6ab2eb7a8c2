// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offers of the memory of posted receives to their senders: what a receiver has granted, and what a sender knows.
//!
//! An offer within a node is a revocable landing place and never a match: only the receiver matches. [`granted`] is the receiver's side, part of
//! the posted queue; [`known`] the sender's, [`stored`] that of receivers on other nodes. All are empty, and cost nothing, until a receive is
//! offered. [`gain`] says whether
//! offers pay. Crate `protocols` has the rules that decide what is offered and claimed; [`crate::protocol`] moves cells and bytes.

mod gain;
mod granted;
mod known;
mod stored;

pub(crate) use gain::{Moment, OfferGains};
pub(crate) use granted::{Grant, Granted, Landing as ReceiveLanding, Reclaimed, posted};
pub(crate) use known::{Known, Landing, Place};
pub(crate) use stored::Stored;

use fabric::board::PARTITIONED;

use super::matching::{COLLECTIVE, is_in_order};

/// Shortest message that is put to another node, in bytes.
pub(crate) const LEAST_PUT_BYTES: usize = protocols::PUT_BYTES as usize;

/// Whether a match word is that of a message of a collective.
pub(crate) const fn is_of_collective(word: u64) -> bool {
    word & (PARTITIONED | COLLECTIVE) == COLLECTIVE && !is_in_order(word)
}
