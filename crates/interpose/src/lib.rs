// SPDX-License-Identifier: MIT OR Apache-2.0
//! A library between a program and any MPI library of the standard ABI.
//!
//! It is preloaded and has the soname `libmpi_abi.so.1`, so it gets both the calls that a program binds when it starts and those
//! that the program finds by `dlopen` and `dlsym` ([`entries`]). At the first call ([`start`]) it opens the MPI library that the
//! program would have had ([`find`]) and fills two tables: where each `MPI_X` jumps to, and where each `PMPI_X` does. A call of the
//! program passes the layers ([`layers`]), then the profiling tools in the order in which they are named ([`tools`]), and enters
//! the MPI library. A call that none of them has goes straight there, by one jump.
//!
//! The entries are written for x86-64; on other processors the library is empty.
//!
//! # What C callers promise
//! Entry points trust their callers as those of an MPI library do: handles, counts and addresses are as MPI-5.0 has them.
#![cfg(target_arch = "x86_64")]
#![expect(
    unsafe_code,
    reason = "entry points are C functions that call C functions"
)]

mod counts;
mod datatypes;
mod endpoints;
mod entries;
mod find;
mod layers;
mod output;
mod placement;
mod raise;
mod settings;
mod sizes;
mod start;
mod statistics;
mod sync;
mod table;
mod tools;
mod wrappers;
