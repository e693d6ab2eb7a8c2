// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which algorithm a collective uses: what the engine knows of a call, for the table of rules ([`algorithms`]).
//!
//! A choice depends only on what all members know: the number of ranks, and the packed bytes, which are the same everywhere
//! because type signatures match. Where lengths differ between members and only one knows them all, the algorithms that
//! remain ([`Case::equal`]) exchange the same messages, so that members need not choose alike.

pub(super) use algorithms::shared::Turns;
use algorithms::{Case, Choice, Typed};

use super::commons::is_eligible;
use super::primitives::{Block, Round};

/// Most bytes of a member in a blocking collective that takes one turn on a straight line.
pub(super) const SHORT_BYTES: usize = 2 << 10;
/// Most operand bytes of all members that each of more than two combines for itself; beyond it the last to come combines
/// them for all.
pub(super) const EACH_FOR_ITSELF_BYTES: usize = 4 << 10;

/// A call with vectors or largest pieces of `bytes` bytes and `total` bytes in all.
pub(super) fn case(round: &Round, bytes: usize, total: usize) -> Case {
    let process = round.comm.process;
    let local = process.local_ranks();
    Case {
        ranks: round.size,
        nodes: if local == process.size() {
            1
        } else {
            round.size.div_ceil(local.max(1))
        },
        bytes,
        total,
        elements: total,
        commutative: true,
        reproducible: false,
        shared: is_eligible(round),
        dense: true,
        equal: true,
        in_place: false,
    }
}

/// A reduction of a vector.
pub(super) fn reduction(round: &Round, vector: &Block, commutative: bool) -> Case {
    let bytes = vector.bytes();
    Case {
        elements: vector.count,
        commutative,
        reproducible: round.comm.process.settings().reproducible != 0,
        dense: vector.layout.is_contiguous(),
        ..case(round, bytes, bytes)
    }
}

/// The algorithm for a case.
pub(super) fn choose<A: Typed>(round: &Round, case: &Case) -> Choice<A> {
    round.comm.process.settings().algorithms.choose(case)
}
