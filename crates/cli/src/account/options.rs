// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint account`.

use std::path::PathBuf;

use clap::Args;

use super::calls::{Group, Level};

/// Options of `rankpoint account`.
#[derive(Args)]
pub(crate) struct AccountOptions {
    /// Calls to account for
    #[arg(value_enum, required_unless_present = "all")]
    pub(super) calls: Vec<Group>,
    /// Account for all calls
    #[arg(long, conflicts_with = "calls")]
    pub(super) all: bool,
    /// Levels of thread support (default: both)
    #[arg(long, value_enum)]
    pub(super) level: Vec<Level>,
    /// Where the library is installed (default: where this program is)
    #[arg(long, value_name = "DIR")]
    pub(super) prefix: Option<PathBuf>,
    /// Tell the instructions of each source line, too
    #[arg(long)]
    pub(super) lines: bool,
    /// Print JSON, with the instructions of each source line
    #[arg(long, conflicts_with = "lines")]
    pub(super) json: bool,
    /// Print tables in Markdown
    #[arg(long, conflicts_with_all = ["lines", "json"])]
    pub(super) markdown: bool,
    /// Draw stacked bars: a file in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
}
