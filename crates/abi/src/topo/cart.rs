// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids (MPI-5.0, section 8.5.1), and what all topologies share.

use engine::p2p::PROC_NULL;
use engine::topo::{self, Cart, Topology, cart};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::MPI_Comm;

use crate::comm::{intra, publish};
use crate::error::run;
use crate::handle::COMMS;
use crate::state::require_process;

/// An array argument.
///
/// # Safety
/// `array` holds `count` numbers, or `count` is 0.
pub(crate) unsafe fn numbers<'a>(
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
/// # Errors
/// MPI_ERR_ARG when there are some and `target` is null or a constant for arrays of weights.
///
/// # Safety
/// `target` has room for `room` numbers, or is one of these.
pub(crate) unsafe fn store(
    argument: &'static str,
    values: impl ExactSizeIterator<Item = i32>,
    target: *mut i32,
    room: i32,
) -> Result<()> {
    let count = values.len().min(usize::try_from(room).unwrap_or(0));
    let constant = match target as usize {
        0 => Some("null"),
        abi::MPI_UNWEIGHTED => Some("MPI_UNWEIGHTED"),
        abi::MPI_WEIGHTS_EMPTY => Some("MPI_WEIGHTS_EMPTY"),
        _ => None,
    };
    if let Some(value) = constant
        && count > 0
    {
        let (class, expected) = (
            ErrorClass::ERR_ARG,
            format!("an array of {count} numbers or more"),
        );
        return Err(Error::argument(class, argument, value, expected));
    }
    for (index, value) in values.take(count).enumerate() {
        // SAFETY: below `room`.
        unsafe { *target.add(index) = value };
    }
    Ok(())
}

/// An array with room for a topology's dimensions.
pub(crate) fn check_room(argument: &'static str, room: i32, needed: usize) -> Result<()> {
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

pub(crate) fn rank_in(rank: i32, size: u32) -> Result<u32> {
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
    run("MPI_Cart_create", comm_old, || {
        let comm = intra(comm_old, "comm_old")?;
        // SAFETY: the program's arrays have `ndims` entries (crate head).
        let (dims, periods) = unsafe {
            (
                per_dimension(dims, ndims, "dims")?,
                per_dimension(periods, ndims, "periods")?,
            )
        };
        publish(
            cart::create(&comm, dims, &flags(periods), reorder != 0)?,
            comm_cart,
        )
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
        unsafe { store("dims", filled.into_iter(), dims, ndims) }
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
            let sizes = cart.dims.iter().map(|&dim| dim as i32);
            store("dims", sizes, dims, maxdims)?;
            let rings = cart.periods.iter().map(|&ring| i32::from(ring));
            store("periods", rings, periods, maxdims)?;
            let own = own.into_iter().map(|coord| coord as i32);
            store("coords", own, coords, maxdims)
        }
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
        unsafe { store("coords", found, coords, maxdims) }
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
        let found = if is_empty {
            abi::MPI_UNDEFINED
        } else {
            let cart = Cart::new(dims, &flags(periods), object.size() as u32)?;
            place(cart::rank_played(&object, &cart, true), cart.size())
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *newrank = found };
        Ok(())
    })
}

/// A rank of a topology; those beyond it have no place.
pub(crate) const fn place(rank: i32, size: u32) -> i32 {
    if (rank as u32) < size {
        rank
    } else {
        abi::MPI_UNDEFINED
    }
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
