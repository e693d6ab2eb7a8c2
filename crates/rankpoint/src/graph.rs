// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs of ranks, and collectives among neighbours in them (MPI-5.0, sections 8.5.3, 8.5.4, 8.6 and 8.7).

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use engine::call::CallName;
use engine::coll::neighbour;
use engine::comm::Comm;
use engine::topo::{DistGraph, Topology, graph};
use engine::{Error, ErrorClass, Result};

use crate::blocks::{blocks_read, blocks_written};
use crate::collective::{reads, wrong_length};
use crate::communicator::number;
use crate::data::zeros;
use crate::pending::Pending;
use crate::threads::{OneThread, Threads};
use crate::varying::{sources, targets};
use crate::{Buffer, BufferMut, Communicator, Datatype};

/// A communicator whose ranks are the nodes of a graph: each knows whom it receives from and whom it sends to.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let (rank, size) = (world.rank(), world.size());
/// // A ring that runs one way.
/// let ring = world.graph(&[(rank + size - 1) % size], &[(rank + 1) % size])?;
/// let mut arrived = [0usize];
/// ring.neighbour_exchange(&[rank], &mut arrived)?;
/// assert_eq!(arrived, [ring.sources()[0]]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct Graph<'u, T: Threads = OneThread> {
    comm: Communicator<'u, T>,
    sources: Vec<usize>,
    destinations: Vec<usize>,
}

/// A neighbour and the weight of the edge to it.
pub type Weighted = (usize, u32);

impl<'u, T: Threads> Communicator<'u, T> {
    /// A graph whose edges each rank gives for itself: the ranks that it receives from, and those it sends to
    /// (MPI_Dist_graph_create_adjacent). Called by all ranks. A rank may occur more than once.
    ///
    /// # Errors
    /// When a neighbour is no rank here.
    pub fn graph(&self, sources: &[usize], destinations: &[usize]) -> Result<Graph<'u, T>> {
        self.make_graph(sources, destinations, false)
    }

    /// As [`Self::graph`], with weights (MPI_Dist_graph_create_adjacent).
    ///
    /// # Errors
    /// When a neighbour is no rank here, or a weight exceeds 2^31 - 1.
    pub fn weighted_graph(
        &self,
        sources: &[Weighted],
        destinations: &[Weighted],
    ) -> Result<Graph<'u, T>> {
        self.make_weighted_graph(sources, destinations, false)
    }

    /// A graph to which each rank contributes any edges, `(from, to)`, of any ranks (MPI_Dist_graph_create). Called by all
    /// ranks. The neighbours of a rank are in the order of the ranks that gave the edges.
    ///
    /// # Errors
    /// When an end of an edge is no rank here.
    pub fn graph_of_edges(&self, edges: &[(usize, usize)]) -> Result<Graph<'u, T>> {
        self.make_graph_of_edges(edges, false)
    }

    /// A graph that all ranks give whole: `neighbours[i]` are the neighbours of rank `i` (MPI_Graph_create). Ranks beyond get
    /// `None`.
    ///
    /// # Errors
    /// When there are more nodes than ranks, or a neighbour is no node.
    pub fn graph_of_neighbours(&self, neighbours: &[Vec<usize>]) -> Result<Option<Graph<'u, T>>> {
        self.make_graph_of_neighbours(neighbours, false)
    }

    pub(crate) fn make_graph(
        &self,
        sources: &[usize],
        destinations: &[usize],
        reorder: bool,
    ) -> Result<Graph<'u, T>> {
        let call = "Communicator::graph";
        self.of_all(call, |this| {
            let edges = DistGraph {
                sources: codes("sources", sources)?,
                destinations: codes("destinations", destinations)?,
                weights: None,
            };
            graph::create_adjacent(this, edges, reorder)
        })
    }

    pub(crate) fn make_weighted_graph(
        &self,
        sources: &[Weighted],
        destinations: &[Weighted],
        reorder: bool,
    ) -> Result<Graph<'u, T>> {
        let call = "Communicator::weighted_graph";
        let ranks = |edges: &[Weighted]| edges.iter().map(|edge| edge.0).collect::<Vec<_>>();
        let weights = |edges: &[Weighted]| -> Result<Vec<i32>> {
            let weights = edges.iter().map(|edge| number("weight", edge.1 as usize));
            weights.collect()
        };
        self.of_all(call, |this| {
            let edges = DistGraph {
                sources: codes("sources", &ranks(sources))?,
                destinations: codes("destinations", &ranks(destinations))?,
                weights: Some((weights(sources)?, weights(destinations)?)),
            };
            graph::create_adjacent(this, edges, reorder)
        })
    }

    pub(crate) fn make_graph_of_edges(
        &self,
        edges: &[(usize, usize)],
        reorder: bool,
    ) -> Result<Graph<'u, T>> {
        let call = "Communicator::graph_of_edges";
        self.of_all(call, |this| {
            let edge = |&(from, to)| Ok((number("from", from)?, number("to", to)?, 1));
            let edges = edges.iter().map(edge).collect::<Result<Vec<_>>>()?;
            graph::create_general(this, &edges, false, reorder)
        })
    }

    pub(crate) fn make_graph_of_neighbours(
        &self,
        neighbours: &[Vec<usize>],
        reorder: bool,
    ) -> Result<Option<Graph<'u, T>>> {
        let call = "Communicator::graph_of_neighbours";
        self.run(call, |this| {
            let mut ends = Vec::new();
            for list in neighbours {
                let before = ends.last().map_or(0, |&end| end as usize);
                ends.push(number("neighbours", before + list.len())?);
            }
            let edges = codes("neighbours", &neighbours.concat())?;
            let made = graph::create(this.shared(), &ends, &edges, reorder)?;
            made.map(|comm| Graph::new(Self::owned(comm))).transpose()
        })
    }

    /// Makes a graph in which all ranks have a part.
    fn of_all(
        &self,
        call: &'static str,
        make: impl FnOnce(&Arc<Comm>) -> Result<Option<Arc<Comm>>>,
    ) -> Result<Graph<'u, T>> {
        self.run(call, |this| match make(this.shared())? {
            Some(made) => Graph::new(Self::owned(made)),
            None => Err(Error::new(
                ErrorClass::ERR_INTERN,
                "a rank got no part of a graph that has all",
            )),
        })
    }
}

