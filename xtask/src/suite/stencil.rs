// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples of the stencil library: the same checksums on any number of ranks, by each method, on each library.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::cargo;
use super::found::Found;
use super::scope::Scope;
use crate::peers::Peer;
use crate::{install, shell};

/// Seconds that one job may take.
const LIMIT_S: &str = "120";
/// The library's soname, which every library of the ABI has.
const SONAME: &str = "libmpi_abi.so.1";

/// Programs with their grids and steps. The grids cannot be divided evenly by all numbers of ranks.
const PROGRAMS: [(&str, &str); 2] = [
    ("jacobi3d", "21 26 19 --iters 12"),
    ("astaroth", "16 22 13 --iters 1"),
];
/// Those of a quick run come first.
const RANKS: &[&str] = &["3", "4", "2", "7"];
const QUICK_RANKS: usize = 2;
const METHODS: [&str; 5] = ["auto", "shared", "packed", "typed", "partitioned"];

/// Where an example runs.
struct Place {
    name: &'static str,
    /// The launcher with its flags.
    launcher: Vec<String>,
    /// The folder of the library that it opens, if it opens one.
    library: Option<PathBuf>,
}

/// All of them.
pub(super) fn examples(scope: Scope) -> Result<Found, String> {
    let prefix = install::into_target()?;
    cargo::programs()?;
    let (places, left_out) = places(&prefix)?;
    if let Some(why) = left_out {
        shell::say(&format!("not on MPICH: {why}"));
    }
    let (mut passed, mut wrong) = (0, Vec::new());
    for (program, arguments) in PROGRAMS {
        let expected = places[0].run(program, arguments, "1", "auto", &[])?;
        for (number, place) in places.iter().enumerate() {
            // The plans are the same on all of them.
            let quick = if number == 0 { QUICK_RANKS } else { 1 };
            for ranks in scope.some(RANKS, quick) {
                for (index, methods) in METHODS.iter().enumerate() {
                    // Two nodes have messages between them, too.
                    let nodes = ["--pseudo-nodes", if index % 2 == 0 { "2" } else { "1" }];
                    match place.run(program, arguments, ranks, methods, &nodes) {
                        Ok(found) if found == expected => passed += 1,
                        Ok(found) => wrong.push(format!(
                            "{program} {methods} on {ranks} ranks of {}: {found}, expected {expected}",
                            place.name
                        )),
                        Err(text) => wrong.push(format!(
                            "{program} {methods} on {ranks} ranks of {}: {text}",
                            place.name
                        )),
                    }
                }
            }
        }
    }
    Found::runs(
        passed,
        wrong,
        "runs of stencils with the checksum of one rank",
    )
}

/// The Rust API, the library of the ABI, and MPICH; why the last one is missing.
fn places(prefix: &Path) -> Result<(Vec<Place>, Option<String>), String> {
    let mpiexec = prefix.join("bin/mpiexec").display().to_string();
    let ours: Vec<String> = [&mpiexec, "--timeout", LIMIT_S].map(str::to_owned).to_vec();
    let mut places = vec![
        Place {
            name: "Rankpoint",
            launcher: ours.clone(),
            library: None,
        },
        Place {
            name: "Rankpoint's library",
            launcher: ours,
            library: Some(prefix.join("lib")),
        },
    ];
    let peer = Peer::find("mpich").ok_or("no peer is called mpich")?;
    let left_out = peer.fetch().err();
    if left_out.is_none() {
        places.push(Place {
            name: "MPICH",
            launcher: peer.launcher(true),
            library: Some(peer.library_folder()),
        });
    }
    Ok((places, left_out))
}

impl Place {
    /// The checksum that an example prints.
    fn run(
        &self,
        program: &str,
        arguments: &str,
        ranks: &str,
        methods: &str,
        more: &[&str],
    ) -> Result<String, String> {
        let example = shell::target().join("debug/examples").join(program);
        let mut command: Command = shell::limited(LIMIT_S, &self.launcher[0]);
        command.args(&self.launcher[1..]).args(["-n", ranks]);
        command.arg(example).args(arguments.split_whitespace());
        command.args(["--methods", methods]).args(more);
        if let Some(folder) = &self.library {
            command
                .args(["--mpi", SONAME])
                .env("LD_LIBRARY_PATH", folder);
        }
        let output = shell::output(&mut command)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let sum = text.lines().find_map(|line| line.strip_prefix("checksum "));
        match sum {
            Some(sum) if output.status.success() => Ok(sum.to_owned()),
            _ => {
                let errors = String::from_utf8_lossy(&output.stderr);
                Err(format!("{}: {}", output.status, shell::tail(&errors, 5)))
            }
        }
    }
}
