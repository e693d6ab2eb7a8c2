// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every member knows of a call, and which algorithms can do it.

use crate::names::{
    Allgather, Allreduce, Alltoall, Barrier, Bcast, Gather, Operation, Reduce, ReduceScatter, Scan,
    Scatter,
};
use crate::shared::{self, MOST_MEMBERS};

/// What decides between algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Ranks that take part.
    pub ranks: u32,
    /// Machines that they run on.
    pub nodes: u32,
    /// Whether the ranks of each machine are neighbours.
    pub contiguous: bool,
    /// Packed bytes of the vector, or of the largest piece.
    pub bytes: usize,
    /// Packed bytes of all pieces; of the vector where there are no pieces.
    pub total: usize,
    /// Elements of the vector of a reduction.
    pub elements: usize,
    /// Whether they run on one machine on which the job has more ranks than cores.
    pub oversubscribed: bool,
    /// Whether the order of operands does not matter.
    pub commutative: bool,
    /// Whether operands are grouped in the same way whatever the algorithm.
    pub reproducible: bool,
    /// Whether the members have memory that they share.
    pub shared: bool,
    /// Whether operands are contiguous.
    pub dense: bool,
    /// Whether all pieces are known to be equally long everywhere.
    pub equal: bool,
    /// Whether pieces are exchanged in place.
    pub in_place: bool,
}

impl Case {
    /// A call of an operation with `bytes` bytes, of elements of one byte, on `nodes` machines, contiguous, not in place.
    pub fn new(operation: Operation, ranks: u32, bytes: usize, nodes: u32) -> Self {
        let total = match operation {
            Operation::Gather
            | Operation::Scatter
            | Operation::Allgather
            | Operation::Alltoall
            | Operation::ReduceScatter => bytes.saturating_mul(ranks as usize),
            _ => bytes,
        };
        Self {
            ranks,
            nodes,
            contiguous: true,
            bytes,
            total,
            elements: total,
            oversubscribed: false,
            commutative: true,
            reproducible: false,
            shared: nodes == 1 && (2..=MOST_MEMBERS).contains(&ranks),
            dense: true,
            equal: true,
            in_place: false,
        }
    }

    /// The same without memory that the members share.
    pub const fn without_shared(self) -> Self {
        Self {
            shared: false,
            ..self
        }
    }
}

const NOT_SHARED: &str = "the ranks share no memory, or are too many for it";
const NOTHING: &str = "there are no bytes";
const NOT_DENSE: &str = "operands have holes";
const NOT_EQUAL: &str = "pieces differ in length";
const IN_PLACE: &str = "pieces are exchanged in place";
const ORDERED: &str = "the operation does not commute";
const GROUPED: &str = "it groups operands in its own way, and results are to be reproducible";
const FEW_ELEMENTS: &str = "there are fewer elements than ranks";
const NOT_POWER: &str = "the number of ranks is no power of two";
const ONE_NODE: &str = "the ranks are on one machine";
const ALONE: &str = "each rank is alone on its machine";
const SCATTERED: &str =
    "the ranks of a machine are not neighbours, and the operation does not commute";
const LARGE: &str = "the data do not fit into the shared buffers";

const fn unless(condition: bool, why: &'static str) -> Option<&'static str> {
    if condition { None } else { Some(why) }
}

/// What hinders shared memory for any operation that moves data.
fn shared_data(case: &Case) -> Option<&'static str> {
    if !case.shared {
        return Some(NOT_SHARED);
    }
    unless(case.bytes > 0, NOTHING)
}

/// What hinders shared memory for reductions.
fn shared_operands(case: &Case) -> Option<&'static str> {
    shared_data(case).or_else(|| unless(case.dense, NOT_DENSE))
}

/// What hinders algorithms that do not combine from the last rank down, one operand after the other.
fn own_grouping(case: &Case) -> Option<&'static str> {
    unless(!case.reproducible || case.ranks <= 2, GROUPED)
}

/// What hinders going from machine to machine.
fn between_nodes(case: &Case) -> Option<&'static str> {
    if case.nodes < 2 {
        return Some(ONE_NODE);
    }
    unless(case.nodes < case.ranks, ALONE)
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

impl Barrier {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => unless(case.shared, NOT_SHARED),
            Self::Dissemination => None,
            Self::Hierarchical => between_nodes(case),
        }
    }
}

impl Bcast {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => shared_data(case),
            Self::ScatterDoubling => unless(case.ranks.is_power_of_two(), NOT_POWER),
            Self::Tree | Self::Knomial | Self::Linear | Self::ScatterRing | Self::Chain => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Gather {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Linear => None,
            _ if !case.equal => Some(NOT_EQUAL),
            Self::Shared => shared_data(case),
            Self::Tree => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Scatter {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Linear => None,
            _ if !case.equal => Some(NOT_EQUAL),
            Self::Shared => shared_data(case),
            Self::Tree => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Allgather {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => shared_data(case),
            Self::RecursiveDoubling => unless(case.ranks.is_power_of_two(), NOT_POWER),
            Self::Bruck | Self::Ring | Self::Linear => None,
            Self::Hierarchical => data_between_nodes(case),
        }
    }
}

impl Alltoall {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
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

impl Reduce {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => {
                shared_operands(case).or_else(|| unless(shared::elements(case).is_some(), LARGE))
            }
            Self::Rabenseifner => own_grouping(case).or_else(|| many_elements(case)),
            Self::Tree | Self::Knomial => own_grouping(case),
            Self::Linear | Self::Chain => None,
            Self::Hierarchical => operands_between_nodes(case),
        }
    }
}

impl Allreduce {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
        match self {
            Self::Shared => {
                shared_operands(case).or_else(|| unless(shared::elements(case).is_some(), LARGE))
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

impl ReduceScatter {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
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

impl Scan {
    pub(crate) fn why_not(self, case: &Case) -> Option<&'static str> {
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
