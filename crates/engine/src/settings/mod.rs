// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every setting of the engine: one row each, read from `RANKPOINT_*` once at start.
//!
//! [`table`](SETTINGS) declares name, type, default, range, unit and text of each setting, and nothing else
//! repeats them: `rankpoint info` and `docs/settings.md` are made from it (`page.rs`, which also compares them).
//! `values.rs` holds the types of settings that are no numbers, `read.rs` reads the environment, `job.rs` the
//! rank that `mpiexec` assigns, `launchers.rs` the variables of other launchers.

mod job;
mod launchers;
#[cfg(test)]
mod page;
mod read;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use job::{Assigned, Assignment, job_from_environment};
pub(crate) use launchers::{Foreign, foreign_launcher};
#[cfg(test)]
pub(crate) use read::{is_thorough, simulated_network, test_endpoints, test_nodes};
pub use table::{SETTINGS, SettingRow, Settings, TEXTS, TextRow};
pub use values::{
    Checks, LockModel, NetworkChoice, ProgressModel, Rendezvous, RmaPath, VirtualNodes,
};
