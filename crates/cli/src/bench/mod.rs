// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint bench`: measures an MPI library, alone or interleaved with others.
//!
//! The *command* ([`run()`]) goes through its plan, round by round, measurement by measurement, library by library; for each it
//! starts a job with that library's own launcher (`measure::job`). The *ranks* of the job are this program again
//! (`bench_rank::run_rank`), opening whatever `libmpi_abi.so.1` the dynamic linker finds, so that one binary measures every library
//! with the standard ABI.
//!
//! ```text
//! options, targets          what to measure, and whom
//! run -> round              what is measured when, row by row of the table in `bench_rank::measurement`
//! round -> job -> ranks     one job a measurement; rank 0 prints values
//! measure::yardstick        libraries of a row again until all met cores at one distance, and what of it counts
//! results -> tables, plot, JSON
//! rendezvous                the same of long messages whose order is forced, with the curves that the cost model predicts
//! threads                   message rates of several threads, a command of its own
//! ```

mod options;
mod plot;
mod rendezvous;
mod results;
mod round;
mod run;
mod tables;
mod targets;
mod threads;

pub(crate) use options::BenchOptions;
pub(crate) use run::run;
