// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs and distributed graphs (MPI-5.0, sections 8.5.3 and 8.5.4).
#![expect(clippy::too_many_arguments, reason = "the standard's argument lists")]

use engine::comm::Comm;
use engine::topo::graph::Edge;
use engine::topo::{self, DistGraph, Graph, graph};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Info};

use super::cart::{check_room, numbers, place, rank_in, store};
use crate::comm::{intra, publish};
use crate::error::run;
use crate::handle::COMMS;

/// The arrays that describe a graph; how long one of them is depends on the arguments before it, which are checked first.
///
/// # Safety
/// `index` has `nnodes` entries, `edges` as many as the last of them says.
unsafe fn graph_arrays<'a>(
    comm: &Comm,
    nnodes: i32,
    index: *const i32,
    edges: *const i32,
) -> Result<(&'a [i32], &'a [i32])> {
    Graph::check_nodes(usize::try_from(nnodes).unwrap_or(0), comm.size() as u32)?;
    // SAFETY: the caller's promise.
    let index = unsafe { numbers(index, nnodes, "nnodes", "indx") }?;
    Graph::check_index(index)?;
    let count = index.last().copied().unwrap_or(0);
    // SAFETY: the caller's promise.
    let edges = unsafe { numbers(edges, count, "indx", "edges") }?;
    Ok((index, edges))
}

pub(crate) unsafe fn MPI_Graph_create(
    comm_old: MPI_Comm,
    nnodes: i32,
    index: *const i32,
    edges: *const i32,
    reorder: i32,
    comm_graph: *mut MPI_Comm,
) -> i32 {
    run("MPI_Graph_create", comm_old, || {
        let comm = intra(comm_old, "comm_old")?;
        // SAFETY: the program's arrays (crate head).
        let (index, edges) = unsafe { graph_arrays(&comm, nnodes, index, edges) }?;
        publish(
            graph::create(&comm, index, edges, reorder != 0)?,
            comm_graph,
        )
    })
}

