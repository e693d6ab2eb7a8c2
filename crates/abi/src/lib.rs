// SPDX-License-Identifier: MIT OR Apache-2.0
//! `libmpi_abi`: the C library of the MPI 5.0 standard ABI.
//!
//! It is the boundary only: each call decodes its arguments ([`handle`]), calls one function of the engine, and maps its error
//! ([`error`]).
//! A folder or file is a chapter of the standard. Below them stand the [`state`] of the library, [`handle`] with the [`objects`] that only
//! this library has, and [`error`]; on top stands [`mod@env`], whose start knows all chapters.
//!
//! The entry points themselves are generated from the ABI's table (`build.rs`), each as `MPI_X` and `PMPI_X`; a body here
//! never calls either symbol, so a profiling library sees exactly the calls of the program.
//!
//! # Safety
//! Every function trusts the caller for conditions that C cannot express: pointers are valid for the memory that the standard
//! describes. All other conditions (handles, counts, ranks, tags, null pointers) are checked.
#![expect(non_snake_case, reason = "functions carry the names of the standard")]

mod attr;
mod call;
mod coll;
mod comm;
mod convert;
mod datatype;
mod elements;
mod entries;
mod env;
mod error;
mod exposed;
mod extensions;
mod file;
mod fortran;
mod fortran_compiler;
mod group;
mod handle;
mod info;
mod kinds;
#[cfg(test)]
mod missing_tests;
mod naming;
#[cfg(test)]
mod null_tests;
mod objects;
mod op;
mod p2p;
mod report;
mod request;
mod state;
mod status;
mod sync;
mod text;
mod tool;
mod topo;
mod win;

pub use entries::MISSING;
