// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint scope`: measures what communication costs on this machine, and writes the machine profile.
//!
//! ```text
//! options          the command line, and which entries it selects
//! run              measures and writes
//! mpi              entries that need an MPI library: jobs of `rankpoint bench`
//! row              a profile as rows; text, csv: the rows as tables
//! plot             curves and matrices as pictures
//! report, compare  what a profile says, and how two of them differ
//! ```
//!
//! The crate `scope` measures; `machine-profile` is the file.

mod compare;
mod csv;
mod mpi;
mod options;
mod plot;
mod report;
mod row;
mod run;
mod text;
mod winners;

pub(crate) use options::ScopeOptions;
pub(crate) use run::run;

/// First word of the command line that makes this program the second process of entries.
pub(crate) const PEER_COMMAND: &str = "scope-peer";
/// First word of the command line that makes this program the process that restores the clock.
pub(crate) const WATCHER_COMMAND: &str = "scope-watcher";
