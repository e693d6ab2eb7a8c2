// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment variables of the command, and the files installed beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Soname of a library with the standard ABI.
pub const LIBRARY: &str = "libmpi_abi.so.1";
/// Set by Rankpoint's launcher for each rank.
const JOB_VARIABLE: &str = "RANKPOINT_JOB";

/// Folders that the dynamic linker searches first.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
fn library_path() -> Vec<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    folders
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect()
}

/// Whether this process is a rank of a job already.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub fn is_rank() -> bool {
    std::env::var_os(JOB_VARIABLE).is_some()
}

/// A setting of the library that ranks would read.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The file of rules for collectives that ranks would read.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub fn coll_table() -> Option<PathBuf> {
    let file = std::env::var_os("RANKPOINT_COLL_TABLE")?;
    (!file.is_empty()).then(|| PathBuf::from(file))
}

/// The file of this program.
pub fn this_program() -> Result<PathBuf, String> {
    let file = std::env::current_exe().and_then(|file| file.canonicalize());
    file.map_err(|error| format!("cannot find this program's own file: {error}"))
}

/// A file of the tree that this program is installed in.
///
/// # Errors
/// Where it is not there.
pub fn installed(file: &str) -> Result<PathBuf, String> {
    let program = this_program()?;
    let prefix = program.parent().and_then(Path::parent);
    let file = prefix.unwrap_or(Path::new("/")).join(file);
    if file.exists() {
        return Ok(file);
    }
    Err(format!(
        "{} is not there: this program was not installed",
        file.display()
    ))
}

/// The launcher that was installed together with this program.
pub fn installed_launcher() -> Option<PathBuf> {
    let launcher = this_program().ok()?.parent()?.join("mpiexec");
    launcher.exists().then_some(launcher)
}

/// The folder of the library to use: the first of LD_LIBRARY_PATH that has one, else the one installed with this program.
pub fn library_folder() -> Option<PathBuf> {
    let installed = || {
        let program = this_program().ok()?;
        Some(program.parent()?.parent()?.join("lib"))
    };
    let mut folders = library_path().into_iter().chain(installed());
    folders.find(|folder| folder.join(LIBRARY).exists())
}

/// The library that this process itself opens.
pub fn library_to_open() -> PathBuf {
    library_folder().map_or_else(|| PathBuf::from(LIBRARY), |folder| folder.join(LIBRARY))
}
