// SPDX-License-Identifier: MIT OR Apache-2.0
//! Python's MPI bindings on Rankpoint: their own test suite, started by a script of tests/mpi4py.

use super::Found;
use crate::{install, shell, tools};

/// Takes the prefix and a folder to work in; its last line is `N passed, N failed, N skipped`.
const SCRIPT: &str = "tests/mpi4py/run.py";
/// Seconds that all of it may take.
const LIMIT_S: &str = "900";

/// Runs the script, if there is one.
pub(super) fn bindings() -> Result<Found, String> {
    let script = shell::root().join(SCRIPT);
    if !script.exists() {
        return Ok(Found::Skipped(format!("{SCRIPT} does not exist")));
    }
    if let Err(why) = tools::need(&[tools::CC, tools::PIP, tools::PYTHON_HEADERS]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let mut command = shell::command("timeout");
    command.args(["-k", "10", LIMIT_S, "python3"]).arg(&script);
    let output = shell::output(command.arg(&prefix).arg(shell::target().join("mpi4py")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("");
    let numbers: Vec<usize> = last
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    if !output.status.success() {
        shell::say(&format!(
            "{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    match numbers[..] {
        [passed, failed, skipped]
            if passed + failed > 0 && (failed > 0 || output.status.success()) =>
        {
            Ok(Found::Tests {
                passed,
                failed,
                skipped,
                what: "tests of mpi4py".to_owned(),
            })
        }
        _ => Err(format!(
            "{SCRIPT} ended with {} and said '{last}'",
            output.status
        )),
    }
}
