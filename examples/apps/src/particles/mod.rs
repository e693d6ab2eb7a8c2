// SPDX-License-Identifier: MIT OR Apache-2.0
//! Particles in a periodic box: a thread has those in its patch, and hands the ones that leave it to the 26 patches around.
//!
//! [`options`]: the command line. [`space`]: the box, its patches, and where particles are. `worker` is what a thread does, [`job`] gives threads
//! their communicators.

pub mod job;
pub mod options;
mod run;
pub mod space;
mod tally;
mod worker;

pub use job::{run_alone, run_threads};
pub use options::Options;
pub use run::main;
