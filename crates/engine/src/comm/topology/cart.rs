// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids (MPI-5.0, sections 8.5.1 and 8.5.2): ranks in row-major order.

use crate::errors::{Error, ErrorClass, Result};

/// Most dimensions that an array or a grid may have: a larger number stands for no array of the program.
pub const MOST_DIMENSIONS: i32 = 1 << 16;

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
        if let Some(index) = dims.iter().position(|&dim| dim < 1) {
            let (class, expected) = (ErrorClass::ERR_DIMS, "dimensions of 1 and more");
            return Err(Error::argument(class, "dims", dims[index], expected).at_index(index));
        }
        let product = |cells: u64, &dim: &i32| cells.saturating_mul(dim as u64);
        let cells = dims.iter().fold(1, product);
        if cells > u64::from(ranks) {
            let value = match cells {
                u64::MAX => format!("{dims:?}"),
                _ => format!("{dims:?}, which is {cells} ranks"),
            };
            let expected = format!("a grid of at most {ranks} ranks");
            return Err(Error::argument(
                ErrorClass::ERR_DIMS,
                "dims",
                value,
                expected,
            ));
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
    pub(crate) fn part(&self, remains: &[bool]) -> Self {
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

/// Fills in the dimensions that are 0, so that the product of all is `ranks` and those filled in are as close to each other as
/// can be, the largest first (MPI_Dims_create): the distance between the largest and the smallest is the least possible, and
/// of those the smallest is the largest possible, then the second smallest, and so on.
///
/// # Errors
/// MPI_ERR_DIMS when a given dimension is negative or the product of the given ones does not divide `ranks`.
pub fn balance(ranks: i32, dims: &mut [i32]) -> Result<()> {
    let wrong = |dims: &[i32]| {
        let expected = format!("0, or factors whose product divides the {ranks} ranks");
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
    if let Some(index) = dims.iter().position(|&dim| dim < 0) {
        let (class, expected) = (ErrorClass::ERR_DIMS, "0, or a number of ranks");
        return Err(Error::argument(class, "dims", dims[index], expected).at_index(index));
    }
    let mut rest = i64::from(ranks);
    for &dim in dims.iter().filter(|&&dim| dim > 0) {
        if rest % i64::from(dim) != 0 {
            return Err(wrong(dims));
        }
        rest /= i64::from(dim);
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    if free == 0 && rest > 1 {
        let expected = format!("a 0 to be filled in, or factors whose product is {ranks}");
        let value = format!("{dims:?}");
        return Err(Error::argument(
            ErrorClass::ERR_DIMS,
            "dims",
            value,
            expected,
        ));
    }
    if free == 0 {
        return Ok(());
    }
    // A product below 2^31 has at most 30 factors above 1: all others of more dimensions are 1.
    let mut found = closest(rest as u32, free.min(31)).into_iter().rev();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = found.next().unwrap_or(1) as i32;
    }
    Ok(())
}

/// The `count` factors of `product`, not decreasing, that are closest to each other.
fn closest(product: u32, count: usize) -> Vec<u32> {
    let mut divisors: Vec<u32> = (1..)
        .take_while(|&small| u64::from(small) * u64::from(small) <= u64::from(product))
        .filter(|small| product.is_multiple_of(*small))
        .flat_map(|small| [small, product / small])
        .collect();
    divisors.sort_unstable();
    divisors.dedup();
    let mut best = vec![1; count];
    best[count - 1] = product;
    let mut search = Search {
        divisors: &divisors,
        taken: Vec::with_capacity(count),
        best,
    };
    search.extend(product, count);
    search.best
}

/// Searches all products of non-decreasing factors, depth first, trying large smallest factors first.
struct Search<'a> {
    /// Of the whole product, in order.
    divisors: &'a [u32],
    taken: Vec<u32>,
    /// The factors with the smallest distance between largest and smallest; of equals the first that was found.
    best: Vec<u32>,
}

impl Search<'_> {
    /// The distance between the largest and the smallest of the best factors.
    fn spread(&self) -> u32 {
        self.best[self.best.len() - 1] - self.best[0]
    }

    /// Tries all factors of `rest`, of which `count` are still to be found.
    fn extend(&mut self, rest: u32, count: usize) {
        let smallest = self.taken.first().copied();
        let least = self.taken.last().copied().unwrap_or(1);
        if count == 1 {
            if rest >= least && rest - smallest.unwrap_or(rest) < self.spread() {
                self.taken.push(rest);
                self.best.clone_from(&self.taken);
                self.taken.pop();
            }
            return;
        }
        // The factors do not decrease, so the next one is at most the root of the rest.
        let fits = |factor: u32| {
            let power = (0..count).try_fold(1u32, |power, _| power.checked_mul(factor));
            power.is_some_and(|power| power <= rest)
        };
        for index in (0..self.divisors.len()).rev() {
            let factor = self.divisors[index];
            if factor < least {
                break;
            }
            if !rest.is_multiple_of(factor) || !fits(factor) {
                continue;
            }
            let smallest = smallest.unwrap_or(factor);
            // All other factors must be below this limit to improve on the best.
            let limit = u64::from(smallest) + u64::from(self.spread());
            if !reaches(rest / factor, count - 1, limit) {
                continue;
            }
            self.taken.push(factor);
            self.extend(rest / factor, count - 1);
            self.taken.pop();
        }
    }
}

/// Whether `count` factors below `limit` can have the product `rest`, as far as sizes say.
fn reaches(rest: u32, count: usize, limit: u64) -> bool {
    let most = (0..count).try_fold(1u64, |power, _| power.checked_mul(limit.saturating_sub(1)));
    most.is_none_or(|most| most >= u64::from(rest))
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
    fn the_largest_and_the_smallest_are_as_close_as_can_be() {
        for ranks in 1..=1000i32 {
            let found = balanced(ranks, &[0, 0, 0]);
            let divides = |product: i32| move |factor: &i32| product % factor == 0;
            let divisions = (1..=ranks)
                .filter(divides(ranks))
                .flat_map(|low| {
                    (low..=ranks / low)
                        .filter(divides(ranks / low))
                        .map(move |middle| [ranks / low / middle, middle, low])
                })
                .filter(|[high, middle, _]| high >= middle);
            let best = divisions.min_by_key(|&[high, middle, low]| (high - low, -low, -middle));
            assert_eq!(best.map(Vec::from), Some(found), "{ranks}");
        }
    }

    #[test]
    fn large_numbers_with_many_divisors_are_no_trouble() {
        assert_eq!(balanced(34425, &[0, 0, 0]), [51, 27, 25]);
        assert_eq!(balanced(5040, &[0, 0, 0]), [21, 16, 15]);
        assert_eq!(balanced(i32::MAX, &[0, 0, 0]), [i32::MAX, 1, 1]);
        for dims in 1..=12 {
            let found = balanced(1_396_755_360, &vec![0; dims]);
            assert_eq!(found.iter().product::<i32>(), 1_396_755_360, "{found:?}");
        }
        assert_eq!(balanced(1 << 30, &[0; 30]), [2; 30]);
        let many = balanced(12, &vec![0; 60_000]);
        assert_eq!((many[..3].iter().product::<i32>(), many[3]), (12, 1));
        assert_eq!(balanced(1, &vec![0; 60_000]), vec![1; 60_000]);
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
