// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the layer over the next ones.

use mpi_abi_sys::types::*;

use super::given::{self, Role};
use super::order::{order, set_method};
use super::{nodes, role};
use crate::settings::Settings;
use crate::table::{Functions, Next};

/// What the layer calls.
static NEXT: Next = Next::new();

/// The layer over these functions.
pub(crate) fn over(settings: &Settings, next: Functions) -> Functions {
    let Some(method) = settings.placement else {
        return next;
    };
    set_method(method);
    if let Some(nodes) = settings.nodes.clone() {
        nodes::assume(nodes);
    }
    // SAFETY: no slot leads to a reader yet.
    unsafe { NEXT.fill(next) };
    Functions {
        MPI_Cart_create: cart,
        MPI_Graph_create: graph,
        MPI_Dist_graph_create: dist_graph,
        MPI_Dist_graph_create_adjacent: adjacent,
        ..next
    }
}

unsafe extern "C" fn cart(
    comm: MPI_Comm,
    ndims: i32,
    dims: *const i32,
    periods: *const i32,
    reorder: i32,
    new: *mut MPI_Comm,
) -> i32 {
    let create = NEXT.get().MPI_Cart_create;
    // SAFETY: the program's arguments.
    unsafe {
        let given = |_, ranks| given::grid(ranks, ndims, dims, periods);
        let ordered = (reorder != 0).then(|| order(comm, given)).flatten();
        let Some(ordered) = ordered else {
            return create(comm, ndims, dims, periods, reorder, new);
        };
        create(ordered.comm(), ndims, dims, periods, 0, new)
    }
}

unsafe extern "C" fn graph(
    comm: MPI_Comm,
    nodes: i32,
    index: *const i32,
    edges: *const i32,
    reorder: i32,
    new: *mut MPI_Comm,
) -> i32 {
    let create = NEXT.get().MPI_Graph_create;
    // SAFETY: the program's arguments.
    unsafe {
        let given = |rank, ranks| given::graph(rank, ranks, nodes, index, edges);
        let ordered = (reorder != 0).then(|| order(comm, given)).flatten();
        let Some(ordered) = ordered else {
            return create(comm, nodes, index, edges, reorder, new);
        };
        create(ordered.comm(), nodes, index, edges, 0, new)
    }
}

/// Any process may name any edge, by the ranks of its ends: so all arguments stay as they are.
unsafe extern "C" fn dist_graph(
    comm: MPI_Comm,
    count: i32,
    sources: *const i32,
    degrees: *const i32,
    destinations: *const i32,
    weights: *const i32,
    info: MPI_Info,
    reorder: i32,
    new: *mut MPI_Comm,
) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        let given = |_, ranks| given::edges(ranks, count, sources, degrees, destinations, weights);
        let ordered = (reorder != 0).then(|| order(comm, given)).flatten();
        let (comm, reorder) = ordered
            .as_ref()
            .map_or((comm, reorder), |ordered| (ordered.comm(), 0));
        (NEXT.get().MPI_Dist_graph_create)(
            comm,
            count,
            sources,
            degrees,
            destinations,
            weights,
            info,
            reorder,
            new,
        )
    }
}

unsafe extern "C" fn adjacent(
    comm: MPI_Comm,
    arriving: i32,
    sources: *const i32,
    source_weights: *const i32,
    leaving: i32,
    destinations: *const i32,
    destination_weights: *const i32,
    info: MPI_Info,
    reorder: i32,
    new: *mut MPI_Comm,
) -> i32 {
    let create = NEXT.get().MPI_Dist_graph_create_adjacent;
    // SAFETY: the program's arguments; where its call was placed, those that arrived for the rank of this process.
    unsafe {
        let old = (reorder != 0).then(|| {
            Role::of(
                (arriving, sources, source_weights),
                (leaving, destinations, destination_weights),
            )
        });
        let old = old.flatten();
        let given = |rank, ranks| given::adjacent(rank, ranks, old.as_ref()?);
        let ordered = (reorder != 0).then(|| order(comm, given)).flatten();
        let (Some(ordered), Some(old)) = (ordered, &old) else {
            return create(
                comm,
                arriving,
                sources,
                source_weights,
                leaving,
                destinations,
                destination_weights,
                info,
                reorder,
                new,
            );
        };
        let role = match role::exchange(&ordered, old) {
            Ok(role) => role,
            Err(code) => return code,
        };
        let [source_weights, destination_weights] = role.weights();
        create(
            ordered.comm(),
            role.sources.len() as i32,
            role.sources.as_ptr(),
            source_weights,
            role.destinations.len() as i32,
            role.destinations.as_ptr(),
            destination_weights,
            info,
            0,
            new,
        )
    }
}
