// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths of arrays that only the communicator knows.

use mpi_abi_sys::constants::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH, MPI_SUCCESS};

use crate::handle;
use crate::library::profiling as mpi;

fn entries(code: i32, count: i32) -> usize {
    if code == MPI_SUCCESS {
        handle::count(count.into())
    } else {
        0
    }
}

/// Dimensions of a Cartesian communicator.
///
/// # Safety
/// As the C functions, which take any communicator.
pub(crate) unsafe fn dimensions(comm: i32) -> usize {
    let (mut kind, mut count) = (0, 0);
    // SAFETY: the results are locals.
    unsafe {
        let comm = handle::find::<handle::Comm>(comm);
        if mpi::MPI_Topo_test(comm, &mut kind) != MPI_SUCCESS || kind != MPI_CART {
            return 0;
        }
        entries(mpi::MPI_Cartdim_get(comm, &mut count), count)
    }
}

/// Processes of a communicator that a collective call exchanges data with.
///
/// # Safety
/// As the C functions, which take any communicator.
pub(crate) unsafe fn peers(comm: i32) -> usize {
    let (mut is_inter, mut count) = (0, 0);
    // SAFETY: the results are locals.
    unsafe {
        let comm = handle::find::<handle::Comm>(comm);
        if mpi::MPI_Comm_test_inter(comm, &mut is_inter) != MPI_SUCCESS {
            return 0;
        }
        let code = match is_inter {
            0 => mpi::MPI_Comm_size(comm, &mut count),
            _ => mpi::MPI_Comm_remote_size(comm, &mut count),
        };
        entries(code, count)
    }
}

/// Neighbours in a topology.
#[derive(Default)]
pub(crate) struct Neighbours {
    /// Those that this process sends to.
    pub(crate) send: usize,
    /// Those that it receives from.
    pub(crate) receive: usize,
}

/// # Safety
/// As the C functions, which take any communicator.
pub(crate) unsafe fn neighbours(comm: i32) -> Neighbours {
    let both = |count| Neighbours {
        send: count,
        receive: count,
    };
    let (mut kind, mut rank, mut count) = (0, 0, 0);
    let (mut sources, mut destinations, mut is_weighted) = (0, 0, 0);
    // SAFETY: the results are locals.
    unsafe {
        let number = comm;
        let comm = handle::find::<handle::Comm>(comm);
        if mpi::MPI_Topo_test(comm, &mut kind) != MPI_SUCCESS {
            return Neighbours::default();
        }
        match kind {
            MPI_CART => both(2 * dimensions(number)),
            MPI_GRAPH => {
                if mpi::MPI_Comm_rank(comm, &mut rank) != MPI_SUCCESS {
                    return Neighbours::default();
                }
                let code = mpi::MPI_Graph_neighbors_count(comm, rank, &mut count);
                both(entries(code, count))
            }
            MPI_DIST_GRAPH => {
                let code = mpi::MPI_Dist_graph_neighbors_count(
                    comm,
                    &mut sources,
                    &mut destinations,
                    &mut is_weighted,
                );
                Neighbours {
                    send: entries(code, destinations),
                    receive: entries(code, sources),
                }
            }
            _ => Neighbours::default(),
        }
    }
}
