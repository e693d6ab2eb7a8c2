// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cargo runs: lints, unit, property, multi-rank and launcher tests, and the models of `loom`.

use super::found::Found;
use super::scope::{self, Scope};
use crate::{checks, shell};

/// What is built only if asked for, and tested all the same.
pub(super) const OPTIONAL: &str = "rankpoint/ndarray";
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
    let arguments = [
        "test",
        "--workspace",
        "--features",
        OPTIONAL,
        "--no-fail-fast",
    ];
    let variables = [(scope::VARIABLE, scope.name())];
    counted(&arguments, &variables, "tests.log")
}

/// The variable that puts the engine's in-process tests on the simulated network, and its settings: the first one is that of a
/// quick run.
const SIM_VARIABLE: &str = "RANKPOINT_TEST_SIM";
const SIM_SETTINGS: &[&str] = &[
    "default",
    "seed=1,latency=20000,reorder=1",
    "seed=7,cells=8,gap=500",
    "seed=3,early=30,bandwidth=1000",
];
const QUICK_SIM_SETTINGS: usize = 1;
/// The file that reads it.
const SIM_READER: &str = "crates/engine/src/testing/mod.rs";

/// The engine's in-process tests once more, on the simulated network with several of its settings.
pub(super) fn tests_on_sim(scope: Scope) -> Result<Found, String> {
    let reader = shell::root().join(SIM_READER);
    let text = std::fs::read_to_string(reader).unwrap_or_default();
    if !text.contains(SIM_VARIABLE) {
        let why = format!("the engine's tests do not read {SIM_VARIABLE} yet");
        return Ok(Found::Skipped(why));
    }
    let mut arguments = vec!["test", "-p", "rankpoint-engine", "--lib", "--no-fail-fast"];
    if matches!(scope, Scope::Quick) {
        // Every algorithm in every case takes minutes there.
        arguments.extend(["--", "--skip", "coll::tests::matrix"]);
    }
    let settings = scope.some(SIM_SETTINGS, QUICK_SIM_SETTINGS);
    let what = "tests of the engine on the simulated network";
    each_setting(&arguments, SIM_VARIABLE, settings, scope, what)
}

/// Runs tests once for each value of a variable of the environment.
fn each_setting(
    arguments: &[&str],
    variable: &str,
    values: &[&str],
    scope: Scope,
    what: &str,
) -> Result<Found, String> {
    let log = format!("{}.log", variable.to_lowercase());
    let (mut all, mut failed_all, mut skipped_all, mut told) = (0, 0, 0, Vec::new());
    for value in values {
        let variables = [(scope::VARIABLE, scope.name()), (variable, *value)];
        if let Found::Tests {
            passed,
            failed,
            skipped,
            wrong,
            ..
        } = counted(arguments, &variables, &log)?
        {
            all += passed;
            failed_all += failed;
            skipped_all += skipped;
            told.extend(wrong.into_iter().map(|text| format!("{value}: {text}")));
        }
    }
    Ok(Found::Tests {
        passed: all,
        failed: failed_all,
        skipped: skipped_all,
        what: what.to_owned(),
        wrong: told,
    })
}

/// Tests of the engine that ranks on several nodes pass, too; the quick ones first.
const NODE_TESTS: &[&str] = &[
    "p2p::",
    "protocol::",
    "progress::tests",
    "create::endpoints",
    "rma::message",
    "coll::tests::random",
    "rma::",
    "create::tests",
    "create::overlap",
    "create::vci_report",
];
const QUICK_NODE_TESTS: usize = 6;

/// Some of the engine's in-process tests once more, with the ranks on two nodes that libfabric connects.
pub(super) fn tests_on_nodes(scope: Scope) -> Result<Found, String> {
    let known = shell::command("ldconfig").arg("-p").output();
    let known = known.map_err(|error| format!("ldconfig cannot be run: {error}"))?;
    if !String::from_utf8_lossy(&known.stdout).contains("libfabric.so.1") {
        return Ok(Found::Skipped(
            "libfabric is not installed (libfabric1)".to_owned(),
        ));
    }
    let mut arguments = vec![
        "test",
        "-p",
        "rankpoint-engine",
        "--lib",
        "--no-fail-fast",
        "--",
    ];
    arguments.extend(scope.some(NODE_TESTS, QUICK_NODE_TESTS));
    let variables = [
        (scope::VARIABLE, scope.name()),
        ("RANKPOINT_TEST_NODES", "2"),
    ];
    counted(&arguments, &variables, "nodes.log")
}