fn codes(argument: &'static str, ranks: &[usize]) -> Result<Vec<i32>> {
    ranks.iter().map(|&rank| number(argument, rank)).collect()
}

/// Checks the numbers of buffers of a collective among neighbours.
pub(crate) fn check_degrees(comm: &Comm, send: usize, receive: usize) -> Result<()> {
    let (sources, destinations) = neighbour::degrees(comm)?;
    for (argument, length, expected) in
        [("send", send, destinations), ("receive", receive, sources)]
    {
        if length != expected {
            let expected = format!("{expected}: one for each neighbour");
            return Err(wrong_length(argument, length, expected));
        }
    }
    Ok(())
}

impl<'u, T: Threads> Graph<'u, T> {
    fn new(comm: Communicator<'u, T>) -> Result<Self> {
        let topology = comm.comm().topology().ok_or_else(|| {
            Error::new(ErrorClass::ERR_INTERN, "a graph was made without its edges")
        })?;
        let (sources, destinations) = topology.neighbours(comm.rank() as u32);
        let ranks = |codes: Vec<i32>| codes.into_iter().map(|rank| rank as usize).collect();
        Ok(Self {
            sources: ranks(sources),
            destinations: ranks(destinations),
            comm,
        })
    }

    /// The ranks that this one receives from.
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// The ranks that this one sends to.
    pub fn destinations(&self) -> &[usize] {
        &self.destinations
    }

    /// The weights of the edges from the sources and to the destinations; `None` of a graph without weights
    /// (MPI_Dist_graph_neighbors).
    pub fn weights(&self) -> Option<(Vec<u32>, Vec<u32>)> {
        let Some(Topology::DistGraph(graph)) = self.comm().topology() else {
            return None;
        };
        let (sources, destinations) = graph.weights.as_ref()?;
        let unsigned = |weights: &[i32]| weights.iter().map(|&weight| weight as u32).collect();
        Some((unsigned(sources), unsigned(destinations)))
    }

