// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `mpiexec` that the user started, for a job of several nodes.
//!
//! [`job`] starts the agents and holds the state of the job; [`events`] takes what happens and what agents say; [`ending`] judges
//! ends of ranks and losses of nodes, and brings all nodes to their end; [`branches`] reaches hosts through others; [`streams`] passes input and output on and prints reports;
//! [`outcome`] tells how it went. One thread does all of it, and never waits for one node alone.

mod branches;
mod ending;
mod events;
mod job;
mod outcome;
mod streams;
#[cfg(test)]
mod tests;

pub(crate) use job::run;
