// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a datatype was constructed (MPI-5.0, section 5.1.13): the arguments, exactly as they were given.

use std::ops::Deref;
use std::sync::Arc;

use super::Datatype;
use super::few::Few;

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

/// A type that another one was made of.
#[derive(Clone, Debug)]
pub enum Old {
    /// Lives as long as the program: naming it counts nothing.
    Predefined(&'static Arc<Datatype>),
    /// Lives as long as its last owner.
    Derived(Arc<Datatype>),
}

impl From<&Arc<Datatype>> for Old {
    fn from(datatype: &Arc<Datatype>) -> Self {
        match datatype.row() {
            Some(row) => Self::Predefined(row.datatype()),
            None => Self::Derived(datatype.clone()),
        }
    }
}

impl Deref for Old {
    type Target = Arc<Datatype>;

    fn deref(&self) -> &Arc<Datatype> {
        match self {
            Self::Predefined(datatype) => datatype,
            Self::Derived(datatype) => datatype,
        }
    }
}

/// The types that another one was made of: one, but for structs.
#[derive(Clone, Debug, Default)]
pub enum Olds {
    /// None: of a predefined type.
    #[default]
    None,
    /// One.
    One(Old),
    /// A struct's.
    Many(Vec<Old>),
}

impl Deref for Olds {
    type Target = [Old];

    fn deref(&self) -> &[Old] {
        match self {
            Self::None => &[],
            Self::One(old) => std::slice::from_ref(old),
            Self::Many(olds) => olds,
        }
    }
}

/// The record of a construction, for MPI_Type_get_envelope and MPI_Type_get_contents.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The constructor.
    pub combiner: Combiner,
    /// Arguments of type int. A box of three dimensions has eleven.
    pub integers: Few<i32, 11>,
    /// Arguments of type MPI_Aint.
    pub addresses: Few<i64, 4>,
    /// Arguments of type MPI_Count; empty unless a large-count constructor was used.
    pub counts: Few<i64, 0>,
    /// The datatypes it was made of.
    pub types: Olds,
}

impl Contents {
    /// The record of a constructor without arguments.
    pub const fn of(combiner: Combiner) -> Self {
        Self {
            combiner,
            integers: Few::new(0),
            addresses: Few::new(0),
            counts: Few::new(0),
            types: Olds::None,
        }
    }

    /// Whether a large-count constructor made the type: its contents do not fit the calls without `_c`.
    pub fn is_large(&self) -> bool {
        !self.counts.is_empty()
    }
}
