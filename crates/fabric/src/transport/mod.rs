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
//! | [`Nodes`] | the same, and frames over libfabric ([`crate::network`]) | jobs of several nodes |
//! | [`Null`] | nothing: cells are written to private memory and forgotten | measuring software |
//! | `Simulated` | a deterministic network in one process (`sim`) | tests, with the feature `lab` |

mod connection;
mod dispatch;
mod nodes;
mod null;
mod shm;
#[cfg(any(test, feature = "lab"))]
mod simulated;

pub use crate::network::{ContextsInUse, PutBegun};
pub use crate::ofi::Opening;
pub use connection::{Bell, Capabilities, Connection, Polled};
pub use dispatch::Transport;
pub use nodes::Nodes;
pub use null::Null;
pub use shm::Shm;
#[cfg(any(test, feature = "lab"))]
pub use simulated::Simulated;
