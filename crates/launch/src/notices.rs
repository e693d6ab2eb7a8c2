// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sentences from the launcher to the user, and the names of this machine in them.

use std::ffi::OsStr;
use std::io::Write;

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

/// Prints a text that was asked for.
pub(crate) fn print(text: &str) {
    // As for `say`.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The name of this machine.
pub(crate) fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Refuses hosts that are not this machine. Slots (`host:4`) are not looked at.
pub(crate) fn require_this_host<'a>(
    hosts: impl Iterator<Item = &'a str>,
) -> Result<(), LaunchError> {
    let own = host_name();
    let short = own.split('.').next().unwrap_or_default();
    for host in hosts.map(str::trim).filter(|host| !host.is_empty()) {
        let name = if host == "::1" {
            host
        } else {
            host.split(':').next().unwrap_or_default()
        };
        let here = ["localhost", "127.0.0.1", "::1", &own, short].contains(&name);
        if !here {
            return Err(LaunchError::usage(format!(
                "host {name} is not this machine ({own}); this version runs jobs on one machine only"
            )));
        }
    }
    Ok(())
}

/// The same for the hosts in a file: one a line, the first word, `#` for comments.
pub(crate) fn require_this_host_in(file: &OsStr) -> Result<(), LaunchError> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        LaunchError::usage(format!(
            "cannot read the host file {}: {error}",
            file.display()
        ))
    })?;
    let lines = text.lines().filter_map(|line| line.split('#').next());
    require_this_host(lines.filter_map(|line| line.split_whitespace().next()))
}
