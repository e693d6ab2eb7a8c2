// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transport seam: how the engine reaches peers, whatever carries the bytes.
//!
//! A [`Transport`] belongs to one VCI. It connects [`Link`](crate::link::Link)s, announces what peers have connected, and says
//! what it can do ([`Capabilities`]). Dispatch is a match on an enum; the fast path of a send tests one word of the link
//! (`RingSender::has_credit`), which every transport keeps.
//!
//! | transport | what carries a message | for |
//! |---|---|---|
//! | [`Shm`] | rings in the node segment | ranks of one node |
//! | [`Null`] | nothing: cells are written to private memory and forgotten | measuring software |
//! | [`Port`] of a [`SimNet`](crate::sim::SimNet) | a deterministic network in one process | tests |

mod null;
mod shm;

use std::io;
use std::ptr::NonNull;

use crate::board::RankBoard;
use crate::ring::{RingReceiver, RingSender};
use crate::sim::{Fate, Port};

pub use null::Null;
pub use shm::Shm;

/// What a transport can do.
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

/// What became of this rank in a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Polled {
    /// It goes on.
    Alive,
    /// A test has ended the rank; it must send nothing any longer.
    Dead,
}

/// How one VCI reaches its peers.
pub enum Transport {
    /// Rings in the node segment.
    Shm(Shm),
    /// Nothing.
    Null(Null),
    /// A simulated network.
    Sim {
        /// This rank's port.
        port: Port,
        /// Connections accepted so far.
        accepted: u32,
    },
}

impl Transport {
    /// A rank's connection to a simulated network.
    pub const fn sim(port: Port) -> Self {
        Self::Sim { port, accepted: 0 }
    }

    /// What this transport can do.
    pub const fn capabilities(&self) -> Capabilities {
        match self {
            Self::Shm(_) => Capabilities {
                reads_memory: true,
                shares_memory: true,
                delivers: true,
            },
            Self::Null(_) => Capabilities {
                reads_memory: false,
                shares_memory: false,
                delivers: false,
            },
            Self::Sim { .. } => Capabilities {
                reads_memory: false,
                shares_memory: false,
                delivers: true,
            },
        }
    }

    /// Makes the connection to a peer, by its rank in the job, and announces it there.
    ///
    /// # Errors
    /// When there is no memory, or no such peer.
    #[cold]
    pub fn connect(&mut self, peer: u32) -> io::Result<Connection> {
        match self {
            Self::Shm(shm) => shm.connect(peer),
            Self::Null(null) => null.connect(),
            Self::Sim { port, .. } => Ok(Connection {
                sender: port.connect(peer).map_err(io::Error::other)?,
                doorbell: None,
                fences: false,
            }),
        }
    }

    /// Whether [`Self::accept`] would find something, or [`Self::poll`] has to be called.
    // TIER: short
    #[inline(always)]
    pub fn needs_attention(&self) -> bool {
        match self {
            Self::Shm(shm) => shm.has_new_rings(),
            Self::Null(_) => false,
            Self::Sim { .. } => true,
        }
    }

    /// Lets the transport do what it does not do by itself.
    ///
    /// # Errors
    /// When the transport is broken.
    #[cold]
    pub fn poll(&mut self) -> io::Result<Polled> {
        match self {
            Self::Shm(_) => Ok(Polled::Alive),
            Self::Null(_) => Ok(Polled::Alive),
            Self::Sim { port, .. } => match port.poll() {
                Ok(Fate::Alive) => Ok(Polled::Alive),
                Ok(Fate::Dead) => Ok(Polled::Dead),
                Err(error) => Err(io::Error::other(error)),
            },
        }
    }

    /// The connections that peers have made since the last call: the peer's rank in the job, and the receiving end.
    ///
    /// # Errors
    /// When a peer has damaged what it announced.
    #[cold]
    pub fn accept(&mut self) -> io::Result<Vec<(u32, RingReceiver)>> {
        match self {
            Self::Shm(shm) => shm.accept(),
            Self::Null(_) => Ok(Vec::new()),
            Self::Sim { port, accepted } => {
                let mut found = Vec::new();
                while *accepted != port.accept_count() {
                    let Some(connection) = port.accept() else {
                        break;
                    };
                    *accepted += 1;
                    found.push(connection);
                }
                Ok(found)
            }
        }
    }

    /// Wakes a peer that may sleep until this rank returns credits.
    #[cold]
    pub fn wake(&self, peer: u32) {
        if let Self::Shm(shm) = self {
            shm.wake(peer);
        }
    }
}
