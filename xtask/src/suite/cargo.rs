// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cargo runs: lints, unit, property, multi-rank and launcher tests, and the models of `loom`.

use std::fs;

use super::Found;
use crate::{checks, shell};

/// Longest time that all of cargo's tests may take, so that one that hangs is told and not waited for.
const LIMIT_S: &str = "1500";
/// Lines of output that are shown when something fails.
const SHOWN: usize = 80;

/// A command that only succeeds or fails.
pub(super) fn succeeds(what: &str, arguments: &[&str]) -> Result<Found, String> {
    shell::cargo(arguments)?;
    Ok(Found::one(what.to_owned()))
}

/// Every link in the documentation leads somewhere, also in that of what is private.
pub(super) fn documentation() -> Result<Found, String> {
    let mut doc = shell::command(env!("CARGO"));
    doc.args([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    let flags = "-D warnings -A rustdoc::private_intra_doc_links";
    shell::run(doc.arg("--quiet").env("RUSTDOCFLAGS", flags))?;
    Ok(Found::one("links in the documentation".to_owned()))
}

/// Tests; counts what `cargo test` reports.
pub(super) fn tests(arguments: &[&str]) -> Result<Found, String> {
    counted(arguments, None, "target/tests.log")
}

/// The models of concurrent code, which need a build of their own.
pub(super) fn models() -> Result<Found, String> {
    let models = checks::count_models()?;
    if models == 0 {
        return Ok(Found::Skipped("no source file has a model".to_owned()));
    }
    let folder = shell::target().join("loom").display().to_string();
    let arguments = [
        "test",
        "--release",
        "-p",
        "rankpoint-fabric",
        "--lib",
        "--target-dir",
        &folder,
    ];
    let found = counted(
        &[&arguments[..], &["--", "model"]].concat(),
        Some(("RUSTFLAGS", "--cfg loom")),
        "target/loom.log",
    )?;
    match found {
        Found::Tests {
            passed, failed: 0, ..
        } if passed < models => Err(format!(
            "{models} models in the source, but only {passed} ran: name their tests model_..."
        )),
        found => Ok(found),
    }
}

/// Runs tests with a variable of the environment; counts what `cargo test` reports, and keeps its output in `log`.
pub(super) fn counted(
    arguments: &[&str],
    variable: Option<(&str, &str)>,
    log: &str,
) -> Result<Found, String> {
    let mut command = shell::command("timeout");
    command
        .args(["-k", "10", LIMIT_S, env!("CARGO")])
        .args(arguments);
    command.envs(variable);
    let output = shell::output(&mut command)?;
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let log = shell::root().join(log);
    fs::create_dir_all(shell::root().join("target")).map_err(|error| format!("target: {error}"))?;
    fs::write(&log, text.as_bytes()).map_err(|error| format!("{}: {error}", log.display()))?;
    let (passed, failed, skipped) = totals(&text);
    if !output.status.success() {
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.ends_with("... ok"))
            .collect();
        shell::say(&lines[lines.len().saturating_sub(SHOWN)..].join("\n"));
    }
    match output.status.code() {
        Some(124 | 137) => return Err(format!("cargo test took more than {LIMIT_S} s")),
        Some(0) if passed > 0 => {}
        _ if failed == 0 => {
            return Err(format!(
                "cargo test ended with {} and {passed} tests",
                output.status
            ));
        }
        _ => {}
    }
    Ok(Found::Tests {
        passed,
        failed,
        skipped,
        what: format!("all output is in {}", log.display()),
    })
}

/// Sums of the lines `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn totals(text: &str) -> (usize, usize, usize) {
    let mut totals = (0, 0, 0);
    for line in text
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "))
    {
        let number = |name: &str| {
            let part = line
                .split([';', '.'])
                .map(str::trim)
                .find(|part| part.ends_with(name));
            part.and_then(|part| part.split(' ').next()?.parse().ok())
                .unwrap_or(0)
        };
        totals.0 += number(" passed");
        totals.1 += number(" failed");
        totals.2 += number(" ignored");
    }
    totals
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_of_all_executables_are_summed() {
        let text = "test a ... ok\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
                    test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 9 filtered out\n";
        assert_eq!(super::totals(text), (7, 2, 1));
    }
}
