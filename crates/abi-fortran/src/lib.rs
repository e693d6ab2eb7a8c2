// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fortran bindings for any MPI library of the standard ABI: `libmpifort_rankpoint.so.1`.
//!
//! ```text
//! Fortran object --(mpi_send_, data symbols)--> this library --MPI_Send--> libmpi_abi.so.1 of any MPI
//! ```
//!
//! Nothing here depends on a Fortran compiler: the modules `mpi` and `mpi_f08` and the file `mpif.h` hold types, constants and
//! interfaces only, and every procedure and every sentinel is a symbol of this library. Almost all procedures are generated from
//! the table of the ABI (`mpi_abi_sys::fortran`); those in [`attribute`], [`callback`], [`detach`], [`info`] and [`spawn`] are by
//! hand. `mpi_x_` calls `MPI_X` and `pmpi_x_` calls `PMPI_X`, so that a tool in C sees each call once; calls of the library's own
//! use `PMPI_` only.
//!
//! An entry point takes every argument by reference, and the lengths of CHARACTER arguments behind all others. The head of each
//! module says how it converts what it is named for. The programs in `tests/fortran` are the tests.

#![expect(non_snake_case, non_camel_case_types, reason = "names of the standard")]

mod attribute;
mod callback;
mod detach;
mod entries;
mod handle;
mod info;
mod keep;
mod library;
mod logical;
mod predefined;
mod removed;
mod section;
mod sentinel;
mod spawn;
mod status;
mod sync;
mod text;
mod topology;
