// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy bands: each node owns a block of every band, and the workers of a node get the blocks of the others before particles look values up.
//!
//! [`options`]: the command line. [`problem`]: bands, blocks and particles. `stock`: the windows with blocks. `worker` is what a thread
//! does, [`job`] gives workers their windows.

pub mod job;
pub mod options;
pub mod problem;
mod run;
mod stock;
mod worker;

pub use job::{run_alone, run_threads};
pub use options::Options;
pub use run::main;
