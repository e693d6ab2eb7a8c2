// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids (MPI-5.0, sections 8.5.1 and 8.5.2): ranks in row-major order.

use std::sync::Arc;

use super::Topology;
use crate::comm::{Comm, create};
use crate::errors::{Error, ErrorClass, Result};

/// A grid of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    /// Ranks in each dimension.
    pub dims: Vec<u32>,
    /// Whether each dimension is a ring.
    pub periods: Vec<bool>,
}

impl Cart {
    /// A grid that fits into `ranks` ranks.
    ///
    /// # Errors
    /// MPI_ERR_DIMS for a dimension below 1, or a grid of more ranks.
    pub fn new(dims: &[i32], periods: &[bool], ranks: u32) -> Result<Self> {
        let mut cells = 1u32;
        for &dim in dims {
            let next = u32::try_from(dim)
                .ok()
                .filter(|&dim| dim > 0)
                .and_then(|dim| cells.checked_mul(dim))
                .filter(|&cells| cells <= ranks);
            cells = next.ok_or_else(|| {
                let expected = format!("dimensions of 1 and more, {ranks} ranks in all");
                Error::argument(ErrorClass::ERR_DIMS, "dims", format!("{dims:?}"), expected)
            })?;
        }
        Ok(Self {
            dims: dims.iter().map(|&dim| dim as u32).collect(),
            periods: periods.to_vec(),
        })
    }

    /// Number of dimensions.
    pub const fn dimensions(&self) -> usize {
        self.dims.len()
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.dims.iter().product()
    }

    /// The coordinates of a rank of the grid.
    pub fn coords(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut coords: Vec<u32> = self
            .dims
            .iter()
            .rev()
            .map(|&dim| {
                let coord = rest % dim;
                rest /= dim;
                coord
            })
            .collect();
        coords.reverse();
        coords
    }

    /// The rank at some coordinates, which go round in rings; `None` outside the grid.
    pub fn rank(&self, coords: impl IntoIterator<Item = i64>) -> Option<u32> {
        let mut rank = 0;
        for ((coord, &dim), &ring) in coords.into_iter().zip(&self.dims).zip(&self.periods) {
            let inside = if ring {
                coord.rem_euclid(i64::from(dim))
            } else {
                coord
            };
            let inside = u32::try_from(inside).ok().filter(|&coord| coord < dim)?;
            rank = rank * dim + inside;
        }
        Some(rank)
    }

    /// The ranks `distance` steps before and after a rank in one dimension.
    pub fn shift(&self, rank: u32, dimension: usize, distance: i32) -> (Option<u32>, Option<u32>) {
        let coords = self.coords(rank);
        let at = |steps: i64| {
            let moved = coords.iter().enumerate().map(|(index, &coord)| {
                i64::from(coord) + if index == dimension { steps } else { 0 }
            });
            self.rank(moved)
        };
        (at(-i64::from(distance)), at(i64::from(distance)))
    }

    /// The grid of the dimensions that remain.
    fn part(&self, remains: &[bool]) -> Self {
        let kept = |index: &usize| remains[*index];
        Self {
            dims: (0..self.dims.len())
                .filter(kept)
                .map(|index| self.dims[index])
                .collect(),
            periods: (0..self.dims.len())
                .filter(kept)
                .map(|index| self.periods[index])
                .collect(),
        }
    }
}

/// A communicator with a grid (MPI_Cart_create); `None` on ranks that the grid has no room for.
///
/// # Errors
/// Those of [`Cart::new`].
pub fn create(comm: &Arc<Comm>, dims: &[i32], periods: &[bool]) -> Result<Option<Arc<Comm>>> {
    let cart = Cart::new(dims, periods, comm.size() as u32)?;
    let inside = (comm.rank() as u32) < cart.size();
    let color = if inside { 0 } else { create::UNDEFINED };
    let made = create::split(comm, color, comm.rank(), "MPI_Cart_create")?;
    if let Some(made) = &made {
        made.set_topology(Topology::Cart(Arc::new(cart)));
    }
    Ok(made)
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

/// Fills in the dimensions that are 0, so that the product of all is `ranks` and those filled in are as equal as can be, the
/// largest first (MPI_Dims_create): the largest is the smallest possible, then the second, and so on.
///
/// # Errors
/// MPI_ERR_DIMS when a given dimension is negative or the product of the given ones does not divide `ranks`.
pub fn balance(ranks: i32, dims: &mut [i32]) -> Result<()> {
    let wrong = |dims: &[i32]| {
        let expected = format!("0 or factors of the {ranks} ranks");
        Error::argument(ErrorClass::ERR_DIMS, "dims", format!("{dims:?}"), expected)
    };
    if ranks < 1 {
        let expected = "1 or more ranks";
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            "nnodes",
            ranks,
            expected,
        ));
    }
    let mut rest = i64::from(ranks);
    for &dim in dims.iter() {
        if dim < 0 || (dim > 0 && rest % i64::from(dim) != 0) {
            return Err(wrong(dims));
        }
        if dim > 0 {
            rest /= i64::from(dim);
        }
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    if free == 0 {
        return if rest == 1 { Ok(()) } else { Err(wrong(dims)) };
    }
    let mut found = Vec::with_capacity(free);
    let filled = factors(rest as u32, free, u32::MAX, &mut found);
    debug_assert!(filled, "a factor of everything is always possible");
    let mut found = found.into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = found.next().unwrap_or(1) as i32;
    }
    Ok(())
}

