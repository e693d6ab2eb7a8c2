// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claim words: a receiver offers the memory of a posted receive to a sender and can take the offer back without asking.
//!
//! A word holds a number and a state. The receiver *offers* with the next number; the sender *claims*, before it writes the first byte;
//! the receiver *withdraws*, before it gives the receive anything else. Both compare and swap the same value, so one of them succeeds.
//! The loser leaves the memory alone: a sender tries another offer or asks, a receiver waits until the sender says that the data
//! have landed.
//!
//! Writers: the receiver from *gone* to *offered* and back, and from *claimed* to *gone* once the data have landed; the sender
//! from *offered* to *claimed*. Invariant: at any time one side at most may write the memory of the receive.
//!
//! A sender that dies with a claim leaves the receiver waiting until the job ends, as a message of which some chunks have arrived does.
//! A receiver that dies leaves an offer whose writes the kernel refuses.
//!
//! The number tells offers of one word apart: the sender compares it with that of the cell that told it of the offer. It repeats after
//! 2^16 offers; a ring has fewer cells, and a newer offer of the same word replaces the one that the sender knows, so no older cell
//! of the same number can be under way.
//!
//! ```ignore
//! let ticket = claims.word(0).offer();        // receiver
//! let is_mine = claims.word(0).claim(ticket); // sender: may write if true
//! ```

#[cfg(all(test, loom))]
mod models;
mod table;
#[cfg(all(test, not(loom)))]
mod tests;
mod word;

pub use table::{ClaimTable, MOST_OFFERS};
pub use word::{ClaimWord, OfferNumber};
