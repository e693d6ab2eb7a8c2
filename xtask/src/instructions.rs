// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask instructions`: instructions per call by callgrind, the write into the ring included.
//!
//! The same program runs with two numbers of calls; the difference is free of what happens once.

use std::path::Path;
use std::process::Command;

use crate::{install, shell};

/// Call, and the most instructions that it may take (default library, MPI_THREAD_SINGLE, all checks, 1 byte).
pub(crate) const BUDGETS: &[(&str, f64)] = &[("Isend", 115.0), ("Irecv", 120.0)];
const CALLS: [u32; 2] = [100, 1100];

/// No arguments.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    let prefix = shell::target().join("prefix");
    install::install(&prefix)?;
    for (call, count, budget) in measure(&prefix)? {
        shell::say(&format!(
            "MPI_{call}: {count:.1} instructions (at most {budget})"
        ));
        if count > budget {
            return Err(format!(
                "MPI_{call} takes {count:.1} instructions, at most {budget} are allowed"
            ));
        }
    }
    Ok(())
}

/// Counts for every budget: call, instructions, budget.
pub(crate) fn measure(prefix: &Path) -> Result<Vec<(&'static str, f64, f64)>, String> {
    let program = shell::target().join("count_calls");
    shell::run(
        shell::command(prefix.join("bin/mpicc"))
            .args(["-O2", "tests/c/count_calls.c", "-o"])
            .arg(&program),
    )?;
    let mut counts = Vec::new();
    for &(call, budget) in BUDGETS {
        let [few, many] = CALLS.map(|calls| collected(prefix, &program, call, calls));
        counts.push((
            call,
            (many? - few?) / f64::from(CALLS[1] - CALLS[0]),
            budget,
        ));
    }
    Ok(counts)
}

/// Instructions that both ranks collected inside the call.
fn collected(prefix: &Path, program: &Path, call: &str, calls: u32) -> Result<f64, String> {
    let output = shell::output(
        Command::new(prefix.join("bin/mpiexec"))
            .args([
                "-n",
                "2",
                "--timeout",
                "120",
                "valgrind",
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
            ])
            .arg(format!("--toggle-collect=*MPI_{call}"))
            .arg(program)
            .arg(calls.to_string()),
    )?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let counts: Vec<f64> = text
        .lines()
        .filter_map(|line| line.split("Collected : ").nth(1))
        .filter_map(|number| number.split_whitespace().next()?.parse().ok())
        .collect();
    let sum: f64 = counts.iter().sum();
    if sum > 0.0 {
        Ok(sum)
    } else {
        Err(format!("callgrind counted nothing:\n{text}"))
    }
}
