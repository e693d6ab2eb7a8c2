// SPDX-License-Identifier: MIT OR Apache-2.0
//! How bytes move between the ranks of a job, on one node and between nodes.
//!
//! All memory that the processes of a node share is one anonymous memory file, the *node segment* ([`segment`]); [`board`] declares
//! its structures. Messages travel through one-directional rings ([`ring`]), which the receiver finds in a [`directory`]. A rank
//! without work sleeps on its doorbell ([`doorbell`]). Large private buffers are copied by cross-memory attach where the kernel
//! allows it ([`sys::cma`]). A ring between nodes exists on both, and libfabric carries its contents from one copy to the other
//! (`network`, `ofi`).
//!
//! The fabric knows no MPI: it moves words and bytes, whose meaning the engine defines. In tests, a deterministic network inside one
//! process replaces the rings (`sim`, with the feature `lab`).

pub mod added;
pub mod area;
pub mod board;
pub mod call;
pub mod capacity;
pub mod claim;
pub mod counters;
pub mod directory;
pub mod doorbell;
pub mod identity;
#[cfg(not(loom))]
pub mod link;
pub mod lock;
#[cfg(not(loom))]
pub mod network;
pub mod node;
pub mod nodes;
pub mod observe;
#[cfg(not(loom))]
pub mod ofi;
pub mod peers;
pub mod regions;
pub mod ring;
pub mod segment;
#[cfg(all(not(loom), any(test, feature = "lab")))]
pub mod sim;
pub mod trace;
#[cfg(not(loom))]
pub mod transport;
pub mod window;
