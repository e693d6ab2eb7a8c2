// SPDX-License-Identifier: MIT OR Apache-2.0
//! What members of commons do in a turn, and up to which sizes on the straight line.

use algorithms::Operation;

use super::choose::SHORT_BYTES;
use crate::process::Process;

/// For each purpose, the bytes from which on its operation does not go along the straight line: because the table of
/// algorithms has it go another way, or because it would be long.
pub(super) fn short_limits(process: &Process, members: u32) -> [usize; Purpose::ALL.len() + 1] {
    let mut limits = [0; Purpose::ALL.len() + 1];
    if process.settings().check.collectives {
        return limits;
    }
    let table = &process.settings().algorithms;
    for purpose in Purpose::ALL {
        let operation = purpose.operation();
        let upto = table.shared_up_to(operation, members, 1, SHORT_BYTES);
        limits[purpose as usize] = match (upto, operation) {
            (None, _) => 0,
            // The bytes of all parts.
            (Some(bytes), Operation::ReduceScatter) => bytes * members as usize + 1,
            (Some(bytes), _) => bytes + 1,
        };
    }
    limits
}

/// What members do in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
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
}

impl Purpose {
    pub(super) const ALL: [Self; 10] = [
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
    ];

    const fn operation(self) -> Operation {
        match self {
            Self::Barrier => Operation::Barrier,
            Self::Bcast => Operation::Bcast,
            Self::Gather => Operation::Gather,
            Self::Scatter => Operation::Scatter,
            Self::Allgather => Operation::Allgather,
            Self::Alltoall => Operation::Alltoall,
            Self::Reduce => Operation::Reduce,
            Self::Allreduce => Operation::Allreduce,
            Self::ReduceScatter => Operation::ReduceScatter,
            Self::Scan => Operation::Scan,
        }
    }

    pub(super) fn of(word: u64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|&purpose| purpose as u64 == word >> 56)
    }
}
