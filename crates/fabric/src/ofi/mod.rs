// SPDX-License-Identifier: MIT OR Apache-2.0
//! libfabric, loaded when a job first has ranks on other nodes.
//!
//! [`Library`] opens `libfabric.so.1`; a job of one node never does. [`choose()`] selects a provider and an interface, [`Endpoint`] is
//! one reliable-datagram endpoint with its completion queue and address vector. Messages are untagged (`FI_MSG`): matching is
//! the engine's. One thread at a time uses an endpoint and its domain (`FI_THREAD_DOMAIN`), as the lock of a VCI ensures.

mod abi;
mod choose;
mod endpoint;
mod library;
mod limits;
mod open;
mod put;
mod puts;
mod sharing;

pub use choose::{Choice, Chosen, Offer, choose, offers};
pub use endpoint::{Arrived, Completion, Endpoint, Next, Part, Sent};
pub use library::Library;
pub use limits::Limits;
pub use open::{queue_bytes, receive_bytes};
pub use put::{Opening, Region};
pub use sharing::Sharing;
