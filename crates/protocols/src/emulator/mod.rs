// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emulator: ranks of a job in one process, whose sides are the state machines of this crate.
//!
//! A [`World`] is the state of a job: for each pair of ranks a FIFO of cells each way, and writes and reads on their way, which no
//! order binds to the cells. It says which [`Step`]s are possible and takes one.
//! * [`explore`] takes all of them, in all orders (*exhaustive* mode), and checks every state: the match order of MPI, one copy into each
//!   buffer and none after its receive has ended, memory that is read only while its send is pending, no operation that hangs, and
//!   nothing that is kept at the end.
//! * [`run`] takes the earliest one (*timed* mode), where each takes virtual time, and keeps a [`Trace`].

mod cells;
mod check;
pub mod counts;
mod exhaustive;
mod notes;
mod program;
#[cfg(test)]
mod programs;
mod receiving;
mod regions;
mod sending;
mod timed;
mod timing;
mod transfer;
mod world;

pub use cells::{Back, Cell, Claim, Region};
pub use exhaustive::{Counterexample, Coverage, explore};
pub use program::{Operation, Rank, Thread, Timed};
pub use timed::{Outcome, run};
pub use timing::{Row, Timing, Trace, What};
pub use transfer::{RECEIVER, SENDER, Transfer};
pub use world::{Behaviour, Progress, Step, World};

#[cfg(test)]
mod counts_tests;
#[cfg(test)]
mod flaw_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod times_tests;
