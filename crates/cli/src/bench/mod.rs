// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint bench`: measures an MPI library, alone or interleaved with others.
//!
//! Two programs in one. The *command* ([`run()`]) goes through its plan, round by round, measurement by measurement, library
//! by library; for each it starts a [`job`] with that library's own launcher. The *ranks* of the job are this program
//! again ([`rank`]), opening whatever `libmpi_abi.so.1` the dynamic linker finds, so that one binary measures every
//! library with the standard ABI.
//!
//! ```text
//! options, target, hosts    what to measure, whom, where
//! measurement           the table of measurements
//! run -> round          what is measured when, row by row
//! comparable, alike     libraries of a row again until all met cores at one distance, and what of it counts
//! round -> job -> rank  one job a measurement; rank 0 prints values
//! page -> rank/distance how far the cores are from each other around each value
//! cache_line            the same before and after jobs in which no rank can look
//! others                how much of the processors other programs took meanwhile
//! results -> table, plot, JSON
//! rendezvous                the same of long messages whose order is forced, with the curves that the cost model predicts
//! threads                   message rates of several threads, a command of its own
//! ```

mod measurement;
mod options;
mod plot;
mod rank;
mod rendezvous;
mod results;
mod round;
mod run;
mod table;
mod targets;
mod threads;

pub(crate) use options::BenchOptions;
pub(crate) use rank::{
    ANSWERED, CALLS, DISTANCE, GETS, GLOBAL_ARRAY, HALVES, LINE, MPI_POLL, MPI_RECEIVE, MPI_SEND,
    NETWORK_PARTS, NETWORK_PARTS_AND_QUANTITIES, PARTS, PARTS_AND_QUANTITIES, PRODUCTS, PUTS,
    RAW_HALVES, RAW_POLL, RAW_POST, RAW_PROGRESS, WINDOWS, WINDOWS_ANSWERED, WRONG, run_rank,
};
pub(crate) use run::run;
