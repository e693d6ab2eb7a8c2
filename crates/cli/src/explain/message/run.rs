// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers and prints.

use std::io::Write as _;

use super::answer::Answer;
use super::options::MessageOptions;
use super::text;

/// Runs `rankpoint explain message`.
pub(crate) fn run(options: &MessageOptions) -> Result<(), String> {
    let answer = Answer::new(options);
    let text = if options.json {
        format!("{:#}\n", text::json(&answer))
    } else {
        text::text(&answer)
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}
