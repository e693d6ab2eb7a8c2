// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mini-apps: small programs with threads whose communication is that of large ones.
//!
//! Each app runs the same computation in several modes, which differ in how its threads expose their parallelism to MPI. The
//! arithmetic is in integers, so results are equal in all modes and on all grids of threads and processes.
//!
//! [`halo`]: halo exchanges of stencils (`halo2d`, `halo3d`, and the solver `uintah`). [`bspmm`]: a product of block-sparse matrices by
//! one-sided operations. What their programs have in common is in `program`. Tests are in `tests/`.

#![forbid(unsafe_code)]

pub mod bspmm;
mod failure;
pub mod halo;
mod program;

pub use failure::Failure;
pub use program::Told;
