// SPDX-License-Identifier: MIT OR Apache-2.0
//! The purposes of rounds, and the sizes up to which their operations use the fast path.

use algorithms::{
    Algorithm, Allgather, Allreduce, Alltoall, Barrier, Bcast, Gather, Operation, Reduce,
    ReduceScatter, Scan, Scatter,
};

use algorithms::shared::buffer_bytes;

use crate::coll::select::FAST_BYTES;
use crate::comm::Process;

/// For each purpose, the bytes from which on its operation does not use the fast path: because the table of algorithms chooses
/// another algorithm, or because the operation needs more than one round.
pub(in crate::coll) fn fast_limits(
    process: &Process,
    members: u32,
) -> [usize; Purpose::ALL.len() + 1] {
    let mut limits = [0; Purpose::ALL.len() + 1];
    if process.settings().watches_collectives() {
        return limits;
    }
    let settings = process.settings();
    let reproducible = settings.reproducible != 0;
    for purpose in Purpose::ALL {
        let algorithm = purpose.algorithm();
        let upto = settings
            .algorithms
            .always_up_to(algorithm, members, FAST_BYTES, reproducible);
        limits[purpose as usize] = match (upto, algorithm.operation()) {
            (None, _) => 0,
            // One round has what a buffer holds: the bytes of all parts, or of all blocks.
            (Some(bytes), Operation::ReduceScatter) => {
                (bytes * members as usize).min(buffer_bytes(members)) + 1
            }
            (Some(bytes), Operation::Alltoall) => {
                bytes.min(buffer_bytes(members) / members as usize) + 1
            }
            (Some(bytes), _) => bytes + 1,
        };
    }
    limits
}

/// The purpose of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coll) enum Purpose {
    Barrier = 1,
    Bcast,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    ScanChain,
}

impl Purpose {
    pub(in crate::coll) const ALL: [Self; 11] = [
        Self::Barrier,
        Self::Bcast,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::Alltoall,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatter,
        Self::Scan,
        Self::ScanChain,
    ];

    fn algorithm(self) -> Algorithm {
        match self {
            Self::Barrier => Barrier::Shared.into(),
            Self::Bcast => Bcast::Shared.into(),
            Self::Gather => Gather::Shared.into(),
            Self::Scatter => Scatter::Shared.into(),
            Self::Allgather => Allgather::Shared.into(),
            Self::Alltoall => Alltoall::Shared.into(),
            Self::Reduce => Reduce::Shared.into(),
            Self::Allreduce => Allreduce::Shared.into(),
            Self::ReduceScatter => ReduceScatter::Shared.into(),
            Self::Scan => Scan::Shared.into(),
            Self::ScanChain => Scan::SharedChain.into(),
        }
    }

    pub(in crate::coll) fn of(word: u64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|&purpose| purpose as u64 == word >> 56)
    }
}

/// What stamps tell.
#[inline(always)]
pub(in crate::coll) const fn stamped(purpose: Purpose, bytes: usize) -> u64 {
    (purpose as u64) << 56 | bytes as u64
}
