// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids of ranks, whose number of dimensions is part of the type (MPI-5.0, sections 8.5 and 8.6).

use std::fmt;
use std::ops::Deref;

use engine::coll::neighbour;
use engine::topo::cart;
use engine::{Error, ErrorClass, Result};

use crate::buffer::{Incoming, Outgoing};
use crate::communicator::number;
use crate::data::zeros;
use crate::planned::{lent, lent_mut};
use crate::threads::{OneThread, Threads};
use crate::{Communicator, Datatype};

/// One value for each neighbour in a grid: in each dimension for the lower and the upper one.
pub type Neighbours<D, const N: usize> = [[D; 2]; N];

/// A communicator whose ranks form a grid of `N` dimensions, in row-major order.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let dims = rankpoint::balanced_dims(world.size(), [None, Some(1)])?;
/// let Some(grid) = world.cart(dims, [true, false])? else { return Ok(()) };
/// let [row, column] = grid.coords();
/// assert_eq!(grid.rank_at([row as i64, column as i64]), Some(grid.rank()));
/// assert_eq!(grid.neighbours()[1], [None, None]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// Coordinates of another number of dimensions do not compile:
///
/// ```compile_fail
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let grid = world.cart([1, 1], [false; 2])?.unwrap();
/// grid.rank_at([0, 0, 0]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct Cart<'u, const N: usize, T: Threads = OneThread> {
    comm: Communicator<'u, T>,
    grid: cart::Cart,
}

/// Fills in the dimensions that are `None`, so that `ranks` ranks form the grid and those filled in are as equal as can be
/// (MPI_Dims_create).
///
/// # Errors
/// When the given dimensions do not divide the ranks.
pub fn balanced_dims<const N: usize>(
    ranks: usize,
    given: [Option<usize>; N],
) -> Result<[usize; N]> {
    let mut dims = [0; N];
    for (dim, given) in dims.iter_mut().zip(given) {
        *dim = match given {
            // 0 stands for a dimension to be filled in.
            Some(0) => -1,
            Some(given) => number("given", given)?,
            None => 0,
        };
    }
    cart::balance(number("ranks", ranks)?, &mut dims)
        .map_err(|error| error.in_call("balanced_dims"))?;
    Ok(dims.map(|dim| dim as usize))
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// A grid of these ranks; `periods` says which dimensions are rings (MPI_Cart_create). Called by all ranks; those that
    /// the grid has no room for get `None`.
    ///
    /// # Errors
    /// When a dimension is 0, or the grid has more places than there are ranks.
    pub fn cart<const N: usize>(
        &self,
        dims: [usize; N],
        periods: [bool; N],
    ) -> Result<Option<Cart<'u, N, T>>> {
        self.make_cart(dims, periods, false)
    }

    pub(crate) fn make_cart<const N: usize>(
        &self,
        dims: [usize; N],
        periods: [bool; N],
        reorder: bool,
    ) -> Result<Option<Cart<'u, N, T>>> {
        self.run("Communicator::cart", |this| {
            let mut sizes = [0; N];
            for (size, dim) in sizes.iter_mut().zip(dims) {
                *size = number("dims", dim)?;
            }
            let made = cart::create(this.shared(), &sizes, &periods, reorder)?;
            made.map(|comm| Cart::new(Self::owned(comm))).transpose()
        })
    }
}

impl<'u, const N: usize, T: Threads> Cart<'u, N, T> {
    fn new(comm: Communicator<'u, T>) -> Result<Self> {
        let grid = cart::Cart::clone(engine::topo::cart(comm.comm())?);
        Ok(Self { comm, grid })
    }

    /// Ranks in each dimension.
    pub fn dims(&self) -> [usize; N] {
        std::array::from_fn(|dimension| self.grid.dims[dimension] as usize)
    }

    /// Which dimensions are rings.
    pub fn periods(&self) -> [bool; N] {
        std::array::from_fn(|dimension| self.grid.periods[dimension])
    }

    /// This rank's coordinates.
    pub fn coords(&self) -> [usize; N] {
        self.coords_at(self.rank())
    }

    /// A rank's coordinates (MPI_Cart_coords).
    ///
    /// # Errors
    /// When there is no such rank.
    pub fn coords_of(&self, rank: usize) -> Result<[usize; N]> {
        self.run("Cart::coords_of", |comm| {
            if rank < comm.size() {
                return Ok(self.coords_at(rank));
            }
            let expected = format!("a rank, 0..{}", comm.size() - 1);
            let class = ErrorClass::ERR_RANK;
            Err(Error::argument(class, "rank", rank, expected))
        })
    }

