// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages to other nodes: mirrored rings ([`crate::ring::MirrorSource`]) over libfabric ([`crate::ofi`]).
//!
//! A [`Network`] belongs to a process. Peers are pairs of VCIs, one here and one there. Towards each peer that is used it has the sender's copy of a ring, whose published cells and payload it
//! sends in *frames*, and from each peer the receiver's copy, into which it writes what frames bring. Every frame also carries
//! the receiver's line of the ring in the other direction, so credits need messages of their own only where nothing flows back.
//!
//! | file | contents |
//! |---|---|
//! | `frame` | the header of a frame, and the token that proves its sender |
//! | `card` | the address and wire version that a rank publishes |
//! | `peer` | the rings and sequence numbers of one peer |
//! | `put` | long data that go past the rings |
//! | `fault` | failures that VCIs are told of |
//! | `net` | sending, receiving, and the end |
//! | `shared` | the lock |

mod card;
mod fault;
mod frame;
#[cfg(test)]
mod fuzz;
mod net;
mod peer;
mod put;
mod receive;
mod send;
mod shared;
#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use net::NetPlan;
pub use peer::{Doorway, PeerKey};
pub use put::PutBegun;
pub use shared::Network;
