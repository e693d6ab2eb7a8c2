// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of the processors while measuring: governor and boost, read for the record and, where the user asks, set and restored.
//!
//! ```text
//! settings   the files of the kernel, and the values that keep the clock steady
//! record     what the settings were before, in a file, so that nobody takes changed ones for the user's
//! watcher    a process that sets them and restores them when the measuring process has ended, however it did
//! steady     the measuring process's side
//! ```
//!
//! After libscope (C. Pearson, *Movement and Placement of Non-Contiguous Data in Distributed GPU Computing*, University of Illinois,
//! 2021, chapter 6), which restores in the measuring process and so loses a kill.

mod record;
mod settings;
mod steady;
mod watcher;

pub use steady::SteadyClock;
pub use watcher::run_watcher;
