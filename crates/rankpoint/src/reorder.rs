// SPDX-License-Identifier: MIT OR Apache-2.0
//! Topologies whose ranks may be other processes' (MPI-5.0, section 8.5: `reorder`).

use engine::Result;

use crate::graph::Weighted;
use crate::threads::{OneThread, Threads};
use crate::{Cart, Communicator, Graph};

/// Makes topologies in which processes may have other ranks than before, so that neighbours are on the same node; see
/// [`Communicator::reordering`].
#[derive(Debug)]
pub struct Reordering<'c, 'u, T: Threads = OneThread> {
    comm: &'c Communicator<'u, T>,
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// Lets the library place the ranks of a topology on nodes, so that less passes between these (the argument `reorder` of
    /// MPI-5.0, section 8.5). All ranks make the topology by it, or none.
    ///
    /// The process that gets a rank of the topology has the neighbours that were given for this rank. So a program asks the
    /// topology for its rank, and then fetches the data of that rank:
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let dims = rankpoint::balanced_dims(world.size(), [None, None])?;
    /// let grid = world.reordering().cart(dims, [true, false])?.expect("the grid has room for all");
    /// let [row, column] = grid.coords();
    /// let part = vec![(row * dims[1] + column) as f64; 100];
    /// # assert_eq!(part[0], grid.rank() as f64);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    pub const fn reordering(&self) -> Reordering<'_, 'u, T> {
        Reordering { comm: self }
    }
}

impl<'u, T: Threads> Reordering<'_, 'u, T> {
    /// As [`Communicator::cart`] (MPI-5.0, section 8.5.1): `None` goes to the processes that get no rank of the grid.
    ///
    /// # Errors
    /// As [`Communicator::cart`].
    pub fn cart<const N: usize>(
        &self,
        dims: [usize; N],
        periods: [bool; N],
    ) -> Result<Option<Cart<'u, N, T>>> {
        self.comm.make_cart(dims, periods, true)
    }

    /// As [`Communicator::graph`] (MPI-5.0, section 8.5.4): each process gives the edges of its rank in the old communicator, and gets
    /// those that were given for its new one.
    ///
    /// # Errors
    /// As [`Communicator::graph`].
    pub fn graph(&self, sources: &[usize], destinations: &[usize]) -> Result<Graph<'u, T>> {
        self.comm.make_graph(sources, destinations, true)
    }

    /// As [`Self::graph`], with weights, of which as little as can be lies on edges between nodes.
    ///
    /// # Errors
    /// As [`Communicator::weighted_graph`].
    pub fn weighted_graph(
        &self,
        sources: &[Weighted],
        destinations: &[Weighted],
    ) -> Result<Graph<'u, T>> {
        self.comm.make_weighted_graph(sources, destinations, true)
    }

    /// As [`Communicator::graph_of_edges`] (MPI-5.0, section 8.5.4).
    ///
    /// # Errors
    /// As [`Communicator::graph_of_edges`].
    pub fn graph_of_edges(&self, edges: &[(usize, usize)]) -> Result<Graph<'u, T>> {
        self.comm.make_graph_of_edges(edges, true)
    }

    /// As [`Communicator::graph_of_neighbours`] (MPI-5.0, section 8.5.3): `None` goes to the processes that get no node of the graph.
    ///
    /// # Errors
    /// As [`Communicator::graph_of_neighbours`].
    pub fn graph_of_neighbours(&self, neighbours: &[Vec<usize>]) -> Result<Option<Graph<'u, T>>> {
        self.comm.make_graph_of_neighbours(neighbours, true)
    }
}
