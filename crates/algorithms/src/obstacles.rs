// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which algorithms can do a case.

use crate::case::Case;
use crate::names::{
    Algorithm, Allgather, Allreduce, Alltoall, Barrier, Bcast, Gather, Listed, Operation, Reduce,
    ReduceScatter, Scan, Scatter,
};
use crate::shared;

/// An algorithm of one operation, as a value of the operation's enum.
pub trait Typed: Listed {
    /// Why this algorithm cannot do a case; `None` if it can.
    fn obstacle(self, case: &Case) -> Option<&'static str>;
}

impl Algorithm {
    /// Why this algorithm cannot do a case; `None` if it can.
    pub fn obstacle(self, case: &Case) -> Option<&'static str> {
        fn of<A: Typed>(algorithm: Algorithm, case: &Case) -> Option<&'static str> {
            A::ALL[algorithm.index() as usize].obstacle(case)
        }
        match self.operation() {
            Operation::Barrier => of::<Barrier>(self, case),
            Operation::Bcast => of::<Bcast>(self, case),
            Operation::Gather => of::<Gather>(self, case),
            Operation::Scatter => of::<Scatter>(self, case),
            Operation::Allgather => of::<Allgather>(self, case),
            Operation::Alltoall => of::<Alltoall>(self, case),
            Operation::Reduce => of::<Reduce>(self, case),
            Operation::Allreduce => of::<Allreduce>(self, case),
            Operation::ReduceScatter => of::<ReduceScatter>(self, case),
            Operation::Scan => of::<Scan>(self, case),
        }
    }
}

const NOT_SHARED: &str = "the ranks share no memory, or are too many for it";
const NOTHING: &str = "there are no bytes";
const NOT_DENSE: &str = "operands have holes";
const NOT_EQUAL: &str = "blocks differ in length";
const IN_PLACE: &str = "blocks are exchanged in place";
const ORDERED: &str = "the operation does not commute";
const GROUPED: &str = "it groups operands in its own way, and results are to be reproducible";
const FEW_ELEMENTS: &str = "there are fewer elements than ranks";
const NOT_POWER: &str = "the number of ranks is no power of two";
const ONE_NODE: &str = "the ranks are on one node";
const ONE_RANK_EACH: &str = "each node has one rank";
const SCATTERED: &str =
    "the ranks of a node are not neighbours, and the operation does not commute";
const LARGE: &str = "the data do not fit into the shared buffers";

const fn unless(condition: bool, why: &'static str) -> Option<&'static str> {
    if condition { None } else { Some(why) }
}

/// The obstacle to shared memory for any operation that moves data.
fn shared_data(case: &Case) -> Option<&'static str> {
    if !case.shared {
        return Some(NOT_SHARED);
    }
    unless(case.bytes > 0, NOTHING)
}

/// The obstacle to shared memory for reductions.
fn shared_operands(case: &Case) -> Option<&'static str> {
    shared_data(case).or_else(|| unless(case.dense, NOT_DENSE))
}

/// The obstacle to algorithms that do not combine from the last rank down, one operand after the other.
fn own_grouping(case: &Case) -> Option<&'static str> {
    unless(!case.reproducible || case.ranks <= 2, GROUPED)
}

/// The obstacle to an operation in levels of nodes.
fn between_nodes(case: &Case) -> Option<&'static str> {
    if case.nodes < 2 {
        return Some(ONE_NODE);
    }
    unless(case.nodes < case.ranks, ONE_RANK_EACH)
}

/// The same for operations that move data.
fn data_between_nodes(case: &Case) -> Option<&'static str> {
    between_nodes(case).or_else(|| unless(case.total > 0, NOTHING))
}

/// The same for reductions.
fn operands_between_nodes(case: &Case) -> Option<&'static str> {
    data_between_nodes(case)
        .or_else(|| own_grouping(case))
        .or_else(|| unless(case.commutative || case.contiguous, SCATTERED))
}

fn many_elements(case: &Case) -> Option<&'static str> {
    unless(case.elements >= case.ranks as usize, FEW_ELEMENTS)
}

impl Typed for Barrier {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => unless(case.shared, NOT_SHARED),
            Self::Dissemination => None,
            Self::Hierarchical => between_nodes(case),
        }
    }
}

impl Typed for Bcast {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => shared_data(case),
            Self::ScatterDoubling => unless(case.ranks.is_power_of_two(), NOT_POWER),
            Self::Tree | Self::Knomial | Self::Linear | Self::ScatterRing | Self::Chain => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Typed for Gather {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Linear => None,
            _ if !case.equal => Some(NOT_EQUAL),
            Self::Shared => shared_data(case),
            Self::Tree => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Typed for Scatter {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Linear => None,
            _ if !case.equal => Some(NOT_EQUAL),
            Self::Shared => shared_data(case),
            Self::Tree => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Typed for Allgather {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => shared_data(case),
            Self::RecursiveDoubling => unless(case.ranks.is_power_of_two(), NOT_POWER),
            Self::Bruck | Self::Ring | Self::Linear => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Typed for Alltoall {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Pairwise => None,
            Self::Linear => unless(!case.in_place, IN_PLACE),
            _ if !case.equal => Some(NOT_EQUAL),
            Self::Shared => shared_data(case)
                .or_else(|| unless(shared::parts(case.bytes, case.ranks).is_some(), LARGE)),
            Self::Bruck => None,
        }
    }
}

impl Typed for Reduce {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => {
                shared_operands(case).or_else(|| unless(shared::elements(case).is_some(), LARGE))
            }
            Self::SharedParts => {
                shared_operands(case).or_else(|| unless(shared::shares(case).is_some(), LARGE))
            }
            Self::Rabenseifner => own_grouping(case).or_else(|| many_elements(case)),
            Self::Tree | Self::Knomial => own_grouping(case),
            Self::Linear | Self::Chain => None,
            Self::Hierarchical => operands_between_nodes(case),
        }
    }
}

impl Typed for Allreduce {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => {
                shared_operands(case).or_else(|| unless(shared::elements(case).is_some(), LARGE))
            }
            Self::SharedParts => {
                shared_operands(case).or_else(|| unless(shared::shares(case).is_some(), LARGE))
            }
            Self::Rabenseifner => own_grouping(case).or_else(|| many_elements(case)),
            Self::Ring => unless(case.commutative, ORDERED)
                .or_else(|| own_grouping(case))
                .or_else(|| many_elements(case)),
            Self::RecursiveDoubling => own_grouping(case),
            Self::Chain => None,
            Self::Hierarchical => operands_between_nodes(case),
        }
    }
}

impl Typed for ReduceScatter {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => shared_operands(case)
                .or_else(|| unless(shared::element_parts(case).is_some(), LARGE)),
            Self::Rabenseifner => own_grouping(case).or_else(|| many_elements(case)),
            Self::Ring => unless(case.commutative, ORDERED).or_else(|| own_grouping(case)),
            Self::RecursiveDoubling | Self::Pairwise => own_grouping(case),
            Self::Chain => None,
        }
    }
}

impl Typed for Scan {
    fn obstacle(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => shared_operands(case)
                .or_else(|| unless(case.bytes <= shared::buffer_bytes(case.ranks), LARGE)),
            Self::SharedChain => shared_operands(case)
                .or_else(|| own_grouping(case))
                .or_else(|| unless(shared::elements(case).is_some(), LARGE)),
            Self::RecursiveDoubling | Self::Linear => own_grouping(case),
            Self::Direct => None,
        }
    }
}
