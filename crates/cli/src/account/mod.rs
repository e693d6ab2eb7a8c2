// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint account`: where each instruction of an MPI call goes.
//!
//! A fixed program ([`driver`]) makes the calls under valgrind's callgrind. [`sources`] leads from the address of an instruction to the lines
//! of the library that it comes from, and to what annotations say there (crate `account`). [`report`] collects the accounts of calls,
//! [`text`] and [`plot`] show them beside what has been [`published`].

mod calls;
mod driver;
mod options;
mod plot;
mod published;
mod report;
mod run;
mod sources;
mod text;

pub(crate) use options::AccountOptions;
pub(crate) use run::run;
