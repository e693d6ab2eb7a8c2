// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds one after the other.

use super::nodes::between;
use super::trees::{doublings, levels};
use super::vectors::{Folded, segment_bytes};
use crate::case::Case;
use crate::names::{Algorithm, Operation};
use crate::shared;

pub(super) fn rounds(algorithm: Algorithm, parameter: u64, case: &Case) -> u64 {
    let operation = algorithm.operation();
    if case.ranks < 2 || (case.total == 0 && operation != Operation::Barrier) {
        return 0;
    }
    let others = u64::from(case.ranks) - 1;
    let log = doublings(case.ranks);
    let folded = Folded::new(case.ranks);
    let (inner, outer) = (u64::from(folded.ranks.ilog2()), u64::from(folded.extra > 0));
    match (operation, algorithm.name()) {
        (_, "shared") => area_rounds(operation, case),
        (_, "shared_parts") => shared::shares(case).map_or(1, |rounds| rounds.count as u64),
        (_, "shared_chain") => {
            let rounds = shared::elements(case).map_or(1, |rounds| rounds.count as u64);
            rounds + others - 1
        }
        (_, "hierarchical") => {
            // One step within a node before and after, at most.
            let (algorithm, parameter, case) = between(operation, case);
            let within = if matches!(
                operation,
                Operation::Bcast | Operation::Scatter | Operation::Gather | Operation::Reduce
            ) {
                1
            } else {
                2
            };
            within + rounds(algorithm, parameter, &case)
        }
        (_, "tree" | "dissemination" | "bruck") => log,
        (_, "knomial") => levels(case.ranks, parameter),
        (Operation::Scan, "linear") => others,
        (Operation::Alltoall, "linear") => others.div_ceil(parameter.max(1)),
        (_, "linear") => 1,
        (_, "scatter_ring") => log + others,
        (_, "scatter_doubling") => 2 * log,
        (Operation::Reduce | Operation::Allreduce | Operation::ReduceScatter, "chain") => {
            let segments = (case.total as u64).div_ceil(segment_bytes(parameter, case));
            let down = match operation {
                Operation::Allreduce => log,
                Operation::ReduceScatter => 1,
                _ => 0,
            };
            segments + others - 1 + down
        }
        (_, "direct") => 1,
        (_, "chain") => (case.bytes as u64).div_ceil(parameter.max(1)) + others - 1,
        (Operation::Allreduce, "ring") => 2 * others,
        (_, "ring" | "pairwise") => others,
        (Operation::Allgather | Operation::Scan, "recursive_doubling") => log,
        (_, "recursive_doubling") => inner + 2 * outer,
        (Operation::Reduce, "rabenseifner") => 2 * inner + outer * 2,
        (_, _) => 2 * inner + 2 * outer,
    }
}

pub(super) fn area_rounds(operation: Operation, case: &Case) -> u64 {
    let rounds = match operation {
        Operation::Barrier | Operation::Scan => None,
        Operation::Bcast | Operation::Gather | Operation::Scatter | Operation::Allgather => {
            Some(shared::blocks(case.bytes, case.ranks))
        }
        Operation::Alltoall => shared::parts(case.bytes, case.ranks),
        Operation::ReduceScatter => shared::element_parts(case),
        Operation::Reduce | Operation::Allreduce => shared::elements(case),
    };
    rounds.map_or(1, |rounds| rounds.count as u64)
}
