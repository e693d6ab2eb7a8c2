// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask instructions [--peers]`: instructions per call by callgrind, the write into the ring included.
//!
//! The same program runs with two numbers of calls; the difference is free of what happens once.

use std::path::{Path, PathBuf};

use crate::peers::PEERS;
use crate::{install, shell, tools};

/// Call, and the most instructions that it may take (default library, MPI_THREAD_SINGLE, all checks, 1 byte).
const BUDGETS: &[(&str, f64)] = &[("Isend", 70.0), ("Irecv", 70.0)];
/// Numbers of calls of the two runs.
const CALLS: [u32; 2] = [100, 1100];
const SOURCE: &str = "tests/c/count_calls.c";

/// A count: the call's name, instructions, and how many are allowed.
pub(crate) struct Count {
    pub(crate) call: &'static str,
    pub(crate) instructions: f64,
    pub(crate) budget: f64,
}

/// A library, ready to run the counted program.
struct Counted {
    name: &'static str,
    launcher: Vec<String>,
    library_folder: PathBuf,
    program: PathBuf,
}

/// Prints the counts of Rankpoint, and with `--peers` those of the others.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let prefix = install::into_target()?;
    tools::need(&[tools::CC, tools::VALGRIND])?;
    let mut libraries = vec![rankpoint(&prefix)?];
    match arguments {
        [] => {}
        [word] if word == "--peers" => libraries.extend(peers(&prefix)?),
        _ => return Err("instructions takes --peers and nothing else".to_owned()),
    }
    let names: String = BUDGETS
        .iter()
        .map(|(call, _)| format!("{:>14}", format!("MPI_{call}")))
        .collect();
    shell::say(&format!("{:<12}{names}", "instructions"));
    for library in &libraries {
        let counts: Result<Vec<String>, String> = BUDGETS
            .iter()
            .map(|(call, _)| Ok(format!("{:>14.1}", library.per_call(call)?)))
            .collect();
        shell::say(&format!("{:<12}{}", library.name, counts?.concat()));
    }
    let budgets: String = BUDGETS
        .iter()
        .map(|(_, budget)| format!("{budget:>14.1}"))
        .collect();
    shell::say(&format!("{:<12}{budgets}", "budget"));
    Ok(())
}

/// The counts of the library installed in `prefix`, one for each budget.
pub(crate) fn count(prefix: &Path) -> Result<Vec<Count>, String> {
    let library = rankpoint(prefix)?;
    let counts = BUDGETS.iter().map(|&(call, budget)| {
        Ok(Count {
            call,
            instructions: library.per_call(call)?,
            budget,
        })
    });
    counts.collect()
}

fn rankpoint(prefix: &Path) -> Result<Counted, String> {
    let program = shell::target().join("count_calls");
    shell::compile(&prefix.join("bin/mpicc"), SOURCE, &program)?;
    Ok(Counted {
        name: "Rankpoint",
        launcher: vec![prefix.join("bin/mpiexec").display().to_string()],
        library_folder: prefix.join("lib"),
        program,
    })
}

fn peers(prefix: &Path) -> Result<Vec<Counted>, String> {
    let prepared = PEERS.iter().map(|peer| {
        peer.fetch()?;
        let program = peer.prefix().join("count_calls");
        peer.compile(&prefix.join("bin/mpicc"), SOURCE, &program)?;
        Ok(Counted {
            name: peer.name,
            launcher: peer.launcher(false),
            library_folder: peer.library_folder(),
            program,
        })
    });
    prepared.collect()
}

impl Counted {
    /// Instructions of one call.
    fn per_call(&self, call: &str) -> Result<f64, String> {
        let [few, many] = CALLS.map(|calls| self.collected(call, calls));
        Ok((many? - few?) / f64::from(CALLS[1] - CALLS[0]))
    }

    /// Instructions that all ranks together spent inside the call.
    fn collected(&self, call: &str, calls: u32) -> Result<f64, String> {
        let mut command = shell::command(&self.launcher[0]);
        command.env("LD_LIBRARY_PATH", &self.library_folder);
        command
            .args(&self.launcher[1..])
            .args(["-n", "2", "valgrind"]);
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(format!("--toggle-collect=*MPI_{call}"));
        let output = shell::output(command.arg(&self.program).arg(calls.to_string()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let counts = text
            .lines()
            .filter_map(|line| line.split("Collected : ").nth(1))
            .filter_map(|number| number.split_whitespace().next()?.parse::<f64>().ok());
        let sum: f64 = counts.sum();
        if output.status.success() && sum > 0.0 {
            Ok(sum)
        } else {
            Err(format!(
                "callgrind counted nothing in {}:\n{text}",
                self.name
            ))
        }
    }
}
