// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of every transport: capabilities, connections, and whether a rank lives.

use std::ptr::NonNull;

use crate::board::RankBoard;
use crate::identity::VciIndex;
use crate::network::Doorway;
use crate::ring::RingSender;

/// The capabilities of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Receivers may read the private memory of senders (cross-memory attach).
    pub reads_memory: bool,
    /// Ranks share the node segment's heap: direct copies, shared collective areas, doorbells.
    pub shares_memory: bool,
    /// Some messages ring no doorbell: a rank that sleeps has to look for them.
    pub arrives_silently: bool,
    /// The network writes memory that receivers open.
    pub puts: bool,
    /// It does so while their ranks compute: no socket carries the data.
    pub puts_unattended: bool,
    /// The network sends data of eager messages out of the memory of programs.
    pub sends_zero_copy: bool,
    /// Messages arrive. Where they do not, a wait for one would never end.
    pub delivers: bool,
}

/// The sending end of a new connection.
pub struct Connection {
    /// Takes messages.
    pub sender: RingSender,
    /// The bell to ring when a cell is published.
    pub bell: Bell,
}

/// The bell that a link rings after it has published a cell. Its target exists as long as the transport.
#[derive(Clone, Copy)]
pub enum Bell {
    /// Nothing: the transport polls.
    None,
    /// The doorbell of a VCI on the board of a rank of this node, which may sleep.
    Board {
        /// The peer's board.
        board: NonNull<RankBoard>,
        /// The VCI there.
        vci: VciIndex,
        /// Whether the sender must fence before it reads the doorbell.
        fences: bool,
    },
    /// The network, which sends what was published.
    Network(NonNull<Doorway>),
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
