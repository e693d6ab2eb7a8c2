// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment variables of this library: one table.

use std::ffi::OsString;
use std::path::PathBuf;

/// Settings of the environment.
pub(crate) struct Settings {
    /// Profiling tools, the one that the program calls first.
    pub(crate) tools: Vec<PathBuf>,
    /// The MPI library, instead of the one that the program would have had.
    pub(crate) library: Option<PathBuf>,
    /// Where statistics go: each rank writes this file with `.` and its rank behind.
    pub(crate) statistics: Option<PathBuf>,
    /// Whether the start is described on standard error.
    pub(crate) verbose: bool,
}

/// The value of a variable, unless it is unset or empty.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The choice that a variable names; the first one where it is unset.
///
/// # Errors
/// The variable, its value and the words that it may have.
fn choice<T: Copy>(name: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let Some(value) = value(name) else {
        return Ok(choices[0].1);
    };
    let found = choices.iter().find(|(word, _)| value == *word);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let (value, words) = (value.display(), words.join(", "));
        format!("{name}={value} is not one of {words}")
    })
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// The variable, its value and what was expected.
    pub(crate) fn read() -> Result<Self, String> {
        let tools = value("RANKPOINT_TOOLS").unwrap_or_default();
        let tools = tools
            .into_string()
            .map_err(|tools| format!("RANKPOINT_TOOLS={} is not a text", tools.display()))?;
        let tools = tools.split(',').map(str::trim);
        let tools = tools.filter(|tool| !tool.is_empty()).map(PathBuf::from);
        let settings = Self {
            tools: tools.collect(),
            library: value("RANKPOINT_INTERPOSE_LIBRARY").map(PathBuf::from),
            statistics: value("RANKPOINT_INTERPOSE_STATS").map(PathBuf::from),
            verbose: choice("RANKPOINT_INTERPOSE_VERBOSE", &[("0", false), ("1", true)])?,
        };
        // SAFETY: MPI's first call; the standard lets no other thread call MPI before it, and a program that changes its environment
        // in another thread meanwhile races with every library that reads it.
        unsafe { libc::unsetenv(c"RANKPOINT_TOOLS".as_ptr()) };
        Ok(settings)
    }

    /// Whether the environment asks for tools or statistics.
    pub(crate) fn asks_for_something() -> bool {
        ["RANKPOINT_TOOLS", "RANKPOINT_INTERPOSE_STATS"]
            .iter()
            .any(|name| value(name).is_some())
    }
}
