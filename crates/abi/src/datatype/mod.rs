// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datatypes (MPI-5.0, chapter 5): as arguments of calls that send and receive, their constructors, and the calls on them.

pub(crate) mod arguments;
pub(crate) mod create;
pub(crate) mod packing;
pub(crate) mod query;

pub(crate) use arguments::{
    Count, contiguous_alike, contiguous_span, define_fortran, lend_handle, located_memory,
    located_target_memory, memory, target_memory,
};
