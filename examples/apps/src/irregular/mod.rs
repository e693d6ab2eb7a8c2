// SPDX-License-Identifier: MIT OR Apache-2.0
//! Components of a random graph by labels: in each round threads send the labels that changed to the owners of the vertices beside, so who sends
//! to whom changes from round to round.
//!
//! [`options`]: the command line. [`graph`]: vertices and edges, and the serial computation. `worker` is what a thread does, `traffic` how a round's
//! labels travel, [`job`] gives threads their communicators.

pub mod graph;
pub mod job;
pub mod options;
mod run;
mod tally;
mod traffic;
mod worker;

pub use job::{run_alone, run_threads};
pub use options::Options;
pub use run::main;
