// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which algorithm a collective uses: what the engine knows of a call, for the table of rules ([`algorithms`]).
//!
//! A choice depends only on what all members know: the number of ranks, and the packed bytes, which are the same everywhere
//! because type signatures match. Where lengths differ between members and only one knows them all, the algorithms that
//! remain ([`Case::equal`]) exchange the same messages, so that members need not choose alike.

use algorithms::shared::MOST_MEMBERS;
pub(super) use algorithms::shared::Rounds;
use algorithms::{Case, Choice, Typed};

use super::primitives::{Block, Collective};

/// Most bytes of a member in a blocking collective that takes one round on the fast path.
pub(super) const FAST_BYTES: usize = algorithms::shared::WITH_OWN_BYTES;
/// Most operand bytes of all members that each of more than two combines for itself; beyond it the last to come combines
/// them for all.
pub(super) const EACH_FOR_ITSELF_BYTES: usize = 4 << 10;

/// Whether the members of a communicator may have a shared collective area; all of them find the same.
pub(super) fn is_eligible(coll: &Collective) -> bool {
    let process = coll.comm.process;
    (2..=MOST_MEMBERS).contains(&coll.size)
        && coll.is_of_all()
        && process.settings().shared_collectives != 0
        // A check waits before the operation is decided on, and what is drawn then is drawn in another order by each member.
        && !process.settings().check.collectives
        && coll.comm.node_map().is_none()
}

/// A call with vectors or largest blocks of `bytes` bytes and `total` bytes in all.
pub(super) fn case(coll: &Collective, bytes: usize, total: usize) -> Case {
    let node = coll.comm.node_map().filter(|_| coll.is_of_all());
    let nodes = match node {
        _ if coll.apart => coll.size,
        Some(node) => node.count(),
        None => 1,
    };
    Case {
        ranks: coll.size,
        nodes,
        contiguous: node.is_none_or(|node| node.contiguous),
        bytes,
        total,
        elements: total,
        oversubscribed: nodes == 1 && coll.comm.vci().is_oversubscribed(),
        commutative: true,
        reproducible: false,
        shared: is_eligible(coll),
        dense: true,
        equal: true,
        in_place: false,
    }
}

/// A reduction of a vector.
pub(super) fn reduction(coll: &Collective, vector: &Block, commutative: bool) -> Case {
    let bytes = vector.bytes();
    Case {
        elements: vector.count,
        commutative,
        reproducible: coll.comm.process.settings().reproducible != 0,
        // As on the fast path, which takes a single element for a run of bytes whatever its extent.
        dense: vector.layout.contiguous_start(vector.count).is_some(),
        ..case(coll, bytes, bytes)
    }
}

/// The algorithm for a case.
pub(super) fn choose<A: Typed>(coll: &Collective, case: &Case) -> Choice<A> {
    coll.comm.process.settings().algorithms.choose(case)
}