/// Finds `count` factors of `product`, not increasing, none above `limit`, the first as small as possible, then the next.
fn factors(product: u32, count: usize, limit: u32, found: &mut Vec<u32>) -> bool {
    if count == 1 {
        found.push(product);
        return product <= limit;
    }
    let mut divisors: Vec<u32> = (1..)
        .take_while(|&small| u64::from(small) * u64::from(small) <= u64::from(product))
        .filter(|small| product.is_multiple_of(*small))
        .flat_map(|small| [small, product / small])
        .filter(|&divisor| divisor <= limit)
        .collect();
    divisors.sort_unstable();
    for largest in divisors {
        let fits = (0..count).try_fold(1u64, |power, _| {
            let next = power.saturating_mul(u64::from(largest));
            (next < u64::from(product)).then_some(next)
        });
        // The power of the largest reaches the product: only then can the others, which are no larger, make it up.
        if fits.is_some() {
            continue;
        }
        let length = found.len();
        found.push(largest);
        if factors(product / largest, count - 1, largest, found) {
            return true;
        }
        found.truncate(length);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balanced(ranks: i32, dims: &[i32]) -> Vec<i32> {
        let mut dims = dims.to_vec();
        balance(ranks, &mut dims).unwrap();
        dims
    }

    #[test]
    fn dimensions_are_as_equal_as_can_be() {
        assert_eq!(balanced(6, &[0, 0]), [3, 2]);
        assert_eq!(balanced(7, &[0, 0]), [7, 1]);
        assert_eq!(balanced(6, &[0, 3, 0]), [2, 3, 1]);
        assert_eq!(balanced(64, &[0, 0, 0]), [4, 4, 4]);
        assert_eq!(balanced(16, &[0, 0, 0]), [4, 2, 2]);
        assert_eq!(balanced(90, &[0, 0, 0]), [6, 5, 3]);
        assert_eq!(balanced(1, &[0, 0]), [1, 1]);
        assert_eq!(balanced(12, &[4, 3]), [4, 3]);
        assert!(balance(7, &mut [2, 0]).is_err());
        assert!(balance(12, &mut [4, 4]).is_err());
        assert!(balance(12, &mut [-1, 0]).is_err());
    }

    #[test]
    fn every_product_is_found_and_its_largest_factor_is_least() {
        for ranks in 1..=400u32 {
            let dims = balanced(ranks as i32, &[0, 0, 0]);
            assert!(dims.is_sorted_by(|a, b| a >= b), "{ranks}: {dims:?}");
            assert_eq!(dims.iter().product::<i32>(), ranks as i32);
            let least = (1..=ranks)
                .filter(|a| ranks.is_multiple_of(*a))
                .find(|&a| (1..=a).any(|b| (ranks / a).is_multiple_of(b) && ranks / a / b <= b));
            assert_eq!(least, Some(dims[0] as u32), "{ranks}: {dims:?}");
        }
    }

    #[test]
    fn ranks_and_coordinates_are_inverse_and_rings_close() {
        let cart = Cart::new(&[2, 3, 4], &[true, false, true], 30).unwrap();
        for rank in 0..cart.size() {
            let coords = cart.coords(rank);
            assert_eq!(cart.rank(coords.iter().map(|&c| i64::from(c))), Some(rank));
        }
        assert_eq!(cart.rank([-1, 0, 5]), Some(13));
        assert_eq!(cart.rank([0, 3, 0]), None);
        assert_eq!(cart.shift(0, 1, 1), (None, Some(4)));
        assert_eq!(cart.shift(0, 2, 1), (Some(3), Some(1)));
        assert!(Cart::new(&[5, 7], &[false; 2], 34).is_err());
        assert!(Cart::new(&[0], &[false], 4).is_err());
    }
}
