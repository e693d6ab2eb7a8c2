// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command, and what its ranks have written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use measure::{settings, temporary};

use super::calls;
use crate::profile::ProfileOptions;

/// Of the tree that this program is installed in.
const DISPATCHER: &str = "lib/rankpoint/interpose/libmpi_abi.so.1";

/// The machine profile by which the layer for datatypes chooses ways of data.
const PROFILE: &str = "RANKPOINT_INTERPOSE_PROFILE";

/// Variables that only one layer reads.
const VARIABLES: &[(&str, &str)] = &[
    ("RANKPOINT_INTERPOSE_PATH", "datatypes"),
    ("RANKPOINT_INTERPOSE_CONTIGUOUS", "datatypes"),
    ("RANKPOINT_INTERPOSE_DEVICE_MEMORY", "datatypes"),
    (PROFILE, "datatypes"),
    ("RANKPOINT_INTERPOSE_COLLECTIVES", "datatypes"),
    ("RANKPOINT_INTERPOSE_POOL_LIMIT", "datatypes"),
    ("RANKPOINT_INTERPOSE_PLACEMENT", "placement"),
    ("RANKPOINT_INTERPOSE_NODES", "placement"),
];

#[derive(clap::Args)]
pub(crate) struct InterposeOptions {
    /// Layers: `datatypes` packs data of derived types, `placement` gives ranks of topologies to processes on near nodes
    #[arg(long, value_delimiter = ',', value_name = "LAYER,...")]
    layers: Vec<String>,
    /// Profiling tools, shared libraries that define MPI functions, in the order in which calls pass them
    #[arg(long, value_delimiter = ',', value_name = "FILE,...")]
    tools: Vec<PathBuf>,
    /// MPI library, instead of the one that the program finds; for programs that use its functions beyond the standard
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Print how often each function was called and what the layers did, summed over ranks
    #[arg(long)]
    stats: bool,
    /// Each rank prints what is between it and which library
    #[arg(short, long)]
    verbose: bool,
    /// Command, such as mpiexec and what it takes
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs the command; its status is this program's.
pub(crate) fn run(options: &InterposeOptions) -> Result<ExitCode, String> {
    let dispatcher = dispatcher()?;
    check_layers("interpose", &options.layers)?;
    let library = options.library.as_deref();
    let library = library
        .map(|file| absolute("--library", file))
        .transpose()?;
    let tools = options.tools.iter().map(|tool| absolute("--tools", tool));
    let tools = tools.collect::<Result<Vec<_>, _>>()?;
    let (program, arguments) = options.command.split_first().ok_or("no command")?;
    let first = [Some(dispatcher), library.clone()];
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_PRELOAD", preloaded(first.into_iter().flatten()));
    if let Some(library) = library {
        command.env("RANKPOINT_INTERPOSE_LIBRARY", library);
    }
    if !tools.is_empty() {
        let tools: Vec<OsString> = tools.into_iter().map(Into::into).collect();
        command.env("RANKPOINT_TOOLS", tools.join(",".as_ref()));
    }
    if !options.layers.is_empty() {
        command.env("RANKPOINT_INTERPOSE", options.layers.join(","));
    }
    if let Some(profile) = machine_profile() {
        command.env(PROFILE, profile);
    }
    if options.verbose {
        command.env("RANKPOINT_INTERPOSE_VERBOSE", "1");
    }
    let folder = options
        .stats
        .then(|| temporary::folder("interpose"))
        .transpose()?;
    if let Some(folder) = &folder {
        command.env("RANKPOINT_INTERPOSE_STATS", folder.join("rank"));
    }
    let status = command.status();
    let status = status.map_err(|error| format!("{}: {error}", program.display()))?;
    if let Some(folder) = folder {
        report(&folder)?;
    }
    // A shell's number for a signal.
    let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Looks at the layers of a command, and reports variables of layers that are not among them.
///
/// # Errors
/// A name that is not a layer's.
pub(crate) fn check_layers(command: &str, layers: &[String]) -> Result<(), String> {
    let layers = layers.iter().map(String::as_str);
    launch::layers::check(layers.clone())?;
    // The flag replaces what the environment has.
    let environment = settings::variable("RANKPOINT_INTERPOSE").unwrap_or_default();
    let environment = environment.to_string_lossy();
    let mut named: Vec<&str> = layers.collect();
    if named.is_empty() {
        named.extend(environment.split(','));
    }
    for (variable, layer) in VARIABLES {
        let value = settings::variable(variable).filter(|value| !value.is_empty());
        if let Some(value) = value
            && !named.iter().any(|name| name.trim() == *layer)
        {
            let value = value.display();
            let line = format!(
                "rankpoint {command}: {variable}={value} does nothing without --layers {layer}\n"
            );
            // A closed standard error gets no line.
            drop(std::io::stderr().write_all(line.as_bytes()));
        }
    }
    Ok(())
}

/// The profile that other commands read, where the variable names none.
fn machine_profile() -> Option<PathBuf> {
    let named = settings::variable(PROFILE).filter(|value| !value.is_empty());
    let file = ProfileOptions::default().file(&::scope::here()).ok()?;
    (named.is_none() && file.exists()).then_some(file)
}

fn absolute(flag: &str, path: &Path) -> Result<PathBuf, String> {
    path.canonicalize()
        .map_err(|error| format!("{flag} {}: {error}", path.display()))
}

/// LD_PRELOAD with these libraries in front.
pub(crate) fn preloaded(first: impl IntoIterator<Item = PathBuf>) -> OsString {
    let old = settings::variable("LD_PRELOAD").filter(|old| !old.is_empty());
    let all = first.into_iter().map(Into::into).chain(old);
    all.collect::<Vec<OsString>>().join(":".as_ref())
}

/// The library that goes between programs and MPI libraries.
///
/// # Errors
/// Where this program was not installed.
pub(crate) fn dispatcher() -> Result<PathBuf, String> {
    settings::installed(DISPATCHER)
}

/// Prints the sums of what the ranks have written, and removes it.
fn report(folder: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut ranks = 0;
    let mut sums = BTreeMap::<String, u64>::new();
    for entry in fs::read_dir(folder).map_err(told)? {
        let text = fs::read_to_string(entry.map_err(told)?.path()).map_err(told)?;
        ranks += 1;
        for (what, number) in text.lines().filter_map(counted) {
            *sums.entry(what.to_owned()).or_default() += number;
        }
    }
    fs::remove_dir_all(folder).map_err(told)?;
    if ranks == 0 {
        let text = "rankpoint interpose: no rank wrote statistics: that is done when MPI_Finalize returns, and it did not, or nothing was between (see What goes wrong in docs/interposers.md)\n";
        // A closed standard error gets no report.
        drop(std::io::stderr().write_all(text.as_bytes()));
        return Ok(());
    }
    let mut text = format!("rankpoint interpose: {ranks} ranks wrote statistics\n");
    text.push_str(&calls::tables(&sums));
    for (what, number) in sums.iter().filter(|(what, _)| calls::is_of_a_layer(what)) {
        text.push_str(&format!("{number:>14}  {what}\n"));
    }
    // A closed standard error gets no report.
    drop(std::io::stderr().write_all(text.as_bytes()));
    Ok(())
}

/// The name of a line of statistics, and its number.
fn counted(line: &str) -> Option<(&str, u64)> {
    let (function, calls) = line.split_once(' ')?;
    Some((function, calls.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn lines_of_statistics_are_read() {
        assert_eq!(counted("MPI_Send 37"), Some(("MPI_Send", 37)));
        for wrong in ["", "MPI_Send", "MPI_Send -1", "MPI_Send 3 4"] {
            assert_eq!(counted(wrong), None, "{wrong}");
        }
    }
}
