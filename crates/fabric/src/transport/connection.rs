// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of every transport: capabilities, connections, and whether a rank lives.

use std::ptr::NonNull;

use crate::board::RankBoard;
use crate::ring::RingSender;

/// The capabilities of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Receivers may read the private memory of senders (cross-memory attach).
    pub reads_memory: bool,
    /// Ranks share the node segment's heap: direct copies, shared collective areas, doorbells.
    pub shares_memory: bool,
    /// Messages arrive. Where they do not, a wait for one would never end.
    pub delivers: bool,
}

/// The sending end of a new connection.
pub struct Connection {
    /// Takes messages.
    pub sender: RingSender,
    /// The board of the peer and the VCI there whose doorbell is to be rung, where peers sleep. It stays mapped as long as the
    /// transport.
    pub doorbell: Option<(NonNull<RankBoard>, u8)>,
    /// Whether the sender must fence before it reads the doorbell.
    pub fences: bool,
}

/// Whether this rank lives after a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Polled {
    /// It goes on.
    Alive,
    /// A test has ended the rank; it must send nothing any longer.
    Dead,
}