    /// Sends `send[i]` to destination `i`, and receives from source `i` into `receive[i]`, which is as long as the sender's
    /// buffer (MPI_Neighbor_alltoallw).
    ///
    /// # Errors
    /// When there is not one buffer for each neighbour, or data are longer than the buffer for them.
    pub fn neighbour_exchange<S: Buffer, R: BufferMut>(
        &self,
        send: &[S],
        receive: &mut [R],
    ) -> Result<()> {
        let call = "Graph::neighbour_exchange";
        self.run(call, |comm| {
            check_degrees(comm.comm(), send.len(), receive.len())?;
            let (send, receive) = (blocks_read(send)?, blocks_written(receive)?);
            comm.collect(
                call,
                neighbour::exchange(comm.shared().clone(), send, receive),
            )
        })
    }

    /// Sends `parts[i]` to destination `i`, each as long as it likes; the result is what the sources sent
    /// (MPI_Neighbor_alltoallv). The lengths travel first.
    ///
    /// # Errors
    /// When there is not one part for each destination.
    pub fn neighbour_exchange_varying<V: Datatype>(&self, parts: &[Vec<V>]) -> Result<Vec<Vec<V>>> {
        let call = "Graph::neighbour_exchange_varying";
        let lengths: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
        let mut theirs = vec![0u64; self.sources.len()];
        self.run(call, |_| self.neighbour_exchange(&lengths, &mut theirs))?;
        let mut found: Vec<Vec<V>> = theirs
            .iter()
            .map(|&length| zeros(length as usize))
            .collect();
        self.run(call, |comm| {
            let (send, receive) = (sources(parts)?, targets(&mut found)?);
            comm.collect(
                call,
                neighbour::exchange(comm.shared().clone(), send, receive),
            )
        })?;
        Ok(found)
    }

    /// Sends the same data to all destinations; the result is what the sources sent, which is equally long
    /// (MPI_Neighbor_allgather).
    ///
    /// # Errors
    /// When a source's data are longer.
    pub fn neighbour_all_gather<V: Datatype>(&self, data: &[V]) -> Result<Vec<Vec<V>>> {
        let call = "Graph::neighbour_all_gather";
        self.run(call, |comm| {
            let mut found = vec![zeros::<V>(data.len()); self.sources.len()];
            let receive = targets(&mut found)?;
            let work = neighbour::spread(comm.shared().clone(), reads(data)?, receive);
            comm.collect(call, work)?;
            Ok(found)
        })
    }

    /// Starts sending `parts[i]` to destination `i`, and receiving `lengths[i]` elements from source `i`
    /// (MPI_Ineighbor_alltoallv).
    ///
    /// # Errors
    /// When there is not one part for each destination and one length for each source; the parts are lost then.
    pub fn ineighbour_exchange<V: Datatype>(
        &self,
        parts: Vec<Vec<V>>,
        lengths: &[usize],
    ) -> Result<Pending<'_, 'u, Vec<Vec<V>>, T>> {
        const CALL: &str = "Graph::ineighbour_exchange";
        self.comm.run(CALL, |_| {
            let comm = self.shared().clone();
            check_degrees(&comm, parts.len(), lengths.len())?;
            let mut found: Vec<Vec<V>> = lengths.iter().map(|&length| zeros(length)).collect();
            let (send, receive) = (sources(&parts)?, targets(&mut found)?);
            let work = neighbour::exchange(comm, send, receive);
            self.comm
                .begin(const { CallName::of(CALL) }, parts, found, work)
        })
    }

    /// Starts sending the same data to all destinations, and receiving as many from each source (MPI_Ineighbor_allgather).
    ///
    /// # Errors
    /// When no operation is free; the vector is lost then.
    pub fn ineighbour_all_gather<V: Datatype>(
        &self,
        data: Vec<V>,
    ) -> Result<Pending<'_, 'u, Vec<Vec<V>>, T>> {
        const CALL: &str = "Graph::ineighbour_all_gather";
        self.comm.run(CALL, |_| {
            let mut found = vec![zeros::<V>(data.len()); self.sources.len()];
            let (send, receive) = (reads(&data[..])?, targets(&mut found)?);
            let work = neighbour::spread(self.shared().clone(), send, receive);
            self.comm
                .begin(const { CallName::of(CALL) }, data, found, work)
        })
    }
}

impl<'u, T: Threads> Deref for Graph<'u, T> {
    type Target = Communicator<'u, T>;

    fn deref(&self) -> &Communicator<'u, T> {
        &self.comm
    }
}

impl<T: Threads> fmt::Debug for Graph<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sources, destinations) = (&self.sources, &self.destinations);
        write!(f, "Graph(from {sources:?} to {destinations:?})")
    }
}
