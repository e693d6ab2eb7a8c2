// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual topologies (MPI-5.0, chapter 8): the calls that make communicators with a topology and query it. The topologies
//! themselves are data of a communicator ([`crate::comm::topology`]).
//!
//! A topology goes with the duplicates of its communicator. Where a program lets ranks change, `reorder` places
//! them on nodes.

mod agree;
pub mod cart;
pub mod graph;
mod lookup;
mod reorder;
#[cfg(test)]
mod reorder_tests;

pub use crate::comm::topology::Topology;
pub use cart::Cart;
pub use graph::{DistGraph, Graph};
pub use lookup::{cart, dist_graph, graph};
