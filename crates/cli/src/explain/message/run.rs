// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers and prints.

use std::io::Write as _;

use super::answer::Answer;
use super::measured;
use super::options::{Kind, MessageOptions};
use super::text;

/// Runs `rankpoint explain message`.
pub(crate) fn run(options: &MessageOptions) -> Result<(), String> {
    let mut options = options.clone();
    let profile = match options.fabric.kind {
        // No node has been measured for it.
        Kind::Emulated | Kind::Published => None,
        Kind::Shm | Kind::Tcp => options.profile.load_if_any()?,
    };
    let mut sources = Vec::new();
    if let Some(profile) = profile {
        let found = measured::settle(&mut options.fabric, options.bytes, &profile);
        if !found.is_empty() {
            sources.push(format!("times from {}", profile.file.display()));
            sources.extend(found);
        }
    }
    let mut answer = Answer::new(&options);
    answer.sources = sources;
    let text = if options.json {
        format!("{:#}\n", text::json(&answer))
    } else {
        text::text(&answer)
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}
