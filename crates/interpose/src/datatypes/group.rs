// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who takes part in a collective.

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::wire;
use crate::table::REAL;

/// This process among the members of a communicator.
pub(super) struct Group {
    /// Its rank.
    pub(super) rank: usize,
    /// The number of members.
    pub(super) size: usize,
}

impl Group {
    /// The members, where collectives move packed data; `None` is the answer at all of them.
    pub(super) fn of(comm: MPI_Comm) -> Option<Self> {
        if comm == mpi::MPI_COMM_NULL {
            return None;
        }
        let (mut is_inter, mut rank, mut size) = (0, 0, 0);
        let library = REAL.get();
        // SAFETY: the program's communicator, and places of this function.
        let codes = unsafe {
            [
                (library.MPI_Comm_test_inter)(comm, &raw mut is_inter),
                (library.MPI_Comm_rank)(comm, &raw mut rank),
                (library.MPI_Comm_size)(comm, &raw mut size),
            ]
        };
        let is_usual = codes == [mpi::MPI_SUCCESS; 3] && is_inter == 0 && wire::is_shared(comm);
        let (rank, size) = (usize::try_from(rank).ok()?, usize::try_from(size).ok()?);
        is_usual.then_some(Self { rank, size })
    }

    /// Whether this process has a rank.
    pub(super) fn is(&self, rank: i32) -> bool {
        usize::try_from(rank) == Ok(self.rank)
    }
}

/// The neighbours of this process in the order of its blocks, and whether each is there: at the edges of a grid some are missing.
pub(super) struct Neighbours {
    /// Those that it receives from.
    pub(super) sources: Vec<bool>,
    /// Those that it sends to.
    pub(super) destinations: Vec<bool>,
}

impl Neighbours {
    /// The neighbours; `None` without a topology, and where [`Group::of`] has none.
    pub(super) fn of(comm: MPI_Comm) -> Option<Self> {
        let group = Group::of(comm)?;
        let (mut kind, mut arriving, mut leaving, mut is_weighted) = (mpi::MPI_UNDEFINED, 0, 0, 0);
        let (library, rank) = (REAL.get(), group.rank as i32);
        // SAFETY: the program's communicator, which has the topology that is asked for, and places of this function.
        unsafe {
            (library.MPI_Topo_test)(comm, &raw mut kind);
            let code = match kind {
                mpi::MPI_CART => return grid(comm),
                mpi::MPI_GRAPH => {
                    let code = (library.MPI_Graph_neighbors_count)(comm, rank, &raw mut arriving);
                    leaving = arriving;
                    code
                }
                mpi::MPI_DIST_GRAPH => (library.MPI_Dist_graph_neighbors_count)(
                    comm,
                    &raw mut arriving,
                    &raw mut leaving,
                    &raw mut is_weighted,
                ),
                _ => return None,
            };
            let all = |number: i32| Some(vec![true; usize::try_from(number).ok()?]);
            let (sources, destinations) = (all(arriving)?, all(leaving)?);
            (code == mpi::MPI_SUCCESS).then_some(Self {
                sources,
                destinations,
            })
        }
    }
}

/// The neighbours in a grid: in each dimension the one before and the one behind.
fn grid(comm: MPI_Comm) -> Option<Neighbours> {
    let mut count = 0;
    let library = REAL.get();
    // SAFETY: a communicator with a grid, and arrays of the length that is passed.
    let (code, dims, periods, coords) = unsafe {
        if (library.MPI_Cartdim_get)(comm, &raw mut count) != mpi::MPI_SUCCESS {
            return None;
        }
        let none = vec![0; usize::try_from(count).ok()?];
        let (mut dims, mut periods, mut coords) = (none.clone(), none.clone(), none);
        let (to_dims, to_periods) = (dims.as_mut_ptr(), periods.as_mut_ptr());
        let code = (library.MPI_Cart_get)(comm, count, to_dims, to_periods, coords.as_mut_ptr());
        (code, dims, periods, coords)
    };
    let dimensions = dims.iter().zip(&periods).zip(&coords);
    let are_there = dimensions.flat_map(|((&size, &is_periodic), &at)| {
        let is_ring = is_periodic != 0;
        [is_ring || at > 0, is_ring || at + 1 < size]
    });
    let sources: Vec<bool> = are_there.collect();
    let destinations = sources.clone();
    (code == mpi::MPI_SUCCESS).then_some(Neighbours {
        sources,
        destinations,
    })
}
