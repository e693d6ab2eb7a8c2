// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual topologies (MPI-5.0, chapter 8).
#![expect(clippy::too_many_arguments, reason = "the standard's argument lists")]

use engine::comm::Comm;
use engine::p2p::PROC_NULL;
use engine::topo::graph::Edge;
use engine::topo::{self, Cart, DistGraph, Graph, Topology, cart, graph};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Comm, MPI_Info};

use crate::coll::intra;
use crate::comm::publish;
use crate::env::require_process;
use crate::error::run;
use crate::handle::COMMS;

/// An array argument.
///
/// # Safety
/// `array` holds `count` numbers, or `count` is 0.
unsafe fn numbers<'a>(
    array: *const i32,
    count: i32,
    count_argument: &'static str,
    argument: &'static str,
) -> Result<&'a [i32]> {
    let length = usize::try_from(count)
        .map_err(|_| Error::argument(ErrorClass::ERR_ARG, count_argument, count, "0 or more"))?;
    if length == 0 {
        return Ok(&[]);
    }
    if array.is_null() {
        let expected = format!("the address of {count} numbers");
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            "null",
            expected,
        ));
    }
    // SAFETY: the caller's promise; not null.
    Ok(unsafe { std::slice::from_raw_parts(array, length) })
}

/// An array argument with an entry for each dimension of a grid.
///
/// # Safety
/// As for [`numbers`].
unsafe fn per_dimension<'a>(
    array: *const i32,
    ndims: i32,
    argument: &'static str,
) -> Result<&'a [i32]> {
    if ndims > cart::MOST_DIMENSIONS {
        let expected = format!("at most {} dimensions", cart::MOST_DIMENSIONS);
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            "ndims",
            ndims,
            expected,
        ));
    }
    // SAFETY: passed on.
    unsafe { numbers(array, ndims, "ndims", argument) }
}

/// Stores as many values as there is room for.
///
/// # Safety
/// `target` has room for `room` numbers.
unsafe fn store(values: impl IntoIterator<Item = i32>, target: *mut i32, room: i32) {
    let room = usize::try_from(room).unwrap_or(0);
    for (index, value) in values.into_iter().take(room).enumerate() {
        // SAFETY: below `room`.
        unsafe { *target.add(index) = value };
    }
}

/// An array with room for a topology's dimensions.
fn check_room(argument: &'static str, room: i32, needed: usize) -> Result<()> {
    if usize::try_from(room).is_ok_and(|room| room >= needed) {
        return Ok(());
    }
    let expected = format!("{needed} or more");
    Err(Error::argument(
        ErrorClass::ERR_ARG,
        argument,
        room,
        expected,
    ))
}

fn rank_in(rank: i32, size: u32) -> Result<u32> {
    u32::try_from(rank)
        .ok()
        .filter(|&rank| rank < size)
        .ok_or_else(|| {
            let expected = format!("0..{}", i64::from(size) - 1);
            Error::argument(ErrorClass::ERR_RANK, "rank", rank, expected)
        })
}

/// The flags of an array of `int` that stand for truth values.
fn flags(values: &[i32]) -> Vec<bool> {
    values.iter().map(|&value| value != 0).collect()
}

pub(crate) unsafe fn MPI_Cart_create(
    comm_old: MPI_Comm,
    ndims: i32,
    dims: *const i32,
    periods: *const i32,
    reorder: i32,
    comm_cart: *mut MPI_Comm,
) -> i32 {
    let _ = reorder;
    run("MPI_Cart_create", comm_old, || {
        let comm = intra(comm_old, "comm_old")?;
        // SAFETY: the program's arrays have `ndims` entries (crate head).
        let (dims, periods) = unsafe {
            (
                per_dimension(dims, ndims, "dims")?,
                per_dimension(periods, ndims, "periods")?,
            )
        };
        publish(cart::create(&comm, dims, &flags(periods))?, comm_cart)
    })
}

