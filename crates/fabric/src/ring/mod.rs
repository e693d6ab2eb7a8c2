// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring: messages from one rank to another one, in order, without locks.
//!
//! A ring has one sender and one receiver. It is a power-of-two array of one-line cells beside a
//! payload area. A message of up to [`INJECT_BYTES`] lies in its cell, so that one cache line
//! carries header and data. The bytes of a longer one lie in the payload area, or in a block
//! ([`blocks`]), and its cell describes them.
//!
//! Writers: the sender alone writes cells and payload; the receiver alone writes `consumed`,
//! `throttle`, `preferences` and `returned`.
//!
//! Invariant: the sender writes a cell in lap `n` only after the receiver has consumed it in lap
//! `n - 1`, and payload position `p` only after the receiver has consumed position
//! `p - payload_bytes`.
//!
//! A new cell has the number of the present lap in the low half of its head word, so no shared
//! index moves with a message. Laps count from 1 and fresh memory holds 0. The same cell held one
//! less a lap before, so the wrap-around at 2^32 is harmless.
//!
//! Credits return lazily, a quarter of a ring at a time. Each side walks with a pointer up to a
//! limit: the sender to the end of its credits or of the ring, the receiver to the cell where it
//! returns credits or to the end of the ring.
//!
//! A sender that dies between two steps leaves a cell of an old lap: the message never existed. A
//! receiver that dies leaves a ring that fills up.
//!
//! Cells are untrusted: the receiver checks lengths and positions before they become addresses.

mod blocks;
mod chunks;
mod data;
mod lent;
mod log;
mod mirror;
#[cfg(all(test, loom))]
mod models;
mod private;
mod receiver;
mod sender;
#[cfg(all(test, not(loom)))]
mod tests;
mod view;

pub use data::hand_over;
pub use mirror::{Feedback, MirrorSource, MirrorTarget, mirrored_receiver, mirrored_sender};
pub use private::{CellContents, PayloadRule, private_ring};
pub use receiver::{Arrival, RingReceiver};
use sender::Back;
pub use sender::RingSender;
pub use view::{Cell, ChunkLocation, RingShared, RingView};

/// Bytes that fit into a cell beside its header.
pub const INJECT_BYTES: usize = 48;
/// 64-bit words of a cell's payload.
pub const INJECT_WORDS: usize = INJECT_BYTES / 8;
/// Granularity of the payload area: one cache line.
pub const PAYLOAD_LINE: u32 = 64;
/// Bytes of a block beyond the longest chunk: room to align chunks.
const BLOCK_SLACK: u32 = 128;
/// Blocks that are as large as a payload area.
const BLOCKS_AN_AREA: u32 = 8;
