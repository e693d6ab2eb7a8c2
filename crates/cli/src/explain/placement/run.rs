// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command.

use std::io::Write as _;

use super::answer::Answer;
use super::options::PlacementOptions;
use super::text;

/// Runs `rankpoint explain placement`.
pub(crate) fn run(options: &PlacementOptions) -> Result<(), String> {
    let text = output(options)?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

pub(super) fn output(options: &PlacementOptions) -> Result<String, String> {
    let answer = Answer::new(options)?;
    Ok(match options.json {
        true => format!("{:#}\n", text::json(&answer)),
        false => text::text(&answer),
    })
}
