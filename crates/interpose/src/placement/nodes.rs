// SPDX-License-Identifier: MIT OR Apache-2.0
//! The nodes of processes.

use std::collections::HashMap;
use std::sync::OnceLock;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Comm;

use crate::settings::Nodes;
use crate::table::REAL;

/// Where the ranks of MPI_COMM_WORLD are assumed to be.
static ASSUMED: OnceLock<Nodes> = OnceLock::new();

/// Assumes that ranks are on these nodes.
pub(super) fn assume(nodes: Nodes) {
    // Only the first call of all comes here.
    drop(ASSUMED.set(nodes));
}

/// A number that the processes of a node share; `None` if the library cannot say. All processes of the communicator call this.
pub(super) fn number(comm: MPI_Comm, rank: i32) -> Option<i32> {
    let assumed = ASSUMED.get();
    assumed.and_then(in_world).or_else(|| lowest(comm, rank))
}

/// The assumed node; `None` in a program that uses sessions only.
fn in_world(nodes: &Nodes) -> Option<i32> {
    let (mut is_initialised, mut rank, mut size) = (0, 0, 0);
    let library = REAL.get();
    // SAFETY: places of this function; the communicator is there once MPI is initialised.
    unsafe {
        (library.MPI_Initialized)(&raw mut is_initialised);
        if is_initialised == 0 {
            return None;
        }
        let codes = [
            (library.MPI_Comm_rank)(mpi::MPI_COMM_WORLD, &raw mut rank),
            (library.MPI_Comm_size)(mpi::MPI_COMM_WORLD, &raw mut size),
        ];
        (codes == [mpi::MPI_SUCCESS; 2]).then(|| nodes.of(rank as u32, size as u32) as i32)
    }
}

/// The lowest rank of the communicator that shares memory with this one.
fn lowest(comm: MPI_Comm, rank: i32) -> Option<i32> {
    let library = REAL.get();
    let (mut node, mut lowest) = (mpi::MPI_COMM_NULL, rank);
    // SAFETY: places of this function, and the communicator that the first call makes.
    unsafe {
        let kind = mpi::MPI_COMM_TYPE_SHARED;
        let made =
            (library.MPI_Comm_split_type)(comm, kind, rank, mpi::MPI_INFO_NULL, &raw mut node);
        if made != mpi::MPI_SUCCESS || node == mpi::MPI_COMM_NULL {
            return None;
        }
        let codes = [
            (library.MPI_Bcast)((&raw mut lowest).cast(), 1, mpi::MPI_INT, 0, node),
            (library.MPI_Comm_free)(&raw mut node),
        ];
        (codes == [mpi::MPI_SUCCESS; 2]).then_some(lowest)
    }
}

/// Nodes of which each process has named the number, numbered from 0 in the order of the processes.
pub(super) fn numbered(numbers: impl IntoIterator<Item = i32>) -> Vec<u32> {
    let mut known = HashMap::new();
    let node = |number| {
        let next = known.len() as u32;
        *known.entry(number).or_insert(next)
    };
    numbers.into_iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn nodes_are_numbered_as_they_come() {
        assert_eq!(numbered([4, 0, 4, 7, 0]), [0, 1, 0, 2, 1]);
        assert_eq!(numbered([]), [0; 0]);
    }
}
