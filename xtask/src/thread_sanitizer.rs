// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask thread-sanitizer`: tests of the engine and the fabric under ThreadSanitizer, which finds data races. Needs a nightly
//! toolchain with the sources of the standard library, which has to be instrumented, too.

use std::path::Path;

use crate::shell;

/// Seconds that building and running may take.
const LIMIT_S: &str = "2400";
/// What runs: all tests but those of collectives and windows, which are of every case on every number of ranks and take too long here;
/// and of these the ones that mix operations at random, or in which threads of safe code meet.
const RUNS: [&[&str]; 2] = [
    &["--skip", "coll::", "--skip", "rma::"],
    &[
        "rma::granule_tests::",
        "rma::random_tests::",
        "rma::message::tests::random",
        "coll::tests::random::",
    ],
];
const FLAGS: &str = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer";
/// Tests of refused memory ask for more than the sanitizer has.
const OPTIONS: &str = "exitcode=66 allocator_may_return_null=1";
/// The sanitizer's runtime and the tests are built for this target.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Why the tests cannot be built, if so.
pub(crate) fn missing() -> Option<String> {
    let mut probe = shell::command("rustc");
    probe.args(["+nightly", "--print", "sysroot"]);
    let output = probe.output().ok().filter(|it| it.status.success());
    let root = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let sources = "lib/rustlib/src/rust/library/std/src/lib.rs";
    if root.is_some_and(|root| Path::new(&root).join(sources).exists()) {
        return None;
    }
    let how = "rustup toolchain install nightly --component rust-src";
    Some(format!("no nightly toolchain with rust-src here; {how}"))
}

/// How many tests have passed without a warning.
///
/// # Errors
/// The output of a test that fails, or that the sanitizer warns of.
pub(crate) fn all() -> Result<usize, String> {
    RUNS.iter().map(|tests| passed(tests)).sum()
}

/// How many of some tests have passed.
fn passed(tests: &[&str]) -> Result<usize, String> {
    let mut command = shell::command("timeout");
    command.args(["-k", "10", LIMIT_S, "cargo", "+nightly", "test"]);
    command.args(["-Zbuild-std", "--target", TARGET, "--lib"]);
    command.args(["-p", "rankpoint-engine", "-p", "rankpoint-fabric", "--"]);
    command
        .args(tests)
        .env("RUSTFLAGS", FLAGS)
        .env("TSAN_OPTIONS", OPTIONS)
        .env("CARGO_TARGET_DIR", shell::target().join("tsan"))
        .env_remove("CARGO");
    let output = shell::output(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = text.lines().filter(|line| line.ends_with("... ok")).count();
    if !output.status.success() || passed == 0 {
        let errors = String::from_utf8_lossy(&output.stderr);
        let status = output.status;
        return Err(format!("ThreadSanitizer: {status}\n{text}{errors}"));
    }
    Ok(passed)
}

/// Runs them, or says why not.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    match missing() {
        Some(why) => shell::say(&format!("skipped: {why}")),
        None => shell::say(&format!("{} tests without a data race", all()?)),
    }
    Ok(())
}
