// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a job ended, as data.

use fabric::counters::COUNTERS;
use serde::{Deserialize, Serialize};
use sys::signals;

/// How a whole job ended.
#[derive(Clone, Debug)]
pub struct JobOutcome {
    /// Every rank that was started, in order.
    pub ranks: Vec<RankOutcome>,
    /// Why it ended.
    pub end: End,
    /// Sentences of the launcher about it, one sentence or table each; a command line has printed them already.
    pub messages: Vec<String>,
    /// Exit status of the job.
    pub exit_code: u8,
}

/// Why a job ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum End {
    /// All ranks ended by themselves. The exit status may still be a rank's.
    Finished,
    /// A rank's end was the end of the job.
    RankFailed {
        /// The rank.
        rank: u32,
    },
    /// The launcher lost the agent of a host.
    HostLost {
        /// The index of its node among the hosts of the plan.
        node: u32,
    },
    /// The time was up; a report is among the messages.
    TimedOut,
    /// The launcher was asked to end by this signal.
    Interrupted {
        /// Its number.
        signal: i32,
    },
}

/// How one rank ended.
#[derive(Clone, Debug)]
pub struct RankOutcome {
    /// Its rank.
    pub rank: u32,
    /// Its process id.
    pub pid: u32,
    /// How its process ended.
    pub exit: Exit,
    /// How far it had come with MPI: one of [`fabric::board::phase`].
    pub phase: u32,
    /// Its counters as it last told them, in the order of [`crate::COUNTERS`].
    pub counters: [u64; 64],
    /// Its output, where that was captured.
    pub output: Vec<u8>,
}

impl RankOutcome {
    /// The counter with this name; `None` if there is none.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let index = COUNTERS.iter().position(|row| row.name == name)?;
        self.counters.get(index).copied()
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By a signal.
    Signal {
        /// Its number.
        number: i32,
        /// Whether a core file was written.
        core_dumped: bool,
    },
    /// The system did not say: another part of the program has reaped the process, or children are ignored (SIGCHLD).
    Unknown,
}

impl Exit {
    /// The status that a shell would show.
    pub fn code(self) -> u8 {
        match self {
            Self::Status(status) => narrow(status),
            Self::Signal { number, .. } => narrow(128 + number),
            Self::Unknown => 1,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Status(status) => {
                write!(f, "exited with status {status}")?;
                match signals::describe(status - 128) {
                    Some((name, _)) if status > 128 => write!(f, " (as shells report {name})"),
                    _ => Ok(()),
                }
            }
            Self::Signal {
                number,
                core_dumped,
            } => {
                write!(f, "was killed by signal {number}")?;
                if let Some((name, text)) = signals::describe(number) {
                    write!(f, " ({name}: {text})")?;
                }
                f.write_str(if core_dumped { ", core dumped" } else { "" })
            }
            Self::Unknown => f.write_str("ended with a status that the system did not tell"),
        }
    }
}

/// An exit status as the kernel passes it on: eight bits, but never success for a failure.
pub(crate) fn narrow(status: i32) -> u8 {
    match u8::try_from(status & 0xff) {
        Ok(0) if status != 0 => 1,
        Ok(code) => code,
        Err(_) => 1,
    }
}
