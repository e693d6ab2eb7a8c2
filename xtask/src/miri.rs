// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask miri`: tests whose code needs no operating system, run by the interpreter that finds undefined behaviour.

use crate::shell;

/// A package and its tests that run there.
const TESTS: &[(&str, &[&str])] = &[(
    "rankpoint-layout",
    &[
        "--lib", "--test", "kernels", "--test", "direct", "--test", "type_map",
    ],
)];
/// Seconds that a package may take.
const LIMIT_S: &str = "1200";
/// Property tests look for a file of cases that failed before, which isolation forbids.
const FLAGS: &str = "-Zmiri-disable-isolation -Zmiri-strict-provenance";

/// Why there is no interpreter, if there is none.
pub(crate) fn missing() -> Option<String> {
    let mut probe = shell::command("cargo");
    let output = probe.args(["+nightly", "miri", "--version"]).output();
    if output.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let how = "rustup toolchain install nightly --component miri,rust-src";
    Some(format!("no Miri here; {how}"))
}

/// What each package has passed, or what failed.
///
/// # Errors
/// The end of the output of a package that fails, or that runs no test.
pub(crate) fn all() -> Result<usize, String> {
    let mut passed = 0;
    for (package, tests) in TESTS {
        let mut command = shell::command("timeout");
        command.args([
            "-k", "10", LIMIT_S, "cargo", "+nightly", "miri", "test", "-p", package,
        ]);
        command
            .args(*tests)
            .env("MIRIFLAGS", FLAGS)
            .env_remove("CARGO");
        command.env("CARGO_TARGET_DIR", shell::target().join("miri"));
        let output = shell::output(&mut command)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let count = text.lines().filter(|line| line.ends_with("... ok")).count();
        if !output.status.success() || count == 0 {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "{package} under Miri: {}\n{text}{errors}",
                output.status
            ));
        }
        shell::say(&format!("{package}: {count} tests"));
        passed += count;
    }
    Ok(passed)
}

/// Runs them, or says why not.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    match missing() {
        Some(why) => shell::say(&format!("skipped: {why}")),
        None => drop(all()?),
    }
    Ok(())
}
