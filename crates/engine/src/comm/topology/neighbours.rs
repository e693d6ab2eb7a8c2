// SPDX-License-Identifier: MIT OR Apache-2.0
//! The topology of a communicator, of any kind: who is whose neighbour.

use std::sync::Arc;

use super::cart::Cart;
use super::graph::{DistGraph, Graph};
use crate::request::Status;

/// MPI_PROC_NULL.
const PROC_NULL: i32 = Status::PROC_NULL.source;

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
