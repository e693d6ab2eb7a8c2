// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways in which several threads communicate.

use clap::ValueEnum;
use serde::Serialize;

/// A way in which several threads communicate.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum Mode {
    /// A rank for each thread, at MPI_THREAD_SINGLE: what the others are compared with
    Processes,
    /// All threads on one communicator, told apart by tags
    Serial,
    /// A communicator for each thread
    Communicators,
    /// An endpoint for each thread
    Endpoints,
    /// One communicator with hints that let the library tell threads apart by tags
    Hints,
    /// One partitioned message of all threads for each window
    Partitioned,
}

impl Mode {
    /// The word for it on command lines and in tables.
    pub(in super::super) const fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Serial => "serial",
            Self::Communicators => "communicators",
            Self::Endpoints => "endpoints",
            Self::Hints => "hints",
            Self::Partitioned => "partitioned",
        }
    }
}
