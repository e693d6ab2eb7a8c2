// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts the ranks of a job on this node and others, wires them up, and watches them until the last one has ended.
//!
//! A job passes through these modules in this order:
//!
//! ```text
//! arguments                         flags of ours and of other launchers -> plan::JobPlan
//!           -> topology, binding    processors of each rank
//!           -> start                node segment, guard, one process per rank
//!           -> supervise            one event loop: ends of ranks, output, input, signals, time
//!              output, input        lines of ranks to terminals, pipes, files; standard input to ranks
//!              load                 ends the binding under external load, tells oversubscribed ranks
//!              failure, kill        which end of a rank ends the job; signals to all its processes
//!              report               the state of the job as one table (SIGUSR1, --timeout), counters
//!           -> outcome::JobOutcome  exit status, counters
//!
//! cluster                           the same with agents on several nodes, each of which starts and watches its ranks
//! ```
//!
//! [`run_command_line`] is the whole of `mpiexec`; [`run()`] is the same for programs that start jobs themselves, as the
//! test kit does. The event loop is the thread that calls them: no other thread exists, and the ranks die with it.

#![forbid(unsafe_code)]

mod arguments;
mod binding;
mod claim;
mod cluster;
mod error;
mod failure;
mod host_names;
mod input;
mod kill;
pub mod layers;
mod load;
mod notices;
mod orphans;
pub mod outcome;
mod output;
mod pattern;
pub mod plan;
mod processes;
mod program;
mod ranks;
mod report;
mod run;
pub mod settings;
mod start;
mod supervise;
mod topology;
mod variables;
mod words;

pub use arguments::run_command_line;
pub use error::LaunchError;
pub use fabric::counters::{COUNTERS, CounterRow};
pub use outcome::JobOutcome;
pub use pattern::clock;
pub use plan::JobPlan;
pub use run::run;
pub use sys::spawn::end_with_thread;
