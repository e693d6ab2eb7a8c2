// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a message's path, of which models of injection overhead and latency are made; no rows of the table.
//!
//! ```text
//! calls                    what calls cost that start and test messages
//! parts, turns, answered   on a node: calls by themselves, on one core and on two
//! network, network_link    between hosts: the library, and bare libfabric beside it
//! ```

pub(crate) mod answered;
pub(crate) mod calls;
pub(crate) mod network;
mod network_link;
pub(crate) mod parts;
mod turns;

pub use answered::{ANSWERED, HALVES, LINE, WINDOWS, WINDOWS_ANSWERED};
pub use calls::CALLS;
pub use network::{
    MPI_POLL, MPI_RECEIVE, MPI_SEND, NETWORK_PARTS, NETWORK_PARTS_AND_QUANTITIES, RAW_HALVES,
    RAW_POLL, RAW_POST, RAW_PROGRESS,
};
pub use parts::{DISTANCE, PARTS, PARTS_AND_QUANTITIES};
