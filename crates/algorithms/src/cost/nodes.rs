// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks on several nodes: the first of each, and what these do among each other.

use crate::case::Case;
use crate::names::{Algorithm, Barrier, Listed, Operation};
use crate::table::Table;

/// The first rank of a node; of one beyond the last, the number of ranks.
pub(super) const fn first_of(case: &Case, node: u64) -> u64 {
    (node * case.ranks as u64).div_ceil(case.nodes as u64)
}

/// The algorithm of the first ranks of nodes, and their case.
pub(super) fn between(operation: Operation, case: &Case) -> (Algorithm, u64, Case) {
    let most = case.ranks.div_ceil(case.nodes) as usize;
    let blocks = matches!(
        operation,
        Operation::Gather | Operation::Scatter | Operation::Allgather
    );
    let case = Case {
        ranks: case.nodes,
        shared: false,
        equal: !matches!(operation, Operation::Gather | Operation::Scatter),
        bytes: if blocks {
            case.bytes * most
        } else {
            case.bytes
        },
        ..*case
    };
    let verdict = Table::builtin().examine(operation, &case).pop();
    match verdict {
        Some(verdict) => (verdict.rule.algorithm, verdict.rule.parameter, case),
        None => (Barrier::LAST_RESORT.into(), 0, case),
    }
}
