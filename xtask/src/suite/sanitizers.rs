// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools that read a process's whole memory: leak checkers and core dumps of ranks in a job.

use std::path::Path;
use std::process::Command;

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

const SOURCE: &str = "tests/sanitizers/exchange.c";
/// Most bytes of a core dump of a rank: the node segment alone has as many as the machine's memory.
const MOST_CORE_BYTES: &str = "100000000";

/// A program runs under AddressSanitizer and valgrind without a leak, and its core dump is small.
pub(super) fn all(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC, tools::VALGRIND]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let program = shell::target().join("exchange");
    shell::compile(&prefix.join("bin/mpicc"), SOURCE, &program)?;
    let (mut passed, mut wrong) = (0, Vec::new());
    let mut judge = |what: &str, outcome: Result<(), String>| match outcome {
        Ok(()) => passed += 1,
        Err(text) => wrong.push(format!("{what}: {text}")),
    };
    judge("AddressSanitizer", with_address_sanitizer(&prefix));
    let flags = ["-q", "--leak-check=full", "--error-exitcode=9"];
    let suppressions = prefix.join(install::SUPPRESSIONS);
    let suppressions = format!("--suppressions={}", suppressions.display());
    let mut job = job(&prefix);
    // Memcheck does not see what a sender writes.
    job.args(["-genv", "RANKPOINT_RENDEZVOUS", "read", "valgrind"]);
    job.args(flags).arg(suppressions).arg(&program);
    judge("valgrind", succeeds(&mut job));
    if shell::output(Command::new("gcore").arg("-h")).is_ok() {
        judge("gcore", dumps_little(&prefix, &program));
    }
    Found::runs(passed, wrong, "tools that read all memory")
}

fn job(prefix: &Path) -> Command {
    let mut job = shell::command(prefix.join("bin/mpiexec"));
    job.args(["-n", "2", "--timeout", "120"]);
    job
}

fn succeeds(job: &mut Command) -> Result<(), String> {
    let output = shell::output(job)?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.matches("PASS").count() == 2 {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}\n{text}{errors}", output.status))
}

fn with_address_sanitizer(prefix: &Path) -> Result<(), String> {
    let program = shell::target().join("exchange-asan");
    let mut compile = shell::command(prefix.join("bin/mpicc"));
    compile
        .args(["-g", "-fsanitize=address", "-o"])
        .arg(&program);
    shell::run(compile.arg(SOURCE))?;
    succeeds(job(prefix).arg(&program))
}

/// Each rank has its core written by `gcore` and prints PASS when the file is small.
fn dumps_little(prefix: &Path, program: &Path) -> Result<(), String> {
    let core = shell::target().join("exchange-core");
    let mut job = job(prefix);
    job.arg(program).arg(core).arg(MOST_CORE_BYTES);
    succeeds(&mut job)
}
