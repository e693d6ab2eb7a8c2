// SPDX-License-Identifier: MIT OR Apache-2.0
//! Raw declarations of the MPI 5.0 ABI, usable with any conforming library.
//!
//! [`table`] holds the ABI as data, [`types`] the C types, [`constants`] every constant, [`MPI_H`] the C header; and
//! [`Library`] opens a `libmpi_abi.so.1` at run time, so that one program can measure several libraries. With the feature
//! `generate`, the module of that name writes C entry points for build scripts, and the module `fortran`
//! Fortran ones with their modules.

pub mod constants;
#[cfg(feature = "generate")]
pub mod fortran;
#[cfg(feature = "generate")]
pub mod generate;
mod library;
pub mod table;
pub mod types;

pub use library::Library;

/// The text of `mpi.h`.
pub const MPI_H: &str = include_str!(concat!(env!("OUT_DIR"), "/mpi.h"));
