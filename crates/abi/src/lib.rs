// SPDX-License-Identifier: MIT OR Apache-2.0
//! `libmpi_abi`: the C library of the MPI 5.0 standard ABI.
//!
//! Nothing but the boundary: decode the arguments ([`handle`]), call one function of the engine, map its error ([`error`]).
//! The entry points themselves are generated from the ABI's table (`build.rs`), each as `MPI_X` and `PMPI_X`; a body here
//! never calls either symbol, so a profiling library sees exactly the calls of the program.
//!
//! # Safety
//! Every function trusts the caller for conditions that C cannot express: pointers are valid for the memory that the standard
//! describes. All other conditions (handles, counts, ranks, tags, null pointers) are checked.
#![expect(non_snake_case, reason = "functions carry the names of the standard")]

mod attr;
mod buffer;
mod coll;
mod coll_all;
mod coll_buffers;
mod coll_ending;
mod coll_neighbour;
mod coll_reduce;
mod comm;
mod convert;
mod datatype;
mod env;
mod errhandler;
mod error;
mod error_codes;
mod fortran;
mod fortran_compiler;
mod generalized;
mod group;
mod handle;
mod info;
mod intercomm;
#[cfg(test)]
mod missing_tests;
mod naming;
#[cfg(test)]
mod null_tests;
mod objects;
mod op;
mod p2p;
mod pack;
mod persistent;
mod probe;
mod request;
mod request_status;
mod sendrecv;
mod session;
mod split_type;
mod state;
mod status;
mod sync;
mod text;
mod topo;
mod topo_graph;
mod type_create;
mod type_query;

/// The generated entry points.
mod entries {
    #![allow(
        unused_variables,
        clippy::allow_attributes,
        reason = "missing functions ignore their arguments"
    )]
    #[allow(
        unused_imports,
        clippy::allow_attributes,
        reason = "not every type of the ABI occurs while functions are missing"
    )]
    use mpi_abi_sys::types::*;

    include!(concat!(env!("OUT_DIR"), "/entries.rs"));
}

pub use entries::MISSING;
