// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mini-app `bspmm`, in C and in Rust, in all its modes and on all paths of one-sided operations; its counts are those of the problem.

use std::path::Path;
use std::process::Output;

use super::cargo;
use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

/// Seconds that one job may take.
const LIMIT_S: &str = "60";
const SOURCE: &str = "examples/apps/bspmm.c";
const MODES: [&str; 4] = ["processes", "serial", "window", "endpoint"];
/// Values of `RANKPOINT_RMA`.
const PATHS: &[&str] = &["", "attach", "message"];
/// Ranks and threads of each; those of a quick run come first.
const GRIDS: &[(&str, &str)] = &[
    ("2", "2"),
    ("1", "1"),
    ("3", "1"),
    ("1", "4"),
    ("4", "3"),
    ("4", "1"),
];
const QUICK_GRIDS: usize = 3;

/// A problem, and the lines of its counts.
const PROBLEMS: [(&str, [&str; 3]); 2] = [
    (
        "1",
        [
            "22 tiles of A and of B, 34 of C",
            "62 units, 62 done",
            "124 gets, ",
        ],
    ),
    (
        "8",
        [
            "64 tiles of A and of B, 64 of C",
            "512 units, 512 done",
            "1024 gets, ",
        ],
    ),
];

/// Programs and options, whether they succeed on two ranks, and what they print.
const SINGLE: [(&str, &str, bool, &str); 12] = [
    ("C", "--help", true, "--threads N "),
    ("C", "-h", true, "--threads N "),
    ("Rust", "--help", true, "--threads <"),
    ("C", "--fast", false, "--fast is not an option; --help"),
    ("C", "--edge", false, "--edge : expected a number"),
    ("C", "--fault doubled-unit", false, "wrong"),
    ("Rust", "--fault doubled-unit", false, "wrong"),
    ("C", "--accumulate window", false, "C has one window"),
    ("Rust", "--accumulate window", false, "C has one window"),
    ("C", "--mode tag", false, "a get has no tag"),
    ("Rust", "--mode tag", false, "a get has no tag"),
    ("Rust", "--mode comm", false, "windows, no messages"),
];

/// Every mode, grid and problem, and runs that must be refused or found wrong.
pub(super) fn in_c_and_rust(scope: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let in_c = shell::target().join("bspmm");
    shell::compile(&prefix.join("bin/mpicc"), SOURCE, &in_c)?;
    cargo::programs()?;
    let in_rust = shell::target().join("debug/bspmm");
    let run = |program: &Path, path: &str, ranks: &str, arguments: &[&str]| {
        let mut job = shell::command(prefix.join("bin/mpiexec"));
        job.args(["-n", ranks, "--timeout", LIMIT_S]).arg(program);
        job.args(arguments).env("RANKPOINT_RMA", path);
        shell::output(&mut job)
    };
    let (mut passed, mut wrong) = (0, Vec::new());
    let programs = [("C", &in_c), ("Rust", &in_rust)];
    for &(ranks, threads) in scope.some(GRIDS, QUICK_GRIDS) {
        for (mode, path) in MODES
            .iter()
            .flat_map(|mode| PATHS.iter().map(move |path| (*mode, *path)))
        {
            if mode == "processes" && threads != "1" {
                continue;
            }
            for ((language, program), (band, counts)) in programs
                .iter()
                .flat_map(|program| PROBLEMS.iter().map(move |it| (program, it)))
            {
                let arguments = ["--mode", mode, "--threads", threads, "--band", band];
                let output = run(program, path, ranks, &arguments)?;
                match verified(&output, counts) {
                    Ok(()) => passed += 1,
                    Err(text) => {
                        wrong.push(format!("{language}, {path} {ranks} {arguments:?}: {text}"))
                    }
                }
            }
        }
    }
    for (language, program) in programs {
        let arguments = ["--threads", "2", "--accumulate", "unordered"];
        let output = run(program, "", "2", &arguments)?;
        match verified(
            &output,
            &["124 gets, ", " accumulates in any order, expected 34 to 62"],
        ) {
            Ok(()) => passed += 1,
            Err(text) => wrong.push(format!("{language}, {arguments:?}: {text}")),
        }
    }
    for (language, arguments, is_success, said) in SINGLE {
        let program = if language == "C" { &in_c } else { &in_rust };
        let words: Vec<&str> = arguments.split(' ').collect();
        let output = run(program, "", "2", &words)?;
        let text = all_text(&output);
        if output.status.success() == is_success && text.contains(said) {
            passed += 1;
        } else {
            wrong.push(format!("{language} {arguments}: {}\n{text}", output.status));
        }
    }
    Found::runs(passed, wrong, "runs of bspmm with exact counts and results")
}

fn verified(output: &Output, counts: &[&str]) -> Result<(), String> {
    let text = all_text(output);
    let has_all = counts.iter().all(|count| text.contains(count));
    if output.status.success() && has_all && text.contains("\nverified\n") {
        return Ok(());
    }
    Err(format!("{}\n{text}", output.status))
}

fn all_text(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    format!("{said}{}", String::from_utf8_lossy(&output.stderr))
}
