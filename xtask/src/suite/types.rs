// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random nested datatypes here and in MPICH: bounds, packed bytes, external32, and what unpacking writes.
//!
//! One program, compiled once, runs on both libraries with the same seeds and prints a line for each type; the lines must be
//! the same. A line begins with the expression that makes the type, which `rankpoint explain type` understands.

use super::found::Found;
use super::scope::Scope;
use crate::peers::Peer;
use crate::{install, shell, tools};

const SOURCE: &str = "tests/types/random.c";
/// Seeds of random types: a quick run takes the first ones.
const SEEDS: &[&str] = &["1", "2", "3", "4"];
const QUICK_SEEDS: usize = 2;
/// Types of a seed.
const TYPES: &str = "2000";
/// Lines that differ and are shown.
const SHOWN: usize = 5;

/// Compares with MPICH's library.
pub(super) fn agree_with_mpich(scope: Scope) -> Result<Found, String> {
    let mpich = Peer::find("mpich").ok_or("no peer is called mpich")?;
    if let Err(why) = tools::need(&[tools::CC]).and_then(|()| mpich.fetch()) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let program = shell::target().join("random-types");
    shell::compile(&prefix.join("bin/mpicc"), SOURCE, &program)?;
    let printed = |launcher: &str, library: &std::path::Path, seed: &str| {
        let mut command = shell::command(launcher);
        command.args(["-n", "1"]).arg(&program).args([seed, TYPES]);
        let output = shell::output(command.env("LD_LIBRARY_PATH", library))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{launcher}: {}\n{errors}", output.status));
        }
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    };
    let ours = prefix.join("bin/mpiexec").display().to_string();
    let theirs = mpich.launcher(true);
    let (mut same, mut packed, mut differ, mut wrong) = (0, 0, 0, Vec::new());
    for seed in scope.some(SEEDS, QUICK_SEEDS) {
        let mine = printed(&ours, &prefix.join("lib"), seed)?;
        let other = printed(&theirs[0], &mpich.library_folder(), seed)?;
        if mine.lines().count() != other.lines().count() {
            wrong.push(format!("seed {seed}: not as many lines"));
        }
        for (mine, other) in mine.lines().zip(other.lines()) {
            if mine == other {
                same += 1;
                packed += usize::from(mine.contains(" packed "));
            } else {
                differ += 1;
                if differ <= SHOWN {
                    wrong.push(format!("seed {seed}\n  ours   {mine}\n  MPICH  {other}"));
                }
            }
        }
    }
    if differ > SHOWN {
        wrong.push(format!("{} types more", differ - SHOWN));
    }
    if packed * 2 < same {
        wrong.push(format!("only {packed} of {same} types could be packed"));
    }
    Found::runs(
        same,
        wrong,
        &format!("random types as in MPICH, {packed} of them packed"),
    )
}
