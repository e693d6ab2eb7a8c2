// SPDX-License-Identifier: MIT OR Apache-2.0
//! The topology of a communicator, if it is of the kind that a call needs.

use std::sync::Arc;

use super::{Cart, DistGraph, Graph, Topology};
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};

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
