// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table of rules from end to end: `rankpoint tune` measures a few tiny cases and writes one, `rankpoint explain coll` names its
//! rules, and a job of the installed library reads it without a complaint.

use std::fs;
use std::path::Path;

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

/// What is measured: operations that have several algorithms on two ranks, and sizes.
const OPERATIONS: [&str; 3] = ["barrier", "bcast", "allreduce"];
const SIZES: [&str; 2] = ["8", "4K"];

pub(super) fn from_end_to_end(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let table = shell::target().join("tuned.table");
    // It need not exist.
    drop(fs::remove_file(&table));
    let told = tuned(&prefix, &table)?;
    let rules =
        fs::read_to_string(&table).map_err(|error| format!("{}: {error}", table.display()))?;
    let mut wrong = Vec::new();
    // Without a terminal, too.
    let progress = format!("tune: 1 of {}, barrier on 2 ranks", OPERATIONS.len());
    if !told.contains(&progress) {
        wrong.push(format!("tune does not print '{progress}':\n{told}"));
    }
    for operation in OPERATIONS {
        if !rules.lines().any(|line| line.starts_with(operation)) {
            wrong.push(format!("no rule for {operation}:\n{rules}\n{told}"));
        }
        for size in SIZES {
            let answer = explained(&prefix, &table, operation, size)?;
            // Nobody else has a file of this name.
            let own = format!("chosen by {}:", table.display());
            if !answer.contains(&own) || answer.contains("left out:") {
                wrong.push(format!(
                    "{operation} of {size} bytes is not chosen by the table:\n{answer}\n{rules}"
                ));
            }
        }
    }
    let warnings = used(&prefix, &table)?;
    if !warnings.is_empty() {
        wrong.push(format!("a job with the table complains:\n{warnings}"));
    }
    let checks = OPERATIONS.len() * (1 + SIZES.len()) + 2;
    Found::runs(
        checks - wrong.len().min(checks),
        wrong,
        "rules of a table that tune has made",
    )
}

fn rankpoint(prefix: &Path) -> std::process::Command {
    let program = prefix.join("bin/rankpoint");
    shell::command(program.display().to_string())
}

fn tuned(prefix: &Path, table: &Path) -> Result<String, String> {
    let mut command = rankpoint(prefix);
    command.args([
        "tune",
        "--ranks",
        "2",
        "--rounds",
        "1",
        "--repetitions",
        "1",
        "--budget-ms",
        "1",
    ]);
    command.args(["--only", &OPERATIONS.join(","), "--sizes", &SIZES.join(",")]);
    said(command.arg("-o").arg(table))
}

fn explained(prefix: &Path, table: &Path, operation: &str, size: &str) -> Result<String, String> {
    let mut command = rankpoint(prefix);
    command.args([
        "explain", "coll", operation, "--ranks", "2", "--bytes", size,
    ]);
    said(command.env("RANKPOINT_COLL_TABLE", table))
}

/// What a job that uses the table says on standard error.
fn used(prefix: &Path, table: &Path) -> Result<String, String> {
    let program = shell::target().join("tuned-collectives");
    shell::compile(&prefix.join("bin/mpicc"), "tests/c/collectives.c", &program)?;
    let mut command = shell::command(prefix.join("bin/mpiexec").display().to_string());
    command.args(["--timeout", "120", "-n", "2"]).arg(&program);
    command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    let output = shell::output(command.env("RANKPOINT_COLL_TABLE", table))?;
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if output.status.success() && text.contains("PASS") {
        Ok(errors.into_owned())
    } else {
        Ok(format!("{}\n{text}{errors}", output.status))
    }
}

fn said(command: &mut std::process::Command) -> Result<String, String> {
    let output = shell::output(command)?;
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if output.status.success() {
        Ok(format!("{text}{errors}"))
    } else {
        Err(format!(
            "{command:?} ended with {}:\n{text}{errors}",
            output.status
        ))
    }
}
