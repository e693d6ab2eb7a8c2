// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages to other nodes: mirrored rings ([`crate::ring::MirrorSource`]) over libfabric ([`crate::ofi`]).
//!
//! A [`Network`] belongs to a process. It has *contexts*, each a domain, an endpoint, a completion queue and an address vector of libfabric;
//! VCI `v` uses number `v` modulo their number, which stands on the card of the process. Context 0 is there from the start, the others
//! are opened when one of their VCIs is first used. Peers are pairs of VCIs, one here and one there. Towards each peer that is used it has the sender's copy of a ring, whose published cells and payload it
//! sends in *frames*, and from each peer the receiver's copy, into which it writes what frames bring. Every frame also carries
//! the receiver's line of the ring in the other direction, so credits need messages of their own only where nothing flows back.
//!
//! | file | contents |
//! |---|---|
//! | `frame` | the header of a frame, and the token that proves its sender |
//! | `card` | the address and wire version that a rank publishes |
//! | `book` | what all contexts know together: processes, addresses, failures |
//! | `peer` | the rings and sequence numbers of one peer |
//! | `put` | long data that go past the rings |
//! | `contact` | whether the network delivers to peers that were not heard of |
//! | `fault` | failures that VCIs are told of |
//! | `net` | a context: polls, peers, and the end |
//! | `send`, `receive` | frames of cells |
//! | `control` | requests for addresses of contexts |
//! | `shared` | the contexts of a process, and their locks |

mod book;
mod card;
mod contact;
#[cfg(test)]
mod context_tests;
mod control;
mod fault;
mod frame;
#[cfg(test)]
mod fuzz;
mod net;
#[cfg(test)]
mod order_tests;
#[cfg(test)]
mod payload_tests;
mod peer;
mod put;
mod receive;
mod send;
mod shared;
#[cfg(test)]
mod tests;

pub use fault::Fault;
pub use peer::{Doorway, PeerKey};
pub use put::PutBegun;
pub use shared::{ContextsInUse, NetPlan, Network};