pub(crate) unsafe fn MPI_Graph_map(
    comm: MPI_Comm,
    nnodes: i32,
    index: *const i32,
    edges: *const i32,
    newrank: *mut i32,
) -> i32 {
    run("MPI_Graph_map", comm, || {
        let object = intra(comm, "comm")?;
        // SAFETY: the program's arrays (crate head).
        let (index, edges) = unsafe { graph_arrays(&object, nnodes, index, edges) }?;
        let graph = Graph::new(index, edges, object.size() as u32)?;
        // SAFETY: the result is writable (crate head).
        unsafe {
            *newrank = place(
                graph::rank_played(&object, &graph, true),
                graph.index.len() as u32,
            )
        };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Graphdims_get(comm: MPI_Comm, nnodes: *mut i32, nedges: *mut i32) -> i32 {
    run("MPI_Graphdims_get", comm, || {
        let graph = topo::graph(COMMS.find(comm, "comm")?)?;
        // SAFETY: the results are writable (crate head).
        unsafe {
            *nnodes = graph.index.len() as i32;
            *nedges = graph.edges.len() as i32;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Graph_get(
    comm: MPI_Comm,
    maxindex: i32,
    maxedges: i32,
    index: *mut i32,
    edges: *mut i32,
) -> i32 {
    run("MPI_Graph_get", comm, || {
        let graph = topo::graph(COMMS.find(comm, "comm")?)?;
        check_room("maxindex", maxindex, graph.index.len())?;
        check_room("maxedges", maxedges, graph.edges.len())?;
        // SAFETY: the arrays have as many entries as the program says (crate head).
        unsafe {
            store("indx", graph.index.iter().copied(), index, maxindex)?;
            store("edges", graph.edges.iter().copied(), edges, maxedges)
        }
    })
}

pub(crate) unsafe fn MPI_Graph_neighbors_count(
    comm: MPI_Comm,
    rank: i32,
    nneighbors: *mut i32,
) -> i32 {
    run("MPI_Graph_neighbors_count", comm, || {
        let graph = topo::graph(COMMS.find(comm, "comm")?)?;
        let rank = rank_in(rank, graph.index.len() as u32)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *nneighbors = graph.neighbours(rank).len() as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Graph_neighbors(
    comm: MPI_Comm,
    rank: i32,
    maxneighbors: i32,
    neighbors: *mut i32,
) -> i32 {
    run("MPI_Graph_neighbors", comm, || {
        let graph = topo::graph(COMMS.find(comm, "comm")?)?;
        let rank = rank_in(rank, graph.index.len() as u32)?;
        let found = graph.neighbours(rank).iter().copied();
        check_room("maxneighbors", maxneighbors, found.len())?;
        // SAFETY: the array has `maxneighbors` entries (crate head).
        unsafe { store("neighbors", found, neighbors, maxneighbors) }
    })
}

/// Whether an array of weights is one.
fn is_weighted(weights: *const i32) -> bool {
    weights as usize != abi::MPI_UNWEIGHTED
}

/// The weights of `count` edges; none where the program passed MPI_UNWEIGHTED.
///
/// # Safety
/// `weights` is one of the constants or has `count` entries.
unsafe fn weights(weights: *const i32, count: usize, argument: &'static str) -> Result<Vec<i32>> {
    if !is_weighted(weights) || count == 0 {
        return Ok(Vec::new());
    }
    if weights as usize == abi::MPI_WEIGHTS_EMPTY {
        let (value, expected) = ("MPI_WEIGHTS_EMPTY", format!("the weights of {count} edges"));
        let class = ErrorClass::ERR_ARG;
        return Err(Error::argument(class, argument, value, expected));
    }
    // SAFETY: the caller's promise.
    let found = unsafe { numbers(weights, count as i32, "degree", argument) }?;
    match found.iter().position(|&weight| weight < 0) {
        Some(index) => {
            let (weight, expected) = (found[index], "weights of 0 or more");
            let error = Error::argument(ErrorClass::ERR_ARG, argument, weight, expected);
            Err(error.at_index(index))
        }
        None => Ok(found.to_vec()),
    }
}

/// Whether both arrays of weights are given, or neither.
fn both_weighted(sourceweights: *const i32, destweights: *const i32) -> Result<bool> {
    let unweighted = match (is_weighted(sourceweights), is_weighted(destweights)) {
        (true, false) => "destweights",
        (false, true) => "sourceweights",
        (weighted, _) => return Ok(weighted),
    };
    let expected =
        "weights, or MPI_WEIGHTS_EMPTY if there are no such edges: the other edges have some";
    let (class, value) = (ErrorClass::ERR_ARG, "MPI_UNWEIGHTED");
    Err(Error::argument(class, unweighted, value, expected))
}

pub(crate) unsafe fn MPI_Dist_graph_create_adjacent(
    comm_old: MPI_Comm,
    indegree: i32,
    sources: *const i32,
    sourceweights: *const i32,
    outdegree: i32,
    destinations: *const i32,
    destweights: *const i32,
    info: MPI_Info,
    reorder: i32,
    comm_dist_graph: *mut MPI_Comm,
) -> i32 {
    run("MPI_Dist_graph_create_adjacent", comm_old, || {
        crate::info::check(info)?;
        let comm = intra(comm_old, "comm_old")?;
        // SAFETY: the program's arrays have as many entries as it says (crate head).
        let graph = unsafe {
            let sources = numbers(sources, indegree, "indegree", "sources")?;
            let destinations = numbers(destinations, outdegree, "outdegree", "destinations")?;
            let weighted = both_weighted(sourceweights, destweights)?;
            let both = (
                weights(sourceweights, sources.len(), "sourceweights")?,
                weights(destweights, destinations.len(), "destweights")?,
            );
            DistGraph {
                sources: sources.to_vec(),
                destinations: destinations.to_vec(),
                weights: weighted.then_some(both),
            }
        };
        publish(
            graph::create_adjacent(&comm, graph, reorder != 0)?,
            comm_dist_graph,
        )
    })
}

pub(crate) unsafe fn MPI_Dist_graph_create(
    comm_old: MPI_Comm,
    n: i32,
    sources: *const i32,
    degrees: *const i32,
    destinations: *const i32,
    edge_weights: *const i32,
    info: MPI_Info,
    reorder: i32,
    comm_dist_graph: *mut MPI_Comm,
) -> i32 {
    run("MPI_Dist_graph_create", comm_old, || {
        crate::info::check(info)?;
        let comm = intra(comm_old, "comm_old")?;
        // SAFETY: the program's arrays have as many entries as it says (crate head).
        let (sources, degrees) = unsafe {
            (
                numbers(sources, n, "n", "sources")?,
                numbers(degrees, n, "n", "degrees")?,
            )
        };
        graph::check_ranks(&comm, "sources", sources)?;
        let mut total = 0i32;
        for (index, &degree) in degrees.iter().enumerate() {
            let sum = total.checked_add(degree).filter(|_| degree >= 0);
            total = sum.ok_or_else(|| {
                let expected = "0 or more edges, fewer than 2^31 in all";
                Error::argument(ErrorClass::ERR_ARG, "degrees", degree, expected).at_index(index)
            })?;
        }
        // SAFETY: as above.
        let (destinations, given) = unsafe {
            (
                numbers(destinations, total, "degrees", "destinations")?,
                weights(edge_weights, total as usize, "weights")?,
            )
        };
        let from = sources
            .iter()
            .zip(degrees)
            .flat_map(|(&source, &degree)| std::iter::repeat_n(source, degree as usize));
        let edges: Vec<Edge> = from
            .zip(destinations)
            .enumerate()
            .map(|(index, (from, &to))| (from, to, given.get(index).copied().unwrap_or(1)))
            .collect();
        let made = graph::create_general(&comm, &edges, is_weighted(edge_weights), reorder != 0)?;
        publish(made, comm_dist_graph)
    })
}

pub(crate) unsafe fn MPI_Dist_graph_neighbors_count(
    comm: MPI_Comm,
    indegree: *mut i32,
    outdegree: *mut i32,
    weighted: *mut i32,
) -> i32 {
    run("MPI_Dist_graph_neighbors_count", comm, || {
        let graph = topo::dist_graph(COMMS.find(comm, "comm")?)?;
        // SAFETY: the results are writable (crate head).
        unsafe {
            *indegree = graph.sources.len() as i32;
            *outdegree = graph.destinations.len() as i32;
            *weighted = i32::from(graph.weights.is_some());
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Dist_graph_neighbors(
    comm: MPI_Comm,
    maxindegree: i32,
    sources: *mut i32,
    sourceweights: *mut i32,
    maxoutdegree: i32,
    destinations: *mut i32,
    destweights: *mut i32,
) -> i32 {
    run("MPI_Dist_graph_neighbors", comm, || {
        let graph = topo::dist_graph(COMMS.find(comm, "comm")?)?;
        // If there are more neighbours than room, the first ones are stored (MPI-5.0, section 8.5.5).
        check_room("maxindegree", maxindegree, 0)?;
        check_room("maxoutdegree", maxoutdegree, 0)?;
        // SAFETY: the arrays have as many entries as the program says (crate head); weights only where it wants them.
        unsafe {
            let (incoming, outgoing) = (graph.sources.iter(), graph.destinations.iter());
            store("sources", incoming.copied(), sources, maxindegree)?;
            store(
                "destinations",
                outgoing.copied(),
                destinations,
                maxoutdegree,
            )?;
            let Some((incoming, outgoing)) = &graph.weights else {
                return Ok(());
            };
            if is_weighted(sourceweights) {
                let weights = incoming.iter().copied();
                store("sourceweights", weights, sourceweights, maxindegree)?;
            }
            if is_weighted(destweights) {
                let weights = outgoing.iter().copied();
                store("destweights", weights, destweights, maxoutdegree)?;
            }
        }
        Ok(())
    })
}
