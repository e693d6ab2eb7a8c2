// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs (MPI-5.0, sections 8.5.3 and 8.5.4).

use std::sync::Arc;

use super::Topology;
use crate::coll;
use crate::comm::{Comm, create};
use crate::errors::{Error, ErrorClass, Result};
use crate::task::block_on;

/// A graph that every rank knows whole: for each rank its neighbours, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each rank end.
    pub index: Vec<i32>,
    /// The neighbours of all ranks.
    pub edges: Vec<i32>,
}

impl Graph {
    /// A graph of the first ranks among `ranks`.
    ///
    /// # Errors
    /// MPI_ERR_ARG when the graph has more nodes than there are ranks, `index` decreases or does not fit `edges`, or an edge
    /// leads outside.
    pub fn new(index: &[i32], edges: &[i32], ranks: u32) -> Result<Self> {
        let wrong = |argument, value: &[i32], expected: String| {
            Err(Error::argument(
                ErrorClass::ERR_ARG,
                argument,
                format!("{value:?}"),
                expected,
            ))
        };
        if index.len() > ranks as usize {
            let expected = format!("at most {ranks} nodes, one for each rank");
            return Err(Error::argument(
                ErrorClass::ERR_ARG,
                "nnodes",
                index.len(),
                expected,
            ));
        }
        let grows = index.first().is_none_or(|&first| first >= 0) && index.is_sorted();
        if !grows {
            return wrong("index", index, "numbers that do not decrease".to_owned());
        }
        let nodes = index.len() as i32;
        if edges.iter().any(|edge| !(0..nodes).contains(edge)) {
            return wrong("edges", edges, format!("nodes, 0..{}", nodes - 1));
        }
        Ok(Self {
            index: index.to_vec(),
            edges: edges.to_vec(),
        })
    }

    /// The neighbours of a rank of the graph.
    pub fn neighbours(&self, rank: u32) -> &[i32] {
        let end_of = |node: usize| self.index[node] as usize;
        let rank = rank as usize;
        let start = if rank == 0 { 0 } else { end_of(rank - 1) };
        &self.edges[start..end_of(rank)]
    }
}

/// One rank's edges in a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistGraph {
    /// Ranks that this one receives from.
    pub sources: Vec<i32>,
    /// Ranks that this one sends to.
    pub destinations: Vec<i32>,
    /// Weights of both, in their order, if there are any.
    pub weights: Option<(Vec<i32>, Vec<i32>)>,
}

/// A communicator with a graph (MPI_Graph_create); `None` on ranks that are no nodes.
///
/// # Errors
/// Those of [`Graph::new`].
pub fn create(comm: &Arc<Comm>, index: &[i32], edges: &[i32]) -> Result<Option<Arc<Comm>>> {
    let graph = Graph::new(index, edges, comm.size() as u32)?;
    let inside = (comm.rank() as usize) < graph.index.len();
    let color = if inside { 0 } else { create::UNDEFINED };
    let made = create::split(comm, color, comm.rank(), "MPI_Graph_create")?;
    if let Some(made) = &made {
        made.set_topology(Topology::Graph(Arc::new(graph)));
    }
    Ok(made)
}

fn check_ranks(comm: &Comm, argument: &'static str, ranks: &[i32]) -> Result<()> {
    match ranks.iter().find(|rank| !(0..comm.size()).contains(*rank)) {
        Some(rank) => {
            let expected = format!("ranks, 0..{}", comm.size() - 1);
            Err(Error::argument(
                ErrorClass::ERR_RANK,
                argument,
                rank,
                expected,
            ))
        }
        None => Ok(()),
    }
}

/// A communicator with a distributed graph whose edges each rank gives for itself (MPI_Dist_graph_create_adjacent).
///
/// # Errors
/// MPI_ERR_RANK for a neighbour outside the communicator.
pub fn create_adjacent(comm: &Arc<Comm>, graph: DistGraph) -> Result<Option<Arc<Comm>>> {
    check_ranks(comm, "sources", &graph.sources)?;
    check_ranks(comm, "destinations", &graph.destinations)?;
    let call = "MPI_Dist_graph_create_adjacent";
    let made = create::split(comm, 0, comm.rank(), call)?;
    if let Some(made) = &made {
        made.set_topology(Topology::DistGraph(Arc::new(graph)));
    }
    Ok(made)
}

/// An edge: from, to, weight.
pub type Edge = (i32, i32, i32);

/// A communicator with a distributed graph to which each rank contributes any edges (MPI_Dist_graph_create). All ranks see
/// all edges once and keep their own.
///
/// # Errors
/// MPI_ERR_RANK for an end outside the communicator.
pub fn create_general(
    comm: &Arc<Comm>,
    edges: &[Edge],
    weighted: bool,
) -> Result<Option<Arc<Comm>>> {
    let call = "MPI_Dist_graph_create";
    let ends = |end: fn(&Edge) -> i32| edges.iter().map(end).collect::<Vec<i32>>();
    check_ranks(comm, "sources", &ends(|edge| edge.0))?;
    check_ranks(comm, "destinations", &ends(|edge| edge.1))?;
    let own = [edges.len() as u64];
    let longest = coll::gather_words(comm.clone(), &own);
    let lengths = block_on(comm.vci, call, longest)?;
    let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
    // Equal pieces are simple to gather; what is missing has no ends.
    let mut words = vec![u64::MAX; 2 * longest];
    for (pair, edge) in words.chunks_exact_mut(2).zip(edges) {
        pair[0] = u64::from(edge.0 as u32) << 32 | u64::from(edge.1 as u32);
        pair[1] = u64::from(edge.2 as u32);
    }
    let all = block_on(comm.vci, call, coll::gather_words(comm.clone(), &words))?;
    let me = comm.rank();
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    for pair in all.chunks_exact(2).filter(|pair| pair[0] != u64::MAX) {
        let (from, to) = ((pair[0] >> 32) as i32, pair[0] as u32 as i32);
        let weight = pair[1] as u32 as i32;
        if to == me {
            incoming.push((from, weight));
        }
        if from == me {
            outgoing.push((to, weight));
        }
    }
    let weights = weighted.then(|| {
        (
            incoming.iter().map(|edge| edge.1).collect(),
            outgoing.iter().map(|edge| edge.1).collect(),
        )
    });
    create_adjacent(
        comm,
        DistGraph {
            sources: incoming.iter().map(|edge| edge.0).collect(),
            destinations: outgoing.iter().map(|edge| edge.0).collect(),
            weights,
        },
    )
}
