// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mpiexec` from outside: what a user types, sees, and finds left behind.
//!
//! Ranks are shell commands, or this very executable playing a scripted MPI rank ([`player`]). [`job`] runs `mpiexec`
//! under a time limit; every other file is one subject.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod carried_flags;
mod conditions;
mod documentation;
mod failures;
mod files;
mod flags;
mod host_faults;
mod hosts;
mod job;
mod leftovers;
mod load;
mod player;
mod reports;
mod sandbox;
mod signals;
mod streams;
mod tree;
