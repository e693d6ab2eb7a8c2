// SPDX-License-Identifier: MIT OR Apache-2.0
//! How bytes move between the ranks of one node.
//!
//! Everything that other processes see lives in one anonymous memory file, the *node segment* ([`segment`]), whose
//! shared structures are declared in [`board`]. Messages travel through one-directional rings ([`ring`]), which
//! the receiver finds in a [`directory`], a rank
//! that has nothing to do sleeps on its doorbell ([`doorbell`]), and large private buffers are copied by cross-memory attach
//! where the kernel allows it ([`sys::cma`]). The fabric knows no MPI: it moves words and bytes and leaves
//! their meaning to the engine. `layout` and `fabric` know nothing of each other. In tests, a deterministic network inside
//! one process replaces the segment's rings (`sim`).

pub mod area;
pub mod board;
pub mod counters;
pub mod directory;
pub mod doorbell;
#[cfg(not(loom))]
pub mod link;
pub mod lock;
pub mod observe;
pub mod peers;
pub mod ring;
pub mod segment;
#[cfg(not(loom))]
pub mod sim;
#[cfg(not(loom))]
pub mod transport;
