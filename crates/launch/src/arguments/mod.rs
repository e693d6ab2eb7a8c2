// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line: from arguments to a [`JobPlan`](crate::plan::JobPlan).
//!
//! [`command_line`] reads the arguments by the rows of [`flag_table`], which hold every flag of ours and of other launchers
//! and what becomes of it ([`flags`]). The values of some flags have files of their own: [`config_file`],
//! [`output_flags`], [`placement`], [`values`], [`host_flags`] with [`hosts`] and [`assign`]. [`allocation`] tells what a resource manager
//! says where flags say nothing.

mod allocation;
mod assign;
mod command_line;
mod config_file;
mod flag_table;
mod flags;
mod host_flags;
mod hosts;
mod output_flags;
mod placement;
mod values;

pub use command_line::run_command_line;
