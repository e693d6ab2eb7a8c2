// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs (MPI-5.0, sections 8.5.3 and 8.5.4).

use crate::errors::{Error, ErrorClass, Result};

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
    /// Those of [`Self::check_nodes`] and [`Self::check_index`]; MPI_ERR_ARG when an edge leads outside.
    pub fn new(index: &[i32], edges: &[i32], ranks: u32) -> Result<Self> {
        Self::check_nodes(index.len(), ranks)?;
        Self::check_index(index)?;
        let nodes = index.len() as i32;
        let is_outside = |edge: &i32| !(0..nodes).contains(edge);
        if let Some(index) = edges.iter().position(is_outside) {
            let (class, expected) = (ErrorClass::ERR_ARG, format!("nodes, 0..{}", nodes - 1));
            let error = Error::argument(class, "edges", edges[index], expected);
            return Err(error.at_index(index));
        }
        Ok(Self {
            index: index.to_vec(),
            edges: edges.to_vec(),
        })
    }

    /// Whether so many nodes can have a rank each.
    ///
    /// # Errors
    /// MPI_ERR_ARG.
    pub fn check_nodes(nodes: usize, ranks: u32) -> Result<()> {
        if nodes <= ranks as usize {
            return Ok(());
        }
        let expected = format!("at most {ranks} nodes, one for each rank");
        let class = ErrorClass::ERR_ARG;
        Err(Error::argument(class, "nnodes", nodes, expected))
    }

    /// Whether these are the ends of neighbours' lists, one after the other.
    ///
    /// # Errors
    /// MPI_ERR_ARG when they decrease.
    pub fn check_index(index: &[i32]) -> Result<()> {
        let mut before = 0;
        for (number, &end) in index.iter().enumerate() {
            if end < before {
                let expected = match number {
                    0 => "0 or more edges".to_owned(),
                    _ => format!("no less than the {before} edges of the nodes before it"),
                };
                let error = Error::argument(ErrorClass::ERR_ARG, "indx", end, expected);
                return Err(error.at_index(number));
            }
            before = end;
        }
        Ok(())
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