pub(crate) unsafe fn MPI_Cart_sub(
    comm: MPI_Comm,
    remain_dims: *const i32,
    newcomm: *mut MPI_Comm,
) -> i32 {
    run("MPI_Cart_sub", comm, || {
        let object = COMMS.share(comm, "comm")?;
        let dimensions = topo::cart(&object)?.dimensions() as i32;
        // SAFETY: the program's array has an entry for each dimension (crate head).
        let remains = unsafe { numbers(remain_dims, dimensions, "ndims", "remain_dims") }?;
        publish(cart::sub(&object, &flags(remains))?, newcomm)
    })
}

pub(crate) unsafe fn MPI_Dims_create(nnodes: i32, ndims: i32, dims: *mut i32) -> i32 {
    run("MPI_Dims_create", 0, || {
        // SAFETY: the program's array has `ndims` entries (crate head).
        let mut filled = unsafe { per_dimension(dims, ndims, "dims") }?.to_vec();
        cart::balance(nnodes, &mut filled)?;
        // SAFETY: as above.
        unsafe { store(filled, dims, ndims) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut i32) -> i32 {
    run("MPI_Cartdim_get", comm, || {
        let cart = topo::cart(COMMS.find(comm, "comm")?)?;
        // SAFETY: the result is writable (crate head).
        unsafe { *ndims = cart.dimensions() as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Cart_get(
    comm: MPI_Comm,
    maxdims: i32,
    dims: *mut i32,
    periods: *mut i32,
    coords: *mut i32,
) -> i32 {
    run("MPI_Cart_get", comm, || {
        let object = COMMS.find(comm, "comm")?;
        let cart = topo::cart(object)?;
        check_room("maxdims", maxdims, cart.dimensions())?;
        let own = cart.coords(object.rank() as u32);
        // SAFETY: the arrays have `maxdims` entries (crate head).
        unsafe {
            store(cart.dims.iter().map(|&dim| dim as i32), dims, maxdims);
            store(
                cart.periods.iter().map(|&ring| i32::from(ring)),
                periods,
                maxdims,
            );
            store(own.into_iter().map(|coord| coord as i32), coords, maxdims);
        }
        Ok(())
    })
}

/// The error of coordinates outside the grid: the first of them that is.
#[cold]
fn outside(cart: &Cart, coords: &[i32]) -> Error {
    let is_outside = |index: &usize| {
        let inside = 0..cart.dims[*index] as i32;
        !cart.periods[*index] && !inside.contains(&coords[*index])
    };
    let index = (0..coords.len()).find(is_outside).unwrap_or(0);
    let expected = format!("0..{}: the dimension is no ring", cart.dims[index] - 1);
    let error = Error::argument(ErrorClass::ERR_ARG, "coords", coords[index], expected);
    error.at_index(index)
}

pub(crate) unsafe fn MPI_Cart_rank(comm: MPI_Comm, coords: *const i32, rank: *mut i32) -> i32 {
    run("MPI_Cart_rank", comm, || {
        let cart = topo::cart(COMMS.find(comm, "comm")?)?;
        // SAFETY: the array has an entry for each dimension (crate head).
        let coords = unsafe { numbers(coords, cart.dimensions() as i32, "ndims", "coords") }?;
        let found = cart.rank(coords.iter().map(|&coord| i64::from(coord)));
        let found = found.ok_or_else(|| outside(cart, coords))?;
        // SAFETY: the result is writable (crate head).
        unsafe { *rank = found as i32 };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Cart_coords(
    comm: MPI_Comm,
    rank: i32,
    maxdims: i32,
    coords: *mut i32,
) -> i32 {
    run("MPI_Cart_coords", comm, || {
        let cart = topo::cart(COMMS.find(comm, "comm")?)?;
        let rank = rank_in(rank, cart.size())?;
        check_room("maxdims", maxdims, cart.dimensions())?;
        let found = cart.coords(rank).into_iter().map(|coord| coord as i32);
        // SAFETY: the array has `maxdims` entries (crate head).
        unsafe { store(found, coords, maxdims) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Cart_shift(
    comm: MPI_Comm,
    direction: i32,
    disp: i32,
    rank_source: *mut i32,
    rank_dest: *mut i32,
) -> i32 {
    run("MPI_Cart_shift", comm, || {
        let object = COMMS.find(comm, "comm")?;
        let cart = topo::cart(object)?;
        let dimension = usize::try_from(direction)
            .ok()
            .filter(|&dimension| dimension < cart.dimensions())
            .ok_or_else(|| {
                let expected = format!("a dimension below {}", cart.dimensions());
                Error::argument(ErrorClass::ERR_ARG, "direction", direction, expected)
            })?;
        let (source, dest) = cart.shift(object.rank() as u32, dimension, disp);
        let told = |rank: Option<u32>| rank.map_or(PROC_NULL, |rank| rank as i32);
        // SAFETY: the results are writable (crate head).
        unsafe {
            *rank_source = told(source);
            *rank_dest = told(dest);
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Cart_map(
    comm: MPI_Comm,
    ndims: i32,
    dims: *const i32,
    periods: *const i32,
    newrank: *mut i32,
) -> i32 {
    run("MPI_Cart_map", comm, || {
        let object = intra(comm, "comm")?;
        // SAFETY: the program's arrays have `ndims` entries (crate head).
        let (dims, periods) = unsafe {
            (
                per_dimension(dims, ndims, "dims")?,
                per_dimension(periods, ndims, "periods")?,
            )
        };
        // MPICH and Open MPI take a dimension of 0 here, as a grid in which no rank has a place.
        let is_empty = dims.contains(&0) && dims.iter().all(|&dim| dim >= 0);
        let size = if is_empty {
            0
        } else {
            Cart::new(dims, &flags(periods), object.size() as u32)?.size()
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *newrank = place(object.rank(), size) };
        Ok(())
    })
}

/// Every rank keeps its place; those beyond the topology have none.
const fn place(rank: i32, size: u32) -> i32 {
    if (rank as u32) < size {
        rank
    } else {
        abi::MPI_UNDEFINED
    }
}

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
    let _ = reorder;
    run("MPI_Graph_create", comm_old, || {
        let comm = intra(comm_old, "comm_old")?;
        // SAFETY: the program's arrays (crate head).
        let (index, edges) = unsafe { graph_arrays(&comm, nnodes, index, edges) }?;
        publish(graph::create(&comm, index, edges)?, comm_graph)
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
        unsafe { *newrank = place(object.rank(), graph.index.len() as u32) };
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
            store(graph.index.iter().copied(), index, maxindex);
            store(graph.edges.iter().copied(), edges, maxedges);
        }
        Ok(())
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
        unsafe { store(found, neighbors, maxneighbors) };
        Ok(())
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
    let _ = reorder;
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
        publish(graph::create_adjacent(&comm, graph)?, comm_dist_graph)
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
    let _ = reorder;
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
        let made = graph::create_general(&comm, &edges, is_weighted(edge_weights))?;
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
            store(graph.sources.iter().copied(), sources, maxindegree);
            store(
                graph.destinations.iter().copied(),
                destinations,
                maxoutdegree,
            );
            if let Some((incoming, outgoing)) = &graph.weights {
                if is_weighted(sourceweights) {
                    store(incoming.iter().copied(), sourceweights, maxindegree);
                }
                if is_weighted(destweights) {
                    store(outgoing.iter().copied(), destweights, maxoutdegree);
                }
            }
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Topo_test(comm: MPI_Comm, status: *mut i32) -> i32 {
    run("MPI_Topo_test", comm, || {
        require_process()?;
        let kind = match COMMS.find(comm, "comm")?.topology() {
            Some(Topology::Cart(_)) => abi::MPI_CART,
            Some(Topology::Graph(_)) => abi::MPI_GRAPH,
            Some(Topology::DistGraph(_)) => abi::MPI_DIST_GRAPH,
            None => abi::MPI_UNDEFINED,
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *status = kind };
        Ok(())
    })
}
