// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cargo runs: lints, unit, property, multi-rank and launcher tests, and the models of `loom`.

use super::found::Found;
use super::scope::{self, Scope};
use crate::{checks, shell};

/// What is built only if asked for, and tested all the same.
pub(super) const OPTIONAL: &str = "rankpoint/ndarray";
/// How the tests are built, for cargo.
pub(super) const BUILD_OF_TESTS: &[&str] = &["test", "--workspace", "--features", OPTIONAL];
/// Longest time that all of cargo's tests may take, so that one that hangs is told and not waited for.
const LIMIT_S: &str = "1500";

/// A command that only succeeds or fails.
pub(super) fn succeeds(what: &str, arguments: &[&str]) -> Result<Found, String> {
    let mut cargo = shell::command(env!("CARGO"));
    silent(what, cargo.args(arguments))
}

/// A command that says something only if it fails.
fn silent(what: &str, command: &mut std::process::Command) -> Result<Found, String> {
    let (status, text, _) = shell::logged(command, "checks.log")?;
    if status.success() {
        Ok(Found::one(what.to_owned()))
    } else {
        Err(format!("{what}: {status}\n{text}"))
    }
}

/// Every link in the documentation leads somewhere, also in that of what is private.
pub(super) fn documentation(_: Scope) -> Result<Found, String> {
    let mut doc = shell::command(env!("CARGO"));
    doc.args([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    let flags = "-D warnings -A rustdoc::private_intra_doc_links";
    doc.arg("--quiet").env("RUSTDOCFLAGS", flags);
    silent("links in the documentation", &mut doc)
}

/// All tests; counts what `cargo test` reports.
pub(super) fn tests(scope: Scope) -> Result<Found, String> {
    let arguments = [BUILD_OF_TESTS, &["--no-fail-fast"]].concat();
    let variables = [(scope::VARIABLE, scope.name())];
    counted(&arguments, &variables, "tests.log")
}

/// Builds programs and examples in Rust, with the features that the tests of all crates have: otherwise what they depend on would be compiled
/// once more.
pub(super) fn programs() -> Result<(), String> {
    let build = ["build", "--quiet", "--workspace", "--features", OPTIONAL];
    shell::cargo(&[&build[..], &["--bins", "--examples"]].concat())
}

/// The models of concurrent code, which need a build of their own.
pub(super) fn models(scope: Scope) -> Result<Found, String> {
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
        "-p",
        "rankpoint-channels",
        "-p",
        "rankpoint-endpoints",
        "--lib",
        "--target-dir",
        &folder,
    ];
    let found = counted(
        &[&arguments[..], &["--", "model"]].concat(),
        &[
            ("RUSTFLAGS", "--cfg loom"),
            // What the product gains by optimising all crates as one, the models lose in building.
            ("CARGO_PROFILE_RELEASE_LTO", "off"),
            ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
            ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
            (scope::VARIABLE, scope.name()),
        ],
        "loom.log",
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

/// Runs tests with variables of the environment; counts what `cargo test` reports, and keeps its output in `log`.
pub(super) fn counted(
    arguments: &[&str],
    variables: &[(&str, &str)],
    log: &str,
) -> Result<Found, String> {
    let mut command = shell::limited(LIMIT_S, env!("CARGO"));
    command.args(arguments);
    command.envs(variables.iter().copied());
    judged(&mut command, log, LIMIT_S)
}

/// Runs a command that runs tests for at most so many seconds; counts what they report, and keeps the output in `log`.
pub(super) fn judged(
    command: &mut std::process::Command,
    log: &str,
    limit_s: &str,
) -> Result<Found, String> {
    let (status, text, path) = shell::logged(command, log)?;
    let (passed, failed, skipped) = totals(&text);
    let wrong = failures(&text);
    match status.code() {
        Some(124 | 137) => {
            return Err(format!("the tests took more than {limit_s} s\n{text}"));
        }
        Some(0) if passed > 0 => {}
        _ if wrong.is_empty() => {
            return Err(format!(
                "the tests ended with {status}, and {passed} passed\n{text}"
            ));
        }
        _ => {}
    }
    Ok(Found::Tests {
        passed,
        failed: failed.max(wrong.len()),
        skipped,
        what: format!("all output is in {}", path.display()),
        wrong,
    })
}

/// What each failed test has printed, and each executable that a signal ended with its last lines.
fn failures(text: &str) -> Vec<String> {
    let (mut wrong, mut inside, mut executable) = (Vec::<String>::new(), false, "");
    let lines: Vec<&str> = text.lines().collect();
    let mut began = 0;
    for (number, &line) in lines.iter().enumerate() {
        if line.starts_with("     Running ") || line.starts_with("   Doc-tests ") {
            (executable, inside, began) = (line.trim_start(), false, number);
        } else if line.starts_with("---- ") {
            inside = true;
            wrong.push(format!("{executable}\n{line}"));
        } else if line == "failures:" || line.starts_with("error: ") {
            inside = false;
        } else if line.contains("process didn't exit successfully") && line.contains("signal") {
            let last = &lines[began.max(number.saturating_sub(LAST_LINES))..=number];
            wrong.push(last.join("\n").trim_start().to_owned());
        } else if let (true, Some(last)) = (inside, wrong.last_mut()) {
            last.push('\n');
            last.push_str(line);
        }
    }
    wrong
}

/// Lines that are shown of an executable that a signal ended.
const LAST_LINES: usize = 8;

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

    #[test]
    fn failures_are_told_with_what_they_printed() {
        let text = "     Running unittests src/lib.rs (x)\ntest a ... ok\ntest result: ok. 1 passed; 0 failed;\n     \
                    Running tests/hang.rs (y)\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nit hung\nat 7\n---- c stdout \
                    ----\nwrong\n\nfailures:\n    b\n    c\n\ntest result: FAILED. 0 passed; 2 failed;\n\n     Running tests/deep.rs (z)\ntest d ... ok\n\
                    thread 'e' has overflowed its stack\nerror: test failed\nCaused by:\n  process didn't exit successfully: `z` (signal: 11, SIGSEGV)\n";
        let shown = [
            "Running tests/hang.rs (y)\n---- b stdout ----\nit hung\nat 7",
            "Running tests/hang.rs (y)\n---- c stdout ----\nwrong\n",
            "Running tests/deep.rs (z)\ntest d ... ok\nthread 'e' has overflowed its stack\nerror: test failed\nCaused by:\n  process didn't exit successfully: `z` (signal: 11, SIGSEGV)",
        ];
        assert_eq!(super::failures(text), shown);
    }
}
