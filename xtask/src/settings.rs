// SPDX-License-Identifier: MIT OR Apache-2.0
//! What these tasks read from their environment, and the command that writes the page of the engine's settings.

use std::path::PathBuf;

use crate::shell;

/// Writes the tables of `docs/settings.md`; the engine's test of that page makes them.
pub(crate) fn write_page(_: &[String]) -> Result<(), String> {
    let mut test = shell::command("cargo");
    test.args(["test", "--quiet", "--package", "rankpoint-engine", "--lib"]);
    test.args(["settings::page"]);
    test.env("RANKPOINT_TEST_WRITE", "1");
    shell::run(&mut test)?;
    shell::say("Wrote docs/settings.md");
    Ok(())
}

/// The folder that cargo builds into, if it is not `target`.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn target_folder() -> Option<PathBuf> {
    std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from)
}

/// The package that cargo runs, if it does.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn package_folder() -> Option<PathBuf> {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)
}
