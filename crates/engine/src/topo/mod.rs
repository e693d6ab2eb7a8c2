// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual topologies (MPI-5.0, chapter 8): the calls that make communicators with a topology and query it. The topologies
//! themselves are data of a communicator ([`crate::comm::topology`]).
//!
//! A topology goes with the duplicates of its communicator. `reorder` changes nothing: every rank keeps its place, because all
//! ranks of a node are equally near to each other.

pub mod cart;
pub mod graph;

use std::sync::Arc;

use crate::comm::Comm;
pub use crate::comm::topology::Topology;
use crate::errors::{Error, ErrorClass, Result};

pub use cart::Cart;
pub use graph::{DistGraph, Graph};

#[cold]
fn missing(comm: &Comm, kind: &str) -> Error {
    let value = match comm.topology() {
        Some(Topology::Cart(_)) => "a communicator with a Cartesian topology",
        Some(Topology::Graph(_)) => "a communicator with a graph topology",
        Some(Topology::DistGraph(_)) => "a communicator with a distributed graph topology",
        None => "a communicator without a topology",
    };
    let expected = format!("one with a {kind} topology");
    Error::argument(ErrorClass::ERR_TOPOLOGY, "comm", value, expected)
}

/// The grid of a communicator.
///
/// # Errors
/// MPI_ERR_TOPOLOGY when it has none.
pub fn cart(comm: &Comm) -> Result<&Arc<Cart>> {
    match comm.topology() {
        Some(Topology::Cart(cart)) => Ok(cart),
        _ => Err(missing(comm, "Cartesian")),
    }
}

/// The graph of a communicator.
///
/// # Errors
/// MPI_ERR_TOPOLOGY when it has none.
pub fn graph(comm: &Comm) -> Result<&Arc<Graph>> {
    match comm.topology() {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => Err(missing(comm, "graph")),
    }
}

/// The distributed graph of a communicator.
///
/// # Errors
/// MPI_ERR_TOPOLOGY when it has none.
pub fn dist_graph(comm: &Comm) -> Result<&Arc<DistGraph>> {
    match comm.topology() {
        Some(Topology::DistGraph(graph)) => Ok(graph),
        _ => Err(missing(comm, "distributed graph")),
    }
}
