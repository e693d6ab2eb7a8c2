// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint bench threads`: message rates of several threads at once, in all the ways in which MPI lets them communicate.
//!
//! ```text
//! options -> run            which jobs, round by round
//! run -> job -> ranks       `bench_rank::threads` and `peer/threads.h` do it
//! results -> page           JSON and tables
//! ```

mod options;
mod page;
mod results;
mod run;

pub(super) use options::ThreadsOptions;
pub(super) use run::run;
