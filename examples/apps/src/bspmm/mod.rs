// SPDX-License-Identifier: MIT OR Apache-2.0
//! Product of two block-sparse matrices, C = A B, by one-sided operations: a worker takes a unit from a counter, gets the two tiles that
//! the unit multiplies, and adds a tile of C to its owner's when it goes on to another one.
//!
//! [`options`]: the command line. [`problem`]: the matrices, and who owns which tile. [`windows`]: where tiles and the counter are.
//! [`work`] is what a thread does, [`job`] gives threads their windows, [`outcome`] is what is told.

pub mod job;
pub mod options;
pub mod outcome;
pub mod problem;
mod run;
mod windows;
mod work;

pub use job::{run_alone, run_threads};
pub use options::Options;
pub use outcome::Outcome;
pub use run::main;
