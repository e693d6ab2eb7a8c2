// SPDX-License-Identifier: MIT OR Apache-2.0
//! A member's statement about the collective that it is about to do, as words.

use crate::call::CallName;
use crate::coll::primitives::Block;
use crate::datatype::Signature;
use crate::errors::ErrorClass;
use crate::op::Reduction;
use crate::task::current_call;

/// The calls that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coll) enum Call {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Alltoall,
    Alltoallv,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
    Neighbor,
    Create,
}

const CALLS: [(Call, &str); 16] = [
    (Call::Barrier, "MPI_Barrier"),
    (Call::Bcast, "MPI_Bcast"),
    (Call::Gather, "MPI_Gather"),
    (Call::Gatherv, "MPI_Gatherv"),
    (Call::Scatter, "MPI_Scatter"),
    (Call::Scatterv, "MPI_Scatterv"),
    (Call::Allgather, "MPI_Allgather or MPI_Allgatherv"),
    (Call::Alltoall, "MPI_Alltoall"),
    (Call::Alltoallv, "MPI_Alltoallv or MPI_Alltoallw"),
    (Call::Reduce, "MPI_Reduce"),
    (Call::Allreduce, "MPI_Allreduce"),
    (Call::ReduceScatter, "MPI_Reduce_scatter"),
    (Call::Scan, "MPI_Scan"),
    (Call::Exscan, "MPI_Exscan"),
    (Call::Neighbor, "a collective among neighbours"),
    (Call::Create, "a call that makes a communicator"),
];

/// Words that a member states.
pub(super) const WORDS: usize = 8;

/// Data that a member names: how many bytes of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coll) struct DataSummary {
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Of one element.
    pub(super) element: Signature,
}

impl DataSummary {
    pub(super) const NONE: Self = Self {
        count: 0,
        bytes: 0,
        element: Signature::EMPTY,
    };

    pub(in crate::coll) fn of(block: &Block) -> Self {
        Self {
            count: block.count as u64,
            bytes: block.bytes() as u64,
            element: block.signature,
        }
    }

    pub(super) const fn words(self) -> [u64; 3] {
        [self.count, self.bytes, self.element.to_word()]
    }

    pub(super) const fn from_words(words: &[u64]) -> Self {
        Self {
            count: words[0],
            bytes: words[1],
            element: Signature::from_word(words[2]),
        }
    }

    /// `count` elements of which a block has others.
    pub(in crate::coll) fn of_elements(block: &Block, count: usize) -> Self {
        Self {
            count: count as u64,
            bytes: (count * block.layout.size()) as u64,
            element: block.signature,
        }
    }

    pub(super) const fn signature(self) -> Signature {
        self.element.times(self.count)
    }

    pub(super) fn agrees_with(self, other: Self) -> bool {
        self.bytes == other.bytes && !self.signature().differs_from(other.signature())
    }

    /// The class of the error that these data are not others.
    pub(super) const fn class_against(self, other: Self) -> ErrorClass {
        if self.bytes == other.bytes {
            ErrorClass::ERR_TYPE
        } else {
            ErrorClass::ERR_COUNT
        }
    }

    pub(super) fn text(self) -> String {
        let Self {
            count,
            bytes,
            element,
        } = self;
        let size = bytes.checked_div(count).unwrap_or(0);
        match element.name() {
            _ if count == 0 => "no elements".to_owned(),
            Some(name) => format!("{count} of {name} ({bytes} bytes)"),
            None if element == Signature::UNKNOWN => format!("{bytes} bytes"),
            None => format!("{count} of a type of {size} bytes ({bytes} bytes)"),
        }
    }
}

/// A member's description of its call.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Statement {
    call: Call,
    /// The call that the program made.
    name: CallName,
    root: Option<u32>,
    op: u64,
    data: DataSummary,
    /// A digest of what all members know of all blocks.
    lists: u64,
}

impl Statement {
    pub(in crate::coll) fn new(call: Call) -> Self {
        Self {
            call,
            name: current_call(),
            root: None,
            op: 0,
            data: DataSummary::NONE,
            lists: 0,
        }
    }

    pub(in crate::coll) const fn with_root(self, root: u32) -> Self {
        Self {
            root: Some(root),
            ..self
        }
    }

    pub(in crate::coll) fn with_op(self, op: &Reduction) -> Self {
        Self {
            op: op.number(),
            ..self
        }
    }

    pub(in crate::coll) fn with_data(self, block: &Block) -> Self {
        Self {
            data: DataSummary::of(block),
            ..self
        }
    }

    /// The member's knowledge of the blocks of all members.
    pub(in crate::coll) fn with_lists(self, blocks: &[DataSummary]) -> Self {
        let digest = |sum: u64, block: &DataSummary| {
            (sum ^ block.bytes)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        Self {
            lists: blocks.iter().fold(1, digest),
            ..self
        }
    }

    pub(super) fn words(self) -> [u64; WORDS] {
        let [count, bytes, element] = self.data.words();
        let root = self.root.map_or(0, |root| u64::from(root) + 1);
        [
            self.call as u64,
            root,
            self.op,
            count,
            bytes,
            element,
            self.lists,
            self.name.number(),
        ]
    }
}

/// The name in C of the call that the program made, as words tell it, if it has one.
pub(super) fn call_name(words: &[u64; WORDS]) -> Option<&'static str> {
    CallName::from_number(words[7]).name_in_c()
}

/// Whether words tell of different calls; the Rust API has several for one operation, so theirs are told apart by that alone.
pub(super) fn calls_differ(said: &[[u64; WORDS]]) -> bool {
    let mut names = said.iter().filter_map(call_name);
    let first = names.next();
    said.iter().any(|words| words[0] != said[0][0]) || names.any(|name| Some(name) != first)
}

/// The name of the call that words tell of.
pub(super) fn call_text(words: &[u64; WORDS]) -> String {
    if let Some(name) = CallName::from_number(words[7]).name() {
        return name.to_owned();
    }
    let row = CALLS.iter().find(|row| row.0 as u64 == words[0]);
    row.map_or("another call", |row| row.1).to_owned()
}
