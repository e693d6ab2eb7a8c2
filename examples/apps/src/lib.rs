// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mini-apps: small programs with threads whose communication is that of large ones.
//!
//! Each app runs the same computation in several modes, which differ in how its threads expose their parallelism to MPI. The
//! arithmetic is in integers, so results are equal in all modes and on all grids of threads and processes.
//!
//! [`halo`]: halo exchanges of stencils (`halo2d`, `halo3d`, the solver `uintah`, and `mailbox`). [`bspmm`]: a product of block-sparse matrices by
//! one-sided operations. [`dgemm`]: a product of matrices on a server. [`ebms`]: energy bands that nodes get from each other. [`circuit`]: active messages to a
//! polling thread. [`particles`]: patches that hand particles to each other. [`irregular`]: labels of a graph, sent to whom
//! they concern. [`collectives`]: sums of vectors that all threads have. What their programs have in common is in `program`, what
//! most of them report in [`outcome`], values that all processes compute in [`mod@hash`]. Tests are in `tests/`.

#![deny(
    unsafe_code,
    reason = "programs have none; the derived datatypes allow their own"
)]

pub mod bspmm;
pub mod circuit;
pub mod collectives;
pub mod dgemm;
pub mod ebms;
mod failure;
pub mod halo;
pub mod hash;
pub mod irregular;
pub mod outcome;
pub mod particles;
mod program;
mod threads;

pub use failure::Failure;
pub use outcome::Outcome;
pub use program::Told;
