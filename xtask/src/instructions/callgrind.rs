// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program whose rank 0 is counted by callgrind, and reads what its functions cost.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::install::{self, Profile};
use crate::peers::PEERS;
use crate::shell;

/// A library, ready to run programs that are counted.
pub(super) struct Library {
    pub(super) name: String,
    launcher: Vec<String>,
    folder: PathBuf,
    program: PathBuf,
}

/// A job: its number of ranks, what its program is told, and what is set for it.
pub(super) struct Job<'a> {
    pub(super) ranks: u32,
    pub(super) arguments: &'a [&'a str],
    pub(super) setting: Option<(&'a str, &'a str)>,
}

/// What counted functions cost, and how often they were called.
pub(super) struct Costs(HashMap<String, (f64, f64)>);

/// Builds Rankpoint, and compiles a program with it.
pub(super) fn rankpoint(profile: Profile, source: &str) -> Result<Library, String> {
    let name = match profile {
        Profile::Release => "Rankpoint",
        Profile::ReleaseFast => "Rankpoint, release-fast",
    };
    installed(&install::built_as(profile)?, name, source)
}

/// Rankpoint as it is installed somewhere, and a program that is compiled with it.
pub(super) fn installed(prefix: &Path, name: &str, source: &str) -> Result<Library, String> {
    let program = shell::target().join(Path::new(source).file_stem().unwrap_or_default());
    shell::compile(&prefix.join("bin/mpicc"), source, &program)?;
    Ok(Library {
        name: name.to_owned(),
        launcher: vec![prefix.join("bin/mpiexec").display().to_string()],
        folder: prefix.join("lib"),
        program,
    })
}

/// The other libraries, and a program that is compiled with each.
pub(super) fn peers(prefix: &Path, source: &str) -> Result<Vec<Library>, String> {
    let prepared = PEERS.iter().map(|peer| {
        peer.fetch()?;
        let name = Path::new(source).file_stem().unwrap_or_default();
        let program = peer.prefix().join(name);
        peer.compile(&prefix.join("bin/mpicc"), source, &program)?;
        Ok(Library {
            name: peer.name.to_owned(),
            launcher: peer.launcher(false),
            folder: peer.library_folder(),
            program,
        })
    });
    prepared.collect()
}

impl Library {
    /// Runs a job and gives the costs of the functions `counted_...` of its rank 0.
    pub(super) fn run(&self, job: &Job<'_>) -> Result<Costs, String> {
        let file = self.program.with_extension("callgrind");
        let mut command = shell::command(&self.launcher[0]);
        // Symbols bound at their first call would be counted.
        command
            .env("LD_LIBRARY_PATH", &self.folder)
            .env("LD_BIND_NOW", "1")
            .envs(job.setting);
        command.args(&self.launcher[1..]);
        command.args(["-n", "1", "valgrind", "--tool=callgrind"]);
        command.arg(format!("--callgrind-out-file={}", file.display()));
        command.arg(&self.program).args(job.arguments);
        if job.ranks > 1 {
            command.args([":", "-n", &(job.ranks - 1).to_string()]);
            command.arg(&self.program).args(job.arguments);
        }
        let output = shell::output(&mut command)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the counted program failed:\n{text}"));
        }
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        costs(&text)
    }
}

impl Costs {
    /// Instructions of one call, without those of the function around it.
    pub(super) fn per_call(&self, name: &str) -> Result<f64, String> {
        match self.0.get(&format!("counted_{name}")) {
            Some((instructions, calls)) if *calls > 0.0 => Ok(instructions / calls),
            _ => Err(format!("callgrind saw no call of counted_{name}")),
        }
    }
}

/// Reads the costs of what counted functions called out of a file of callgrind.
fn costs(text: &str) -> Result<Costs, String> {
    let mut names = HashMap::new();
    let (mut caller, mut called, mut calls) = (String::new(), String::new(), 0.0);
    let mut found = HashMap::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller = full_name(&mut names, name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called = full_name(&mut names, name);
        } else if let Some(numbers) = line.strip_prefix("calls=") {
            calls = first_number(numbers)?;
        } else if calls > 0.0 {
            // The line after: where it was called, and what it cost.
            let cost = line.split_whitespace().nth(1).unwrap_or("");
            let cost = first_number(cost)?;
            if caller.starts_with("counted_") {
                let entry: &mut (f64, f64) = found.entry(caller.clone()).or_default();
                entry.0 += cost;
            }
            if called.starts_with("counted_") {
                let entry: &mut (f64, f64) = found.entry(called.clone()).or_default();
                entry.1 += calls;
            }
            calls = 0.0;
        }
    }
    Ok(Costs(found))
}

/// A name, which is said once and then called by its number: `(12) name`, `(12)`.
fn full_name(names: &mut HashMap<String, String>, text: &str) -> String {
    match text.split_once(' ') {
        Some((number, name)) => {
            names.insert(number.to_owned(), name.to_owned());
            name.to_owned()
        }
        None => names.get(text).cloned().unwrap_or_default(),
    }
}

fn first_number(text: &str) -> Result<f64, String> {
    let word = text.split_whitespace().next().unwrap_or("");
    word.parse()
        .map_err(|_| format!("callgrind's file says '{text}' for a number"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn costs_of_callees_are_divided_by_the_calls() {
        let text = "fn=(1) main\n10 7\ncfn=(2) counted_send_8\ncalls=4 20\n11 500\n\
                    fn=(2)\n20 8\ncfn=(3) MPI_Send\ncalls=4 0\n21 240\n";
        let costs = super::costs(text).expect("a file of callgrind");
        assert_eq!(costs.per_call("send_8"), Ok(60.0));
        assert!(costs.per_call("recv_8").is_err());
    }
}
