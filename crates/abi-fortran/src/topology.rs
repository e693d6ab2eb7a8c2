// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths of arrays that only the communicator knows.

use mpi_abi_sys::constants::{
    MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH, MPI_PROC_NULL, MPI_ROOT, MPI_SUCCESS,
};

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

/// Processes of this one's group, as a number of blocks.
///
/// # Safety
/// As the C functions, which take any communicator.
pub(crate) unsafe fn members(comm: i32) -> i64 {
    let mut count = 0;
    // SAFETY: the result is a local.
    unsafe {
        let comm = handle::find::<handle::Comm>(comm);
        let code = mpi::MPI_Comm_size(comm, &mut count);
        entries(code, count) as i64
    }
}

/// 1 if this process is the root of a collective call, else 0.
///
/// # Safety
/// As the C functions, which take any communicator.
pub(crate) unsafe fn is_root(comm: i32, root: i32) -> i64 {
    let mut rank = MPI_PROC_NULL;
    // SAFETY: the result is a local.
    unsafe {
        mpi::MPI_Comm_rank(handle::find::<handle::Comm>(comm), &mut rank);
        // The root of an intercommunicator says so itself.
        i64::from(root == MPI_ROOT || (root == rank && !is_inter(comm)))
    }
}

/// 1 if this process exchanges data with the root of a collective call, as the root itself does on an intracommunicator; else 0.
pub(crate) fn is_leaf(root: i32) -> i64 {
    i64::from(root >= 0)
}

/// 1 if this process takes part in a collective call with a root, else 0.
pub(crate) fn is_part(root: i32) -> i64 {
    i64::from(root != MPI_PROC_NULL)
}

unsafe fn is_inter(comm: i32) -> bool {
    let mut is_inter = 0;
    // SAFETY: the result is a local.
    let code =
        unsafe { mpi::MPI_Comm_test_inter(handle::find::<handle::Comm>(comm), &mut is_inter) };
    code == MPI_SUCCESS && is_inter != 0
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
