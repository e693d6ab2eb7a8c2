// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint bench threads`: message rates of several threads at once, in all the ways in which MPI lets them communicate.
//!
//! ```text
//! options -> run            which jobs, round by round
//! plan                      what one job does; its words on the command line of the ranks
//! run -> job -> rank        `rank/threads` and `peer/threads.h` do it
//! results -> page           JSON and tables
//! ```

mod mode;
mod options;
mod page;
mod plan;
mod results;
mod run;

pub(super) use mode::{Mode, Operation};
pub(super) use options::ThreadsOptions;
pub(super) use plan::RatePlan;
pub(super) use run::run;

/// First word of the ranks of these jobs.
pub(super) const RATES: &str = "thread-rates";
