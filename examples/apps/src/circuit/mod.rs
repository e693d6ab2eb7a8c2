// SPDX-License-Identifier: MIT OR Apache-2.0
//! An electric circuit by active messages: task threads send them, and one polling thread of each process receives them and runs their handlers.
//!
//! [`options`]: the command line. [`graph`]: nodes and wires, and the serial computation. `board` is what the threads of a process share,
//! `message` what travels. `task` is what a task thread does, `poller` what the polling thread does, [`job`] gives both their communicators.

mod board;
pub mod graph;
pub mod job;
mod message;
pub mod options;
mod poller;
mod run;
mod tally;
mod task;

pub use job::{run_alone, run_threads};
pub use options::Options;
pub use run::main;
