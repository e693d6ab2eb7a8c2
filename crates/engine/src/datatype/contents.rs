// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a datatype was constructed (MPI-5.0, section 5.1.13): the arguments, exactly as they were given.

use std::sync::Arc;

use super::Datatype;

/// The constructor of a datatype; the numbers are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[expect(missing_docs, reason = "the names are those of the constructors")]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
    ValueIndex = 117,
}

/// The record of a construction: what MPI_Type_get_envelope counts and MPI_Type_get_contents returns.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The constructor.
    pub combiner: Combiner,
    /// Arguments of type int.
    pub integers: Vec<i32>,
    /// Arguments of type MPI_Aint.
    pub addresses: Vec<i64>,
    /// Arguments of type MPI_Count; empty unless a large-count constructor was used.
    pub counts: Vec<i64>,
    /// The datatypes it was made of.
    pub types: Vec<Arc<Datatype>>,
}

impl Contents {
    /// The record of a constructor without arguments.
    pub const fn of(combiner: Combiner) -> Self {
        Self {
            combiner,
            integers: Vec::new(),
            addresses: Vec::new(),
            counts: Vec::new(),
            types: Vec::new(),
        }
    }

    /// Whether a large-count constructor made the type: its contents do not fit the calls without `_c`.
    pub const fn is_large(&self) -> bool {
        !self.counts.is_empty()
    }
}
