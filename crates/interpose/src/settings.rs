// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment variables of this library: one table.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::layers::{LAYERS, Layer};

/// Settings of the environment.
pub(crate) struct Settings {
    /// The layers that are switched on, outermost first.
    pub(crate) layers: Vec<&'static Layer>,
    /// Profiling tools, the one that the program calls first.
    pub(crate) tools: Vec<PathBuf>,
    /// The MPI library, instead of the one that the program would have had.
    pub(crate) library: Option<PathBuf>,
    /// Where statistics go: each rank writes this file with `.` and its rank behind.
    pub(crate) statistics: Option<PathBuf>,
    /// Whether the start is described on standard error.
    pub(crate) verbose: bool,
}

/// What is set, if it is and is not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// One of some words; the first one where nothing is set.
///
/// # Errors
/// What is set, and what may be.
pub(crate) fn choice<T: Copy>(name: &str, choices: &[(&str, T)]) -> Result<T, String> {
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
        let list = |name: &str| {
            let value = value(name).unwrap_or_default();
            let text = value
                .into_string()
                .map_err(|value| format!("{name}={} is not a text", value.display()))?;
            let words = text.split(',').map(str::trim);
            Ok::<_, String>(
                words
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            )
        };
        let named = list("RANKPOINT_INTERPOSE")?;
        for name in &named {
            if !LAYERS.iter().any(|layer| layer.name == name) {
                let known: Vec<&str> = LAYERS.iter().map(|layer| layer.name).collect();
                let known = known.join(", ");
                return Err(format!(
                    "RANKPOINT_INTERPOSE: {name} is not one of the layers {known}"
                ));
            }
        }
        let is_named = |layer: &&Layer| named.iter().any(|name| name == layer.name);
        let tools = list("RANKPOINT_TOOLS")?;
        let settings = Self {
            layers: LAYERS.iter().filter(is_named).collect(),
            tools: tools.into_iter().map(PathBuf::from).collect(),
            library: value("RANKPOINT_INTERPOSE_LIBRARY").map(PathBuf::from),
            statistics: value("RANKPOINT_INTERPOSE_STATS").map(PathBuf::from),
            verbose: choice("RANKPOINT_INTERPOSE_VERBOSE", &[("0", false), ("1", true)])?,
        };
        // SAFETY: MPI's first call; the standard lets no other thread call MPI before it, and a program that changes its environment
        // in another thread meanwhile races with every library that reads it.
        unsafe { libc::unsetenv(c"RANKPOINT_TOOLS".as_ptr()) };
        Ok(settings)
    }

    /// Whether layers or tools are asked for.
    pub(crate) fn asks_for_something() -> bool {
        [
            "RANKPOINT_INTERPOSE",
            "RANKPOINT_TOOLS",
            "RANKPOINT_INTERPOSE_STATS",
        ]
        .iter()
        .any(|name| value(name).is_some())
    }
}
