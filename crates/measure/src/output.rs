// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a command writes.

use std::io::Write as _;
use std::path::Path;

/// Says something on standard error while measurements are under way.
pub fn tell(text: &str) {
    // Nobody listens on a closed standard error.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints a text on standard output.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> Result<(), String> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

/// Writes a file beside the old one and gives it the old one's name, so that there is always a whole one.
///
/// # Errors
/// When it cannot be written.
pub fn write(file: &Path, data: &[u8]) -> Result<(), String> {
    let mut fresh = file.to_path_buf().into_os_string();
    fresh.push(".new");
    let written = std::fs::write(&fresh, data).and_then(|()| std::fs::rename(&fresh, file));
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))
}
