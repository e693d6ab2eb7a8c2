// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program under `mpiexec` and collects the reports of its ranks.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use clap::Args;
use measure::{settings, temporary};
use serde_json::json;

use super::report::{self, RankReport};
use super::{advice, text};
use crate::vci_plan;

/// Options of `rankpoint explain vci`.
#[derive(Args)]
pub(crate) struct VciOptions {
    /// Print JSON; what the program writes to standard output then goes to standard error
    #[arg(long)]
    json: bool,
    /// What mpiexec takes: its options, the program and the program's arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "PROGRAM"
    )]
    arguments: Vec<OsString>,
}

/// Runs `rankpoint explain vci`.
pub(crate) fn run(options: &VciOptions) -> Result<(), String> {
    if settings::is_rank() {
        return Err("explain vci starts its job itself: run it without mpiexec".to_owned());
    }
    let folder = Folder::new()?;
    let status = start(options, &folder.0)?;
    let reports = report::read(&folder.0)?;
    if reports.is_empty() {
        let ended = if status.success() {
            "".to_owned()
        } else {
            format!("; mpiexec ended with {status}")
        };
        return Err(format!(
            "no rank reported: the program did not finalize MPI, or used another MPI library{ended}"
        ));
    }
    let text = if options.json {
        format!("{:#}\n", as_json(&reports))
    } else {
        let (vcis, ranks) = most(&reports);
        let network = vci_plan::section(vcis, ranks);
        let opened = text::network(&reports);
        format!("\n{}{network}{opened}", text::text(&reports))
    };
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("mpiexec ended with {status}")),
    }
}

fn start(options: &VciOptions, folder: &Path) -> Result<ExitStatus, String> {
    let mut command = Command::new(settings::this_program()?);
    command.arg("run").args(&options.arguments);
    command.env("RANKPOINT_VCI_REPORT", folder);
    if options.json {
        let errors = io::stderr().as_fd().try_clone_to_owned();
        let errors = errors.map_err(|error| format!("cannot use standard error: {error}"))?;
        command.stdout(Stdio::from(errors));
    }
    command
        .status()
        .map_err(|error| format!("cannot start mpiexec: {error}"))
}

/// VCIs of a process, and ranks that share a node: all of them, as far as one node runs them.
fn most(reports: &[RankReport]) -> (usize, usize) {
    let vcis = reports.iter().map(|report| report.vci_count).max();
    let ranks = reports.iter().map(|report| report.size).max();
    (vcis.unwrap_or(1) as usize, ranks.unwrap_or(1) as usize)
}

fn as_json(reports: &[RankReport]) -> serde_json::Value {
    let (vcis, ranks) = most(reports);
    json!({
        "network": vci_plan::value(vcis, ranks),
        "ranks": reports,
        "missing": report::missing(reports),
        "advice": advice::advice(reports),
    })
}

/// A folder that only this user can read, and that goes with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        temporary::folder("vci").map(Self)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays among the temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}
