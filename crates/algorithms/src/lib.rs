// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which algorithm a collective uses, and what it costs: no MPI calls, no operating system, no messages.
//!
//! Each operation has an enum of its algorithms ([`Bcast`], [`Allreduce`]...). A [`Table`] of rules decides between them by
//! what every member knows of a call, its [`Case`]: the first rule that matches, and whose algorithm can do the case, wins.
//! The rules of the library are text, `src/builtin.table`; a user's file comes before them. [`cost`] counts the
//! messages and bytes that each rank sends, and [`shared`] the rounds through shared memory: the engine runs what is
//! chosen here, its tests compare its counters with the costs, and `rankpoint explain coll` prints both.

mod case;
mod cost;
mod names;
mod obstacles;
mod parse;
mod rule;
pub mod shared;
mod table;

pub use case::Case;
pub use cost::{Cost, Sent, sent};
pub use names::{
    Algorithm, Allgather, Allreduce, Alltoall, Barrier, Bcast, Gather, Listed, Operation,
    Parameter, Reduce, ReduceScatter, Scan, Scatter,
};
pub use obstacles::Typed;
pub use parse::{Problem, number};
pub use rule::{Range, Rule, short};
pub use table::{Choice, Table, Verdict};