    fn coords_at(&self, rank: usize) -> [usize; N] {
        let coords = self.grid.coords(rank as u32);
        std::array::from_fn(|dimension| coords[dimension] as usize)
    }

    /// The rank at some coordinates, which go round in rings; `None` outside the grid (MPI_Cart_rank).
    pub fn rank_at(&self, coords: [i64; N]) -> Option<usize> {
        self.grid.rank(coords).map(|rank| rank as usize)
    }

    /// The ranks before and after this one in each dimension; `None` where the grid ends (MPI_Cart_shift by 1).
    pub fn neighbours(&self) -> Neighbours<Option<usize>, N> {
        std::array::from_fn(|dimension| {
            let (before, after) = self.grid.shift(self.rank() as u32, dimension, 1);
            [before, after].map(|rank| rank.map(|rank| rank as usize))
        })
    }

    /// The grids of some of the dimensions, in which the coordinates of the others are the same (MPI_Cart_sub). Called by all
    /// ranks.
    ///
    /// # Errors
    /// When the dimensions do not exist or do not increase.
    pub fn slice<const M: usize>(&self, keep: [usize; M]) -> Result<Cart<'u, M, T>> {
        self.run("Cart::slice", |comm| {
            if !keep.is_sorted_by(|a, b| a < b) || keep.iter().any(|&dimension| dimension >= N) {
                let expected = format!("increasing dimensions below {N}");
                let (class, value) = (ErrorClass::ERR_ARG, format!("{keep:?}"));
                return Err(Error::argument(class, "keep", value, expected));
            }
            let remains: [bool; N] = std::array::from_fn(|dimension| keep.contains(&dimension));
            match cart::sub(comm.shared(), &remains)? {
                Some(made) => Cart::new(Communicator::owned(made)),
                None => Err(Error::new(
                    ErrorClass::ERR_INTERN,
                    "a rank of a grid got no part of it",
                )),
            }
        })
    }

    /// Sends a buffer to each neighbour and receives into one from each, as long as the sender's is (MPI_Neighbor_alltoallw):
    /// `send[d][1]` arrives in the next rank's `receive[d][0]`. The buffers are references to slices and values, or views.
    /// Where the grid ends they are left alone.
    ///
    /// ```
    /// use rankpoint::SectionMut;
    ///
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let grid = world.cart([world.size()], [true])?.expect("the grid has room for all");
    /// // A field of 4 rows with a column more on each side, which shows the neighbour's.
    /// let mut field = vec![world.rank(); 4 * 10];
    /// let whole = SectionMut::new(&mut field, [4, 10])?;
    /// let (left, rest) = whole.split_at(1, 1)?;
    /// let (inner, right) = rest.split_at(1, 8)?;
    /// let (first, rest) = inner.as_section().split_at(1, 1)?;
    /// let (_, last) = rest.split_at(1, 6)?;
    /// grid.neighbour_exchange([[first, last]], [[left, right]])?;
    /// assert_eq!(field[10], grid.neighbours()[0][0].unwrap());
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a neighbour's data are longer than the buffer for them.
    pub fn neighbour_exchange<'s, 'r, S: Outgoing<'s>, R: Incoming<'r>>(
        &self,
        send: Neighbours<S, N>,
        mut receive: Neighbours<R, N>,
    ) -> Result<()> {
        let call = "Cart::neighbour_exchange";
        self.run(call, |comm| {
            let send = lent(send.as_flattened())?;
            let receive = lent_mut(receive.as_flattened_mut())?;
            let work = neighbour::exchange(comm.shared().clone(), send, receive);
            comm.collect(call, work)
        })
    }

    /// Collects equally long data of all neighbours (MPI_Neighbor_allgather); `None` where the grid ends.
    ///
    /// # Errors
    /// When a neighbour's data are longer.
    pub fn neighbour_all_gather<V: Datatype>(
        &self,
        data: &[V],
    ) -> Result<Neighbours<Option<Vec<V>>, N>> {
        let there = self.neighbours();
        let mut found = there.map(|pair| pair.map(|rank| rank.map(|_| zeros::<V>(data.len()))));
        let receive = found.each_mut().map(|pair| {
            pair.each_mut()
                .map(|room| room.as_deref_mut().unwrap_or_default())
        });
        self.neighbour_exchange([[data; 2]; N], receive)?;
        Ok(found)
    }
}

impl<'u, const N: usize, T: Threads> Deref for Cart<'u, N, T> {
    type Target = Communicator<'u, T>;

    fn deref(&self) -> &Communicator<'u, T> {
        &self.comm
    }
}

impl<const N: usize, T: Threads> fmt::Debug for Cart<'_, N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cart({:?} at {:?})", self.dims(), self.coords())
    }
}
