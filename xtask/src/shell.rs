// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running other programs, and talking to the user.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

/// Prints a line.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A closed standard output has nobody to tell.
    let _ = writeln!(out, "{line}");
}

/// The root of the workspace: of the one that cargo runs this for, which may share its build folder with another one that this
/// was compiled for.
pub(crate) fn root() -> PathBuf {
    let compiled_for = || PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let package = crate::settings::package_folder().unwrap_or_else(compiled_for);
    package
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    crate::settings::target_folder().unwrap_or_else(|| root().join("target"))
}

/// A command in the workspace's root.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// A command in the workspace's root that may take so many seconds.
pub(crate) fn limited(limit_s: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut timeout = command("timeout");
    timeout.args(["-k", "10", limit_s]).arg(program);
    timeout
}

/// Runs a command to its end; an error names the command and its status.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} ended with {status}"))
    }
}

/// Runs a command and gives what it printed.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))
}

/// Runs a command whose output, standard error in its place among it, goes to a file of the target folder; gives what it
/// printed and where that is kept.
pub(crate) fn logged(
    command: &mut Command,
    log: &str,
) -> Result<(ExitStatus, String, PathBuf), String> {
    let path = target().join(log);
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(target()).map_err(told)?;
    let file = std::fs::File::create(&path).map_err(told)?;
    command.stderr(file.try_clone().map_err(told)?).stdout(file);
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = std::fs::read(&path).map_err(told)?;
    Ok((status, String::from_utf8_lossy(&text).into_owned(), path))
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Compiles a C program with a compiler wrapper, strictly.
pub(crate) fn compile(wrapper: &Path, source: &str, program: &Path) -> Result<(), String> {
    let flags = [
        "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", source, "-lm", "-o",
    ];
    run(command(wrapper).args(flags).arg(program))
}

/// Runs cargo, the one that runs us. An incremental build of an optimised library takes more instructions a call, so there is none.
pub(crate) fn cargo(arguments: &[&str]) -> Result<(), String> {
    let mut cargo = command(env!("CARGO"));
    if arguments
        .iter()
        .any(|word| ["--release", "--profile"].contains(word))
    {
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    run(cargo.args(arguments))
}
