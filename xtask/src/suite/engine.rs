// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine's in-process tests once more, under other conditions: on the simulated network, on two nodes, with ranks that are endpoints,
//! with offered receives. The executable is that of the step `tests`: `cargo test` of one package would choose other features and
//! build all of it again.

use std::path::PathBuf;

use serde_json::Value;

use super::cargo::{BUILD_OF_TESTS, judged};
use super::found::Found;
use super::scope::{self, Scope};
use crate::shell;

/// The package of the engine, whose folder its tests run in.
const FOLDER: &str = "crates/engine";
/// Its library, as cargo calls it.
pub(super) const LIBRARY: &str = "engine";
/// Longest time of one run in seconds.
const LIMIT_S: &str = "900";

/// Settings of the simulated network: the first one is that of a quick run.
const SIM_SETTINGS: &[&str] = &[
    "default",
    "seed=1,latency=20000,reorder=1",
    "seed=7,cells=8,gap=500",
    "seed=3,early=30,bandwidth=1000",
];
const QUICK_SIM_SETTINGS: usize = 1;

/// Tests on the simulated network.
pub(super) fn on_sim(scope: Scope) -> Result<Found, String> {
    // It runs one rank at a time, and in this test a rank waits for a lock of a file that another one gives back in its next turn.
    const LOCKS: [&str; 2] = ["--skip", "a_collective_access_locks_nothing"];
    let mut arguments = LOCKS.to_vec();
    // Every algorithm in every case takes minutes there.
    if scope == Scope::Quick {
        arguments.extend(["--skip", "coll::tests::matrix"]);
    }
    let settings = scope.some(SIM_SETTINGS, QUICK_SIM_SETTINGS);
    let what = "tests of the engine on the simulated network";
    each_value(&arguments, "RANKPOINT_TEST_SIM", settings, scope, what)
}

/// Tests that ranks on several nodes pass, too; the quick ones first.
const NODE_TESTS: &[&str] = &[
    "p2p::",
    "protocol::",
    "progress::tests",
    "create::endpoints",
    "rma::message",
    "coll::tests::random",
    "coll::tests::far_offers",
    "rma::",
    "create::tests",
    "create::overlap",
    "create::vci_report",
    "comm::",
    "op::",
    "vci::",
    "request::",
    "create::trace",
    "create::added",
    "overlap::",
    "ordering::",
    "coll::tests::background",
    "coll::tests::check",
    "coll::tests::definitions",
];
const QUICK_NODE_TESTS: usize = 7;

/// Some tests with the ranks on two nodes that libfabric connects.
pub(super) fn on_nodes(scope: Scope) -> Result<Found, String> {
    let known = shell::command("ldconfig").arg("-p").output();
    let known = known.map_err(|error| format!("ldconfig cannot be run: {error}"))?;
    if !String::from_utf8_lossy(&known.stdout).contains("libfabric.so.1") {
        return Ok(Found::Skipped(
            "libfabric is not installed (libfabric1)".to_owned(),
        ));
    }
    let tests = scope.some(NODE_TESTS, QUICK_NODE_TESTS);
    let what = "tests of the engine on two nodes";
    each_value(tests, "RANKPOINT_TEST_NODES", &["2"], scope, what)
}

/// Tests that pass with offered receives, too; the quick ones first.
const OFFER_TESTS: &[&str] = &["protocol::", "p2p::", "progress::", "coll::", "rma::"];
const QUICK_OFFER_TESTS: usize = 1;
/// One whose wait must hang, because the sender makes no progress on the VCI of its long message: into an offered receive the sender writes
/// it at once, so the wait ends.
const NO_OFFER_TEST: &str = "progress::tests::a_wait_that_advances_its_own_vci_only_hangs";

/// Some tests where every receive that may be is offered to its sender.
pub(super) fn with_offers(scope: Scope) -> Result<Found, String> {
    let mut arguments = vec!["--skip", NO_OFFER_TEST];
    arguments.extend(scope.some(OFFER_TESTS, QUICK_OFFER_TESTS));
    let what = "tests of the engine with offers";
    each_value(&arguments, "RANKPOINT_RENDEZVOUS", &["write"], scope, what)
}

/// Tests whose ranks may be endpoints.
const ENDPOINT_TESTS: &[&str] = &["coll::tests", "p2p::", "protocol::tests", "rma::"];
/// Endpoints of each process; the quick one first.
const ENDPOINTS: &[&str] = &["2", "3", "8"];
const QUICK_ENDPOINTS: usize = 1;

/// Some tests with ranks that are endpoints of fewer processes.
pub(super) fn on_endpoints(scope: Scope) -> Result<Found, String> {
    let values = scope.some(ENDPOINTS, QUICK_ENDPOINTS);
    let what = "tests of the engine with endpoints";
    each_value(
        ENDPOINT_TESTS,
        "RANKPOINT_TEST_ENDPOINTS",
        values,
        scope,
        what,
    )
}

/// Runs tests once for each value of a variable of the environment.
fn each_value(
    arguments: &[&str],
    variable: &str,
    values: &[&str],
    scope: Scope,
    what: &str,
) -> Result<Found, String> {
    let executable = executable_of(LIBRARY)?;
    let log = format!("{}.log", variable.to_lowercase());
    let runs = values.iter().map(|value| {
        let mut command = shell::limited(LIMIT_S, &executable);
        command
            .args(arguments)
            .current_dir(shell::root().join(FOLDER));
        command.envs([(scope::VARIABLE, scope.name()), (variable, *value)]);
        (
            format!("{variable}={value}"),
            judged(&mut command, &log, LIMIT_S),
        )
    });
    Found::sum(runs, what)
}

/// The executable with the tests of a library.
pub(super) fn executable_of(library: &str) -> Result<PathBuf, String> {
    let mut cargo = shell::command(env!("CARGO"));
    cargo.args(BUILD_OF_TESTS);
    cargo.args(["--no-run", "--message-format", "json"]);
    let built = shell::output(&mut cargo)?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&built.stdout);
    let found = text.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == library && message["profile"]["test"] == true;
        let path = message["executable"].as_str().filter(|_| is_it)?;
        Some(PathBuf::from(path))
    });
    found.ok_or_else(|| format!("cargo built no tests of the library {library}"))
}
