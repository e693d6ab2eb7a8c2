// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sentences from the launcher to the user, and the names of this node in them.

use std::ffi::OsStr;
use std::io::{ErrorKind, Write};

use crate::LaunchError;

/// Prints a sentence or table of the launcher to standard error, in one piece.
pub(crate) fn say(text: &str) {
    // There is nobody else to tell when standard error is closed.
    let _ = std::io::stderr().write_all(marked(text).as_bytes());
}

/// A sentence or table behind the launcher's name, with a line end.
pub(crate) fn marked(text: &str) -> String {
    format!("mpiexec: {}\n", text.trim_end())
}

/// Prints a text that was asked for. A reader that has read enough is no error.
///
/// # Errors
/// When standard output takes no more.
pub(crate) fn print(text: &str) -> Result<(), LaunchError> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(LaunchError::system("write to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Writes the launcher's process id to standard output (`-`), standard error (`+`) or a file.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn tell_pid(to: &OsStr) -> Result<(), LaunchError> {
    let text = format!("{}\n", std::process::id());
    match to.to_str() {
        Some("-") => print(&text)?,
        // As for `say`.
        Some("+") => drop(std::io::stderr().write_all(text.as_bytes())),
        _ => std::fs::write(to, text).map_err(|error| {
            LaunchError::usage(format!(
                "cannot write the process id to {}: {error}",
                to.display()
            ))
        })?,
    }
    Ok(())
}

/// The name of this node.
pub(crate) fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