/// Tests of the engine that pass with offered receives, too; the quick ones first.
const OFFER_TESTS: &[&str] = &["protocol::", "p2p::", "progress::"];
const QUICK_OFFER_TESTS: usize = 1;
/// One whose wait must hang, because the sender makes no progress on the VCI of its long message: into an offered receive the sender writes
/// it at once, so the wait ends.
const NO_OFFER_TEST: &str = "progress::tests::a_wait_that_advances_its_own_vci_only_hangs";

/// Some of the engine's in-process tests once more, where every receive that may be is offered to its sender.
pub(super) fn tests_with_offers(scope: Scope) -> Result<Found, String> {
    let mut arguments = vec!["test", "-p", "rankpoint-engine", "--lib", "--no-fail-fast"];
    arguments.extend(["--", "--skip", NO_OFFER_TEST]);
    arguments.extend(scope.some(OFFER_TESTS, QUICK_OFFER_TESTS));
    let variables = [
        (scope::VARIABLE, scope.name()),
        ("RANKPOINT_RENDEZVOUS", "write"),
    ];
    counted(&arguments, &variables, "written.log")
}

/// Tests of the engine whose ranks may be endpoints.
const ENDPOINT_TESTS: &[&str] = &["coll::tests", "p2p::", "protocol::tests", "rma::"];
/// Endpoints of each process; the quick one first.
const ENDPOINTS: &[&str] = &["2", "3", "8"];
const QUICK_ENDPOINTS: usize = 1;

/// Some of the engine's in-process tests once more, with ranks that are endpoints of fewer processes.
pub(super) fn tests_on_endpoints(scope: Scope) -> Result<Found, String> {
    let mut arguments = vec!["test", "-p", "rankpoint-engine", "--lib", "--no-fail-fast"];
    arguments.push("--");
    arguments.extend(ENDPOINT_TESTS);
    let setting = "RANKPOINT_TEST_ENDPOINTS";
    let what = "tests of the engine with endpoints";
    each_setting(
        &arguments,
        setting,
        scope.some(ENDPOINTS, QUICK_ENDPOINTS),
        scope,
        what,
    )
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
        "--lib",
        "--target-dir",
        &folder,
    ];
    let found = counted(
        &[&arguments[..], &["--", "model"]].concat(),
        &[("RUSTFLAGS", "--cfg loom"), (scope::VARIABLE, scope.name())],
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
    let mut command = shell::command("timeout");
    command
        .args(["-k", "10", LIMIT_S, env!("CARGO")])
        .args(arguments);
    command.envs(variables.iter().copied());
    let (status, text, path) = shell::logged(&mut command, log)?;
    let (passed, failed, skipped) = totals(&text);
    let wrong = failures(&text);
    match status.code() {
        Some(124 | 137) => {
            return Err(format!("cargo test took more than {LIMIT_S} s\n{text}"));
        }
        Some(0) if passed > 0 => {}
        _ if wrong.is_empty() => {
            return Err(format!(
                "cargo test ended with {status} and {passed} tests\n{text}"
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

/// What each failed test has printed, and each executable that a signal ended, with the name of the executable.
fn failures(text: &str) -> Vec<String> {
    let (mut wrong, mut inside, mut executable) = (Vec::<String>::new(), false, "");
    for line in text.lines() {
        if line.starts_with("     Running ") || line.starts_with("   Doc-tests ") {
            (executable, inside) = (line.trim_start(), false);
        } else if line.starts_with("---- ") {
            inside = true;
            wrong.push(format!("{executable}\n{line}"));
        } else if line == "failures:" || line.starts_with("error: ") {
            inside = false;
        } else if line.contains("process didn't exit successfully") && line.contains("signal") {
            wrong.push(line.trim_start().to_owned());
        } else if let (true, Some(last)) = (inside, wrong.last_mut()) {
            last.push('\n');
            last.push_str(line);
        }
    }
    wrong
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

    #[test]
    fn failures_are_told_with_what_they_printed() {
        let text = "     Running unittests src/lib.rs (x)\ntest a ... ok\ntest result: ok. 1 passed; 0 failed;\n     \
                    Running tests/hang.rs (y)\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nit hung\nat 7\n---- c stdout \
                    ----\nwrong\n\nfailures:\n    b\n    c\n\ntest result: FAILED. 0 passed; 2 failed;\n\nerror: test failed\n\
                    Caused by:\n  process didn't exit successfully: `z` (signal: 11, SIGSEGV)\n";
        let told = [
            "Running tests/hang.rs (y)\n---- b stdout ----\nit hung\nat 7",
            "Running tests/hang.rs (y)\n---- c stdout ----\nwrong\n",
            "process didn't exit successfully: `z` (signal: 11, SIGSEGV)",
        ];
        assert_eq!(super::failures(text), told);
    }
}
