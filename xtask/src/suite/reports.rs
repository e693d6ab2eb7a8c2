// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hang report of a C program that waits: when the time is up, and when somebody asks while the job goes on. And what is said of
//! programs that call MPI where they may not ([`outside`]).

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::found::Found;
use super::outside;
use super::scope::Scope;
use crate::{install, shell, tools};

/// Lines of the report, without their numbers of columns, of three ranks that wait for each other in a named communicator.
const CYCLE: &[&str] = &[
    "sleeping MPI_Recv",
    "receive 1 5 ring of three (context",
    "1 unexpected 1 99 ring of three (context",
    "MPI_Barrier",
    "MPI_COMM_WORLD, collective",
    "ranks wait for each other in a cycle: 0 waits in MPI_Recv for a message from 1 (ring of three (context",
    "2 waits in MPI_Recv for a message from 0 (ring of three (context",
    "rank 0 wants tag 5 in ring of three (context",
    "the job's time of 3 s is up",
];
/// The same of endpoints, which are named by their processes.
const ENDPOINTS: &[&str] = &[
    "receive 1 5",
    "receive 2 5",
    "receive 3 5",
    "receive 0 5",
    "ranks wait for each other in a cycle: 0 waits in MPI_Recv for a message from 1",
];
/// The same of ranks that wait for the last one.
const CHAIN: &[&str] = &[
    "MPI_Probe",
    "probe 1 5 ring of three (context",
    "send 2 5 ring of three (context",
    "receive 3 5 dup of MPI_COMM_WORLD, 4 ranks (context",
    "1 unexpected 1 5 ring of three (context",
    "rank 2 waits in MPI_Wait for rank 3, which is outside MPI",
];
/// Lines of the report of a nonblocking collective that the last rank leaves out. Rank 1 tests, so it is not said to wait.
const LEFT_OUT: &[&str] = &[
    "MPI_Iallreduce 3 - dup of MPI_COMM_WORLD, 4 ranks (context",
    "ranks 0, 2 wait in MPI_Wait (MPI_Iallreduce, dup of MPI_COMM_WORLD, 4 ranks (context",
    "for rank 3, which waits in MPI_Finalize",
    "rank 1 needs rank 3, which waits in MPI_Finalize, for a collective in progress (MPI_Iallreduce, dup of",
];
/// The same of a persistent one.
const NOT_STARTED: &[&str] = &[
    "MPI_Allreduce_init 3 - dup of MPI_COMM_WORLD, 4 ranks (context",
    "ranks 0, 2 wait in MPI_Wait (MPI_Allreduce_init, dup of MPI_COMM_WORLD, 4 ranks (context",
    "for rank 3, which waits in MPI_Finalize",
    "rank 1 needs rank 3, which waits in MPI_Finalize, for a collective in progress (MPI_Allreduce_init, dup of",
];
/// What the report of the chain says once all ranks wait.
const LAST: &str = "2 waits in MPI_Wait for rank 3";
/// How often to ask for it, and how long to wait each time.
const ASKED_AT_MOST: u32 = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// All programs.
pub(super) fn all(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let program = shell::target().join("waits");
    shell::compile(&prefix.join("bin/mpicc"), "tests/reports/waits.c", &program)?;
    let mpiexec = |flags: &[&str]| {
        let mut job = shell::command(prefix.join("bin/mpiexec"));
        job.args(["-n", "4"]).args(flags).arg(&program);
        job
    };
    let mut cycle = mpiexec(&["--timeout", "3"]);
    let output = shell::output(cycle.arg("cycle"))?;
    let mut wrong = missing(CYCLE, &String::from_utf8_lossy(&output.stderr));
    if output.status.code() != Some(124) {
        wrong.push(format!("the cycle ended with {}", output.status));
    }
    let mut endpoints = mpiexec(&["--timeout", "3"]);
    let output = shell::output(endpoints.arg("endpoints"))?;
    wrong.extend(missing(ENDPOINTS, &String::from_utf8_lossy(&output.stderr)));
    for (words, parts) in [("left_out", LEFT_OUT), ("not_started", NOT_STARTED)] {
        let output = shell::output(mpiexec(&["--timeout", "3"]).arg(words))?;
        wrong.extend(missing(parts, &String::from_utf8_lossy(&output.stderr)));
    }
    let mut chain = mpiexec(&["-stdin", "3", "--timeout", "100"]);
    let (told, goes_on) = ask(chain.arg("chain"))?;
    wrong.extend(missing(CHAIN, &told));
    if !goes_on {
        wrong.push(format!("the job did not go on after its report: {told}"));
    }
    let (outside, wrong_outside) = outside::check(&prefix)?;
    wrong.extend(wrong_outside);
    let requests = LEFT_OUT.len() + NOT_STARTED.len();
    let checks = CYCLE.len() + ENDPOINTS.len() + CHAIN.len() + requests + 2 + outside;
    Found::runs(checks - wrong.len().min(checks), wrong, "lines of reports")
}

/// Asks the job for reports until all ranks wait, then lets it go on: the last report, and whether the job succeeded.
fn ask(job: &mut Command) -> Result<(String, bool), String> {
    let failed = |error: std::io::Error| error.to_string();
    let path = shell::target().join("waits.err");
    job.stderr(File::create(&path).map_err(failed)?);
    let mut job = job
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut report = String::new();
    for _ in 0..ASKED_AT_MOST {
        std::thread::sleep(PAUSE);
        shell::run(shell::command("kill").args(["-USR1", &job.id().to_string()]))?;
        let all = std::fs::read_to_string(&path).map_err(failed)?;
        report = all
            .rsplit("state of the job")
            .next()
            .unwrap_or("")
            .to_owned();
        if report.contains(LAST) {
            break;
        }
    }
    drop(job.stdin.take());
    let output = job.wait_with_output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok((report, output.status.success() && said.contains("PASS")))
}

/// The parts that are not in a report.
fn missing(parts: &[&str], report: &str) -> Vec<String> {
    let words: Vec<_> = report.split_whitespace().collect();
    let flat = words.join(" ");
    let absent = parts.iter().filter(|part| !flat.contains(**part));
    absent
        .map(|part| format!("'{part}' is not in the report\n{report}"))
        .collect()
}
