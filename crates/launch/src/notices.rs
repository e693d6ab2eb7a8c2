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

/// Refuses hosts that are not this node; returns their slots (`host:4`), one where none are told.
pub(crate) fn require_this_host<'a>(
    hosts: impl Iterator<Item = &'a str>,
) -> Result<u32, LaunchError> {
    let own = host_name();
    let short = own.split('.').next().unwrap_or_default();
    let mut all = 0u32;
    for host in hosts.map(str::trim).filter(|host| !host.is_empty()) {
        let (name, slots) = match host {
            "::1" => (host, ""),
            _ => host.split_once(':').unwrap_or((host, "")),
        };
        // PRRTE calls the first host of an allocation +n0.
        let here = ["localhost", "127.0.0.1", "::1", "+n0", &own, short].contains(&name);
        if !here {
            return Err(LaunchError::usage(format!(
                "host {name} is not this node ({own}); this version runs jobs on one node only"
            )));
        }
        all = all.saturating_add(slots.parse().unwrap_or(1));
    }
    Ok(all)
}

/// The same for the hosts in a file: one a line, the first word, `#` for comments; `slots=4` may stand behind it.
pub(crate) fn require_this_host_in(file: &OsStr) -> Result<u32, LaunchError> {
    let text = sys::files::read_text(file).map_err(|error| {
        LaunchError::usage(format!(
            "cannot read the host file {}: {error}",
            file.display()
        ))
    })?;
    let mut all = 0u32;
    for line in text.lines().filter_map(|line| line.split('#').next()) {
        let Some(host) = line.split_whitespace().next() else {
            continue;
        };
        let own = require_this_host(std::iter::once(host))?;
        let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let slots = line
            .replace(" = ", "=")
            .replace(" =", "=")
            .replace("= ", "=");
        let told = slots
            .split(' ')
            .find_map(|word| word.strip_prefix("slots="));
        all = all.saturating_add(told.and_then(|slots| slots.parse().ok()).unwrap_or(own));
    }
    Ok(all)
}
