// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of calls before MPI_Init and after MPI_Finalize, of a forked child that ends the job, and of a session left open.

use std::path::Path;

use crate::shell;

/// What a job must end with: its arguments, the launcher's status, and a part of what it says.
type Row<'a> = (&'a [&'a str], i32, &'a str);

/// Jobs with sentences of their own.
const JOBS: &[Row<'_>] = &[
    (
        &["-n", "2", "PROGRAM", "abort"],
        7,
        "aborted the job with code 7; ending the other rank",
    ),
    (
        &["-n", "1", "PROGRAM", "session"],
        1,
        "exited with status 0 without calling MPI_Session_finalize",
    ),
];

/// The number of checks, and what was wrong.
pub(super) fn check(prefix: &Path) -> Result<(usize, Vec<String>), String> {
    let program = shell::target().join("outside");
    let mpicc = prefix.join("bin/mpicc");
    shell::compile(&mpicc, "tests/reports/outside.c", &program)?;
    let named = program.to_string_lossy();
    let run = |arguments: &[&str]| {
        let words = arguments.iter().map(|&word| match word {
            "PROGRAM" => &*named,
            word => word,
        });
        let mut job = shell::command(prefix.join("bin/mpiexec"));
        job.args(["--timeout", "60"]).args(words);
        shell::output(&mut job)
    };
    let mut wrong = Vec::new();
    let mut expect = |arguments: &[&str], status, part: &str| {
        let output = run(arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(status) || !said.contains(part) {
            let ended = output.status;
            wrong.push(format!("{arguments:?}: {ended}, no '{part}' in: {said}"));
        }
        Ok::<(), String>(())
    };
    for &(arguments, status, part) in JOBS {
        expect(arguments, status, part)?;
    }
    let listed = run(&["-n", "1", "PROGRAM", "list"])?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut checks = JOBS.len();
    for name in listed.lines() {
        for (how, part) in [
            ("before", "called before MPI_Init"),
            ("after", "called after MPI_Finalize"),
        ] {
            expect(&["-n", "1", "PROGRAM", how, name], OTHER, part)?;
            checks += 1;
        }
    }
    if checks == JOBS.len() {
        return Err("the program lists no calls".to_owned());
    }
    Ok((checks, wrong))
}

/// The status of a program that an error of class MPI_ERR_OTHER has ended.
const OTHER: i32 = 16;
