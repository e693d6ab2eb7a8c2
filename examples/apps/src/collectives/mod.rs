// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of threads: sums or lists of vectors that all threads of all processes have, and all need.
//!
//! [`options`]: the command line. [`vectors`]: what threads have, and the serial computation. `worker` is what a thread does, [`job`] gives threads
//! their communicators.

pub mod job;
pub mod options;
mod run;
mod tally;
pub mod vectors;
mod worker;

pub use job::{run_alone, run_threads};
pub use options::Options;
pub use run::main;
