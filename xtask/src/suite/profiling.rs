// SPDX-License-Identifier: MIT OR Apache-2.0
//! A preloaded profiling layer sees every call of the program, and none of the library's own.

use std::path::Path;

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

/// What the layer prints: the program's calls, rank by rank.
const EXPECTED: [&str; 2] = [
    "layer: rank 0: 1 init, 37 sends, 5 receives",
    "layer: rank 1: 1 init, 5 sends, 37 receives",
];

/// Rows that the generated layer of all functions prints, and how many ranks print each.
const COUNTED: [(&str, usize); 3] = [
    ("counters: MPI_Send 37\n", 1),
    ("counters: MPI_Recv 37\n", 1),
    ("counters: MPI_Finalize 1\n", 2),
];

/// Runs the program without a layer, with one, and with the generated one of `mpi-abi-sys`.
pub(super) fn layers(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let (layer, program) = (
        shell::target().join("liblayer.so"),
        shell::target().join("profiled"),
    );
    let mut compile = shell::command(prefix.join("bin/mpicc"));
    compile.args(["-shared", "-fPIC", "-o"]).arg(&layer);
    shell::run(compile.arg("tests/profiling/layer.c"))?;
    shell::compile(
        &prefix.join("bin/mpicc"),
        "tests/profiling/program.c",
        &program,
    )?;
    let package = "rankpoint-mpi-abi-sys";
    let example = ["--features", "generate", "--example", "counters"];
    shell::cargo(&[&["build", "--quiet", "-p", package], &example[..]].concat())?;
    let counters = shell::target().join("debug/examples/libcounters.so");
    let said = |preload: Option<&Path>| -> Result<String, String> {
        let mut job = shell::command(prefix.join("bin/mpiexec"));
        job.args(["-n", "2", "--timeout", "60"]);
        if let Some(layer) = preload {
            job.arg("-env").arg("LD_PRELOAD").arg(layer);
        }
        let output = shell::output(job.arg(&program))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() && text.matches("PASS").count() == 2 {
            return Ok(text);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("the profiled program said {text}{errors}"))
    };
    let mut wrong = Vec::new();
    if said(None)?.contains("layer:") {
        wrong.push("the program is profiled without the layer".to_owned());
    }
    let with_layer = said(Some(&layer))?;
    for line in EXPECTED {
        if !with_layer.contains(line) {
            wrong.push(format!("'{line}' is not in '{with_layer}'"));
        }
    }
    let counted = said(Some(&counters))?;
    for (row, ranks) in COUNTED {
        let found = counted.matches(row).count();
        if found != ranks {
            wrong.push(format!(
                "'{row}' {found} times instead of {ranks} in '{counted}'"
            ));
        }
    }
    let checks = 1 + EXPECTED.len() + COUNTED.len();
    Found::runs(
        checks - wrong.len().min(checks),
        wrong,
        "checks of a preloaded layer",
    )
}
