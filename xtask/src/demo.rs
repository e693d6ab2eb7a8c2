// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask demo`: see in a minute that it works and how fast.

use crate::{install, shell};

/// No arguments.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    let prefix = shell::target().join("prefix");
    shell::say("Building the release and installing it into target/prefix ...");
    install::install(&prefix)?;
    let (mpicc, mpiexec) = (prefix.join("bin/mpicc"), prefix.join("bin/mpiexec"));
    let heat = shell::target().join("heat2d");
    shell::say(
        "\nThe heat equation in C, examples/heat2d.c, on 4 ranks (the field must equal that of 1 rank):",
    );
    shell::run(
        shell::command(&mpicc)
            .args(["-O2", "-Wall", "examples/heat2d.c", "-lm", "-o"])
            .arg(&heat),
    )?;
    let alone = checksum(&mut shell::command(&heat))?;
    let together = checksum(shell::command(&mpiexec).args(["-n", "4"]).arg(&heat))?;
    if alone != together {
        return Err(format!(
            "the fields differ: '{alone}' on 1 rank, '{together}' on 4"
        ));
    }
    shell::say(&format!("1 rank and 4 ranks agree: {alone}"));
    if shell::root()
        .join("crates/rankpoint/examples/heat2d.rs")
        .exists()
    {
        shell::say("\nThe same program in Rust, crates/rankpoint/examples/heat2d.rs, on 4 ranks:");
        shell::cargo(&[
            "build",
            "--release",
            "-p",
            "rankpoint",
            "--example",
            "heat2d",
        ])?;
        let program = shell::target().join("release/examples/heat2d");
        shell::run(shell::command(&mpiexec).args(["-n", "4"]).arg(program))?;
    }
    shell::say("\nLatency and bandwidth between two ranks (rankpoint bench):");
    shell::run(
        shell::command(prefix.join("bin/rankpoint"))
            .args(["bench", "--only", "latency,bandwidth,rate"])
            .args(["--sizes", "0,1,8,64,512,4K,16K,64K,256K,1M,4M"])
            .args(["--repetitions", "5", "--budget-ms", "10"]),
    )
}

/// The line of a program's output that starts with "field".
fn checksum(program: &mut std::process::Command) -> Result<String, String> {
    let output = shell::output(program)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    shell::say(text.trim_end());
    if !output.status.success() {
        return Err(format!(
            "{program:?} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let line = text.lines().find(|line| line.starts_with("field"));
    line.map(str::to_owned)
        .ok_or_else(|| "the program printed no field checksum".to_owned())
}
