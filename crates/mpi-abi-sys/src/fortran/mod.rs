// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fortran procedures of MPI from the table of C functions, for build scripts (feature `generate`).
//!
//! [`procedures`] gives each procedure with the role of every argument. [`mod@entries`] writes the library's entry points from that,
//! as Rust source text; [`mpif_h`], [`mpi_f90`] and [`mpi_f08_f90`] write the three faces: constants, types and interfaces, no
//! code. The crate `abi-fortran` is the library; `rankpoint fortran` prints and compiles the faces.

mod callbacks;
mod constants;
mod descriptors;
mod entries;
mod f08;
mod faces;
mod lines;
mod procedure;
mod types;
mod used;

pub use entries::{data_symbols, entries, library};
pub use f08::mpi_f08_f90;
pub use faces::{mpi_f90, mpif_h};
pub use procedure::{Argument, Life, Procedure, Role, procedures};
pub use types::{sentinels_f90, types_f90};
