// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the layer has done, for the statistics. Only rank 0 of a communicator counts, so sums over all ranks are sums over all calls.

pub(super) use crate::counts::add;
use crate::sync::AtomicU64;

crate::counts::counts! {
    /// Communicators whose ranks were placed.
    PLACED "placement.placed";
    /// Weight of the edges between nodes in the graphs that were looked at, without placement.
    BEFORE "placement.crossing_before";
    /// The same with it.
    AFTER "placement.crossing_after";
    /// Time in nanoseconds that calls with `reorder` took until their topology was made.
    TIME "placement.time_ns";
    /// Calls that were not placed, because there is one node, or one process on each.
    PASSED_NODES "placement.passed_nodes";
    /// Because no better placement was found.
    PASSED_BEST "placement.passed_best";
    /// Because an argument of a process is wrong.
    PASSED_ARGUMENTS "placement.passed_arguments";
    /// Because there are too many processes or edges.
    PASSED_SIZE "placement.passed_size";
    /// Because a call of the library failed.
    PASSED_FAILED "placement.passed_failed";
}

/// Why a call goes on as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    Nodes,
    Best,
    Arguments,
    Size,
    Failed,
}

impl Passed {
    pub(super) const fn count(self) -> &'static AtomicU64 {
        match self {
            Self::Nodes => &PASSED_NODES,
            Self::Best => &PASSED_BEST,
            Self::Arguments => &PASSED_ARGUMENTS,
            Self::Size => &PASSED_SIZE,
            Self::Failed => &PASSED_FAILED,
        }
    }
}
