// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask instructions [--fast] [--peers] [--collectives]`: instructions per call by callgrind, the write into the ring
//! included.
//!
//! The same program runs with two numbers of calls; the difference is free of what happens once.

mod collectives;

use std::path::{Path, PathBuf};

use crate::install::{self, Profile};
use crate::peers::PEERS;
use crate::{shell, tools};

/// The most instructions that a call may take (MPI_THREAD_SINGLE).
struct Budget {
    call: &'static str,
    /// Bytes of the message.
    bytes: u32,
    /// Ranks of the job: 1 where the message lies there already.
    ranks: u32,
    release: f64,
    release_fast: f64,
}

const BUDGETS: &[Budget] = &[
    Budget {
        call: "Isend",
        bytes: 1,
        ranks: 2,
        release: 70.0,
        release_fast: 57.0,
    },
    Budget {
        call: "Irecv",
        bytes: 1,
        ranks: 2,
        release: 70.0,
        release_fast: 61.5,
    },
    // The shortest of those that do not fit into a cell.
    Budget {
        call: "Isend",
        bytes: 64,
        ranks: 2,
        release: 225.0,
        release_fast: 208.0,
    },
    Budget {
        call: "Recv",
        bytes: 1,
        ranks: 1,
        release: 192.0,
        release_fast: 182.0,
    },
    Budget {
        call: "Recv",
        bytes: 64,
        ranks: 1,
        release: 318.0,
        release_fast: 313.0,
    },
];

impl Budget {
    /// What is counted.
    fn name(&self) -> String {
        match self.bytes {
            1 => format!("MPI_{}", self.call),
            bytes => format!("MPI_{}, {bytes} B", self.call),
        }
    }

    const fn of(&self, profile: Profile) -> f64 {
        match profile {
            Profile::Release => self.release,
            Profile::ReleaseFast => self.release_fast,
        }
    }
}

/// Numbers of calls of the two runs.
const CALLS: [u32; 2] = [100, 1100];
const SOURCE: &str = "tests/c/count_calls.c";

/// A count: the call's name, instructions, and how many are allowed.
pub(crate) struct Count {
    pub(crate) call: String,
    pub(crate) profile: Profile,
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

/// Prints the counts of Rankpoint, with `--fast` those of the library without checks, with `--peers` those of others, with
/// `--collectives` those of collectives.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let known = |word: &String| ["--fast", "--peers", "--collectives"].contains(&word.as_str());
    if !arguments.iter().all(known) {
        return Err(
            "instructions takes --fast, --peers, --collectives and nothing else".to_owned(),
        );
    }
    let has = |name: &str| arguments.iter().any(|word| word == name);
    tools::need(&[tools::CC, tools::VALGRIND])?;
    let names: String = BUDGETS
        .iter()
        .map(|budget| format!("{:>18}", budget.name()))
        .collect();
    shell::say(&format!("{:<24}{names}", "instructions"));
    let profiles = [Profile::Release, Profile::ReleaseFast];
    for &profile in &profiles[..if has("--fast") { 2 } else { 1 }] {
        let library = rankpoint(profile)?;
        library.print()?;
        let budgets = BUDGETS.iter().map(|budget| budget.of(profile));
        print("  at most", budgets);
    }
    if has("--peers") {
        let prefix = install::into_target()?;
        for library in peers(&prefix)? {
            library.print()?;
        }
    }
    if has("--collectives") {
        collectives::print()?;
    }
    Ok(())
}

fn print(name: &str, counts: impl Iterator<Item = f64>) {
    let counts: String = counts.map(|count| format!("{count:>18.1}")).collect();
    shell::say(&format!("{name:<24}{counts}"));
}

/// The counts of both libraries, and of collectives, one for each budget.
pub(crate) fn count() -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    for profile in [Profile::Release, Profile::ReleaseFast] {
        let library = rankpoint(profile)?;
        for budget in BUDGETS {
            counts.push(Count {
                call: budget.name(),
                profile,
                instructions: library.per_call(budget)?,
                budget: budget.of(profile),
            });
        }
    }
    counts.extend(collectives::count()?);
    Ok(counts)
}

fn rankpoint(profile: Profile) -> Result<Counted, String> {
    counted_library(profile, SOURCE, "count_calls")
}

/// Rankpoint, and a program that is compiled with it.
fn counted_library(profile: Profile, source: &str, name: &str) -> Result<Counted, String> {
    let prefix = install::built_as(profile)?;
    let program = shell::target().join(name);
    shell::compile(&prefix.join("bin/mpicc"), source, &program)?;
    Ok(Counted {
        name: match profile {
            Profile::Release => "Rankpoint",
            Profile::ReleaseFast => "Rankpoint, release-fast",
        },
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
    fn print(&self) -> Result<(), String> {
        let counts: Result<Vec<f64>, String> =
            BUDGETS.iter().map(|budget| self.per_call(budget)).collect();
        print(self.name, counts?.into_iter());
        Ok(())
    }

    /// Instructions of one call.
    fn per_call(&self, budget: &Budget) -> Result<f64, String> {
        let [few, many] = CALLS.map(|calls| self.collected(budget, calls));
        Ok((many? - few?) / f64::from(CALLS[1] - CALLS[0]))
    }

    /// Instructions that all ranks together spent inside the call.
    fn collected(&self, budget: &Budget, calls: u32) -> Result<f64, String> {
        let mut command = shell::command(&self.launcher[0]);
        command.env("LD_LIBRARY_PATH", &self.library_folder);
        command
            .args(&self.launcher[1..])
            .args(["-n", &budget.ranks.to_string(), "valgrind"]);
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(format!("--toggle-collect=*MPI_{}", budget.call));
        command.arg(&self.program);
        command.args([calls.to_string(), budget.bytes.to_string()]);
        let output = shell::output(&mut command)?;
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
