// SPDX-License-Identifier: MIT OR Apache-2.0
//! A preloaded profiling layer sees every call of the program, and none of the library's own.

use super::Found;
use crate::{install, shell, tools};

/// What the layer prints: the program's calls, rank by rank.
const EXPECTED: [&str; 2] = [
    "layer: rank 0: 1 init, 37 sends, 5 receives",
    "layer: rank 1: 1 init, 5 sends, 37 receives",
];

/// Runs the program with and without the layer.
pub(super) fn layers() -> Result<Found, String> {
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
    let said = |preload: bool| -> Result<String, String> {
        let mut job = shell::command(prefix.join("bin/mpiexec"));
        job.args(["-n", "2", "--timeout", "60"]);
        if preload {
            job.arg("-env").arg("LD_PRELOAD").arg(&layer);
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
    if said(false)?.contains("layer:") {
        wrong.push("the program is profiled without the layer".to_owned());
    }
    let with_layer = said(true)?;
    for line in EXPECTED {
        if !with_layer.contains(line) {
            wrong.push(format!("'{line}' is not in '{with_layer}'"));
        }
    }
    let checks = 1 + EXPECTED.len();
    Found::runs(
        checks - wrong.len().min(checks),
        wrong,
        "checks of a preloaded layer",
    )
}
