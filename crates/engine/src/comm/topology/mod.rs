// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual topologies as data: which ranks of a communicator are neighbours.

pub(crate) mod cart;
pub(crate) mod graph;
mod neighbours;

pub use neighbours::Topology;
