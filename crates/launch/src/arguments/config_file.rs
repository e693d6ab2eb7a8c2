// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of `-configfile` and `--app`: a program of the job in each line.

use std::ffi::{OsStr, OsString};

use crate::LaunchError;
use crate::words::words;

/// The words of each line of a file that has any. `#` begins a comment, a backslash at the end of a line joins the next one
/// to it, and quotes keep spaces in a word.
///
/// # Errors
/// When the file cannot be read, names no program, or a quote has no end.
pub(crate) fn read(file: &OsStr) -> Result<Vec<Vec<OsString>>, LaunchError> {
    let text = sys::files::read_text(file)
        .map_err(|error| LaunchError::usage(format!("cannot read {}: {error}", file.display())))?;
    let mut lines = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        let words = words(line).ok_or_else(|| {
            LaunchError::usage(format!(
                "{}: a quote has no end in: {}",
                file.display(),
                line.trim()
            ))
        })?;
        if !words.is_empty() {
            lines.push(words);
        }
    }
    if lines.is_empty() {
        let text = format!("{} names no program", file.display());
        return Err(LaunchError::usage(text));
    }
    Ok(lines)
}
