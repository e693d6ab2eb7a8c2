// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts the ranks of a job on this node, wires them up, and watches them until the last one has ended.
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
//! ```
//!
//! [`run_command_line`] is the whole of `mpiexec`; [`run`] is the same for programs that start jobs themselves, as the
//! test kit does. The event loop is the thread that calls them: no other thread exists, and the ranks die with it.

#![forbid(unsafe_code)]

mod arguments;
mod binding;
mod claim;
mod failure;
mod input;
mod kill;
mod load;
mod notices;
mod orphans;
pub mod outcome;
mod output;
mod pattern;
pub mod plan;
mod processes;
mod program;
mod report;
pub mod settings;
mod start;
mod supervise;
mod topology;
mod variables;

pub use arguments::run_command_line;
pub use fabric::counters::{COUNTERS, CounterRow};
pub use outcome::JobOutcome;
pub use plan::JobPlan;
pub use supervise::run;
pub use sys::spawn::end_with_thread;

/// Why a job cannot start or go on: the sentence for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LaunchError {
    /// The fault, and what was expected.
    pub text: String,
    /// Exit status that fits it.
    pub exit_code: u8,
}

impl LaunchError {
    /// An error in how the launcher was called.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exit_code: 2,
        }
    }

    /// An error of the operating system while `doing` something.
    pub(crate) fn system(doing: &str, error: &std::io::Error) -> Self {
        Self {
            text: format!("cannot {doing}: {}", words(error)),
            exit_code: 1,
        }
    }
}

/// The system's words, and what a user can do about limits.
pub(crate) fn words(error: &std::io::Error) -> String {
    let limit = match error.raw_os_error() {
        Some(11) => {
            " (no further process is allowed: ulimit -u, or the limit of a container, says how many)"
        }
        Some(24) => " (ulimit -n says how many; each rank takes some of them here)",
        _ => "",
    };
    format!("{error}{limit}")
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for LaunchError {}
