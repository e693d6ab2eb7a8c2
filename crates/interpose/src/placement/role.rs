// SPDX-License-Identifier: MIT OR Apache-2.0
//! The edges that were given for the rank that a process has now (MPI_Dist_graph_create_adjacent).

use mpi_abi_sys::constants as mpi;

use super::given::Role;
use super::order::Ordered;
use crate::table::REAL;

/// Of the messages: nothing else uses the communicator.
const TAG: i32 = 0;

/// The edges of a rank, as arguments of the library.
pub(super) struct Owned {
    pub(super) sources: Vec<i32>,
    pub(super) destinations: Vec<i32>,
    weights: Option<(Vec<i32>, Vec<i32>)>,
}

impl Owned {
    /// The weights of arriving edges and of leaving ones.
    pub(super) fn weights(&self) -> [*const i32; 2] {
        let Some((arriving, leaving)) = &self.weights else {
            return [std::ptr::without_provenance(mpi::MPI_UNWEIGHTED); 2];
        };
        [arriving, leaving].map(|weights| match weights[..] {
            [] => std::ptr::without_provenance(mpi::MPI_WEIGHTS_EMPTY),
            _ => weights.as_ptr(),
        })
    }
}

/// Sends the edges of the old rank of this process to the process that has this rank now, and receives those of its new rank. All
/// processes call this together.
///
/// # Errors
/// The library's code.
pub(super) fn exchange(ordered: &Ordered, old: &Role<'_>) -> Result<Owned, i32> {
    let is_weighted = i32::from(old.weights.is_some());
    let lengths = [old.sources.len(), old.destinations.len()].map(|length| length as i32);
    let own = [lengths[0], lengths[1], is_weighted];
    let new = pass_on(ordered, &own, 3)?;
    let (arriving, leaving) = (new[0] as usize, new[1] as usize);
    let sources = pass_on(ordered, old.sources, arriving)?;
    let destinations = pass_on(ordered, old.destinations, leaving)?;
    let factor = new[2] as usize;
    let (old_arriving, old_leaving) = old.weights.unwrap_or_default();
    let weights = (
        pass_on(ordered, old_arriving, factor * arriving)?,
        pass_on(ordered, old_leaving, factor * leaving)?,
    );
    Ok(Owned {
        sources,
        destinations,
        weights: (new[2] != 0).then_some(weights),
    })
}

/// Sends a list of the old rank, and receives one of so many elements of the new rank.
fn pass_on(ordered: &Ordered, old: &[i32], count: usize) -> Result<Vec<i32>, i32> {
    let mut new = vec![0; count];
    // SAFETY: as many integers as both lists have. No status is wanted.
    let code = unsafe {
        (REAL.get().MPI_Sendrecv)(
            old.as_ptr().cast(),
            old.len() as i32,
            mpi::MPI_INT,
            ordered.old,
            TAG,
            new.as_mut_ptr().cast(),
            count as i32,
            mpi::MPI_INT,
            ordered.giver,
            TAG,
            ordered.comm(),
            std::ptr::without_provenance_mut(mpi::MPI_STATUS_IGNORE),
        )
    };
    if code == mpi::MPI_SUCCESS {
        Ok(new)
    } else {
        Err(code)
    }
}
