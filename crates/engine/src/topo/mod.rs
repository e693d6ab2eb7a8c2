// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual topologies (MPI-5.0, chapter 8): who is whose neighbour.
//!
//! A topology belongs to a communicator and goes with its duplicates. All ranks of a node are equally near to each other, so
//! `reorder` changes nothing: every rank keeps its place.

pub mod cart;
pub mod graph;

use std::sync::Arc;

use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::p2p::PROC_NULL;

pub use cart::Cart;
pub use graph::{DistGraph, Graph};

/// The topology of a communicator.
#[derive(Clone, Debug)]
pub enum Topology {
    /// A grid, in each dimension open or closed to a ring.
    Cart(Arc<Cart>),
    /// A graph that every rank knows whole.
    Graph(Arc<Graph>),
    /// A graph of which every rank knows its own edges.
    DistGraph(Arc<DistGraph>),
}

impl Topology {
    /// The ranks that `rank`, the calling one, receives from and sends to in neighbourhood collectives, in the standard's order
    /// (MPI-5.0, section 8.6). Where a grid ends there is MPI_PROC_NULL.
    pub fn neighbours(&self, rank: u32) -> (Vec<i32>, Vec<i32>) {
        match self {
            Self::Cart(cart) => {
                let both: Vec<i32> = (0..cart.dimensions())
                    .flat_map(|dimension| {
                        let (before, after) = cart.shift(rank, dimension, 1);
                        [before, after]
                    })
                    .map(|rank| rank.map_or(PROC_NULL, |rank| rank as i32))
                    .collect();
                (both.clone(), both)
            }
            Self::Graph(graph) => {
                let edges = graph.neighbours(rank).to_vec();
                (edges.clone(), edges)
            }
            Self::DistGraph(graph) => (graph.sources.clone(), graph.destinations.clone()),
        }
    }
}

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
