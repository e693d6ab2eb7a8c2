// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs of `examples/shortest-path`, with both kinds of calls: the same checksums on any number of ranks, and on each library.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::found::Found;
use super::scope::Scope;
use crate::apps::{Cores, Library};
use crate::peers::Peer;
use crate::{install, shell, tools};

/// Seconds that one job may take.
const LIMIT_S: &str = "60";
const RANKS: std::ops::RangeInclusive<usize> = 1..=4;
const CALLS: [&str; 2] = ["ordinary", "promises"];

/// A program, arguments of a small problem of one size for all ranks, and an error that must be found.
struct Program {
    name: &'static str,
    arguments: &'static [&'static str],
    fault: &'static str,
    /// Options that must be refused, and a word of the reason.
    refused: (&'static [&'static str], &'static str),
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "mass_cg",
        arguments: &["--grid", "5,4,4", "--budget-ms", "0"],
        fault: "lost-border",
        refused: (&["--grid", "1,1,1"], "1 elements cannot be dealt to 2"),
    },
    Program {
        name: "lennard_jones",
        arguments: &["--atoms", "1000,700", "--steps", "30"],
        fault: "lost-ghost",
        refused: (
            &["--atoms", "90"],
            "90 atoms are too few for 2 x 1 x 1 ranks",
        ),
    },
];

/// All runs.
pub(super) fn on_all_ranks(scope: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let mut libraries = vec![Library::ours(&prefix)];
    if scope == Scope::Thorough {
        match mpich(&prefix) {
            Ok(library) => libraries.push(library),
            Err(why) => shell::say(&format!("not on MPICH: {why}")),
        }
    }
    let (mut passed, mut wrong) = (0, Vec::new());
    let mut count = |result: Result<(), String>| match result {
        Ok(()) => passed += 1,
        Err(text) => wrong.push(text),
    };
    for program in &PROGRAMS {
        let mut expected = None;
        for library in &libraries {
            let source = format!("examples/shortest-path/{}.c", program.name);
            let path = library.compile(&source, program.name)?;
            let run = |ranks: usize, arguments: &[&str]| {
                let mut job = library.job(&path, ranks, Cores::OneEach, LIMIT_S);
                job.args(arguments);
                job
            };
            let all_calls = &CALLS[..1 + usize::from(library.has_extensions())];
            for (ranks, calls) in
                RANKS.flat_map(|ranks| all_calls.iter().map(move |it| (ranks, *it)))
            {
                let mut job = run(ranks, program.arguments);
                let found = checksums(&shell::output(job.args(["--json", "--calls", calls]))?);
                let place = format!("{} {}, {calls}, {ranks} ranks", library.name, program.name);
                count(match found {
                    Ok(found) if *expected.get_or_insert(found.clone()) == found => Ok(()),
                    Ok(found) => Err(format!("{place}: {found:?}, expected {expected:?}")),
                    Err(text) => Err(format!("{place}: {text}")),
                });
            }
            for calls in all_calls {
                let mut job = run(2, program.arguments);
                job.args(["--fault", program.fault, "--calls", calls]);
                count(fails(&mut job, "wrong"));
            }
            let (options, reason) = program.refused;
            count(fails(&mut run(2, options), reason));
            if !library.has_extensions() {
                let refused = ["--calls", CALLS[1]];
                count(fails(&mut run(1, &refused), "has no MPIX_Isend_all_opts"));
            }
        }
    }
    Found::runs(passed, wrong, "runs with the same checksums, or refused")
}

fn mpich(prefix: &Path) -> Result<Library, String> {
    let peer = Peer::find("mpich").ok_or("no peer is called mpich")?;
    Library::peer(peer, prefix)
}

/// The checksums of all sizes of a run that was right.
fn checksums(output: &Output) -> Result<Vec<Value>, String> {
    let told = || {
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{}\n{said}{errors}", output.status)
    };
    let found: Value = serde_json::from_slice(&output.stdout).map_err(|_| told())?;
    let rows = found["rows"].as_array().filter(|rows| !rows.is_empty());
    match rows {
        Some(rows) if output.status.success() && found["verified"] == true => {
            Ok(rows.iter().map(|row| row["checksum"].clone()).collect())
        }
        _ => Err(told()),
    }
}

/// A run that must fail and say so.
fn fails(job: &mut Command, said: &str) -> Result<(), String> {
    let output = shell::output(job)?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if output.status.success() || !text.contains(said) {
        return Err(format!(
            "{job:?}: expected '{said}': {}\n{text}",
            output.status
        ));
    }
    Ok(())
}
