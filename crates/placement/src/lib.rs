// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which process plays which rank: no MPI calls, no operating system, no clock.
//!
//! A [`Graph`] says how much the ranks of a program send each other. [`place()`] finds for each rank a process, so that little crosses
//! nodes: it divides the graph into parts of exactly the sizes of the nodes.
//!
//! Equal arguments give equal results everywhere, because all arithmetic is in integers and random numbers come from fixed
//! seeds: ranks that know the same graph need not talk to agree on a placement. No result is worse than what was given.

mod bisect;
mod graph;
mod partition;
#[cfg(test)]
mod partition_tests;
mod place;
mod random;

pub use graph::Graph;
pub use place::{MOST_RANKS, place, shuffle};
