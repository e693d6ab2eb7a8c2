// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators with grids (MPI-5.0, sections 8.5.1 and 8.5.2).

use std::sync::Arc;

use super::Topology;
use super::agree::{Argument, check_same};
use super::reorder::{played, players};
use crate::comm::Comm;
pub use crate::comm::topology::cart::{Cart, MOST_DIMENSIONS, balance};
use crate::create;
use crate::errors::Result;

/// A communicator with a grid (MPI_Cart_create); `None` on ranks that the grid has no room for.
///
/// # Errors
/// Those of [`Cart::new`]; where ranks compare their calls, MPI_ERR_ARG for arguments that differ.
pub fn create(
    comm: &Arc<Comm>,
    dims: &[i32],
    periods: &[bool],
    reorder: bool,
) -> Result<Option<Arc<Comm>>> {
    let call = "MPI_Cart_create";
    check_same(comm, call, || {
        vec![
            Argument::number("ndims", dims.len() as i32),
            Argument::numbers("dims", dims),
            Argument::flags("periods", periods),
            Argument::flag("reorder", reorder),
        ]
    })?;
    let cart = Cart::new(dims, periods, comm.size() as u32)?;
    let rank = rank_played(comm, &cart, reorder);
    let inside = (rank as u32) < cart.size();
    let color = if inside { 0 } else { create::UNDEFINED };
    let made = create::split(comm, color, rank, call)?;
    if let Some(made) = &made {
        made.set_topology(Topology::Cart(Arc::new(cart)));
    }
    Ok(made)
}

/// The rank that this process plays in a grid (MPI_Cart_map); ranks beyond the grid have no place in it.
pub fn rank_played(comm: &Comm, cart: &Cart, reorder: bool) -> i32 {
    let graph = |ranks| placement::Graph::grid(ranks, &cart.dims, &cart.periods);
    played(comm, players(comm, reorder, graph).as_ref())
}

/// The communicators of the slices of a grid (MPI_Cart_sub).
///
/// # Errors
/// MPI_ERR_TOPOLOGY when the communicator has no grid.
pub fn sub(comm: &Arc<Comm>, remains: &[bool]) -> Result<Option<Arc<Comm>>> {
    let cart = super::cart(comm)?;
    let coords = cart.coords(comm.rank() as u32);
    let number = |keep: bool| {
        (0..coords.len())
            .filter(|&index| remains[index] == keep)
            .fold(0, |sum, index| sum * cart.dims[index] + coords[index])
    };
    let (color, key) = (number(false) as i32, number(true) as i32);
    let made = create::split(comm, color, key, "MPI_Cart_sub")?;
    if let Some(made) = &made {
        made.set_topology(Topology::Cart(Arc::new(cart.part(remains))));
    }
    Ok(made)
}
