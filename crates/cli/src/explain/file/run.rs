// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command.

use std::io::Write as _;

use serde_json::json;

use super::answer::Answer;
use super::options::FileOptions;
use super::{program, text};

/// Runs `rankpoint explain file`.
pub(crate) fn run(options: &FileOptions) -> Result<(), String> {
    if options.program.is_empty() {
        return print(&output(options)?);
    }
    let (all, status) = program::watched(options)?;
    print(&match options.json {
        true => format!("{:#}\n", json!({ "accesses": all })),
        false => text::accesses(&all),
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("mpiexec ended with {status}")),
    }
}

fn print(text: &str) -> Result<(), String> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

pub(super) fn output(options: &FileOptions) -> Result<String, String> {
    let answer = Answer::new(options)?;
    Ok(match options.json {
        true => format!("{:#}\n", text::json(&answer)),
        false => text::text(&answer),
    })
}
