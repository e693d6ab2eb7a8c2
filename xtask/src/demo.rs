// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask demo`: see that it works and how fast.

use std::process::Command;

use crate::{install, shell, tools};

/// The example in Rust, part of the crate that it shows.
const RUST_EXAMPLE: &str = "crates/rankpoint/examples/heat2d.rs";

/// No arguments.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    tools::need(&[tools::CC])?;
    shell::say("Building the release and installing it (some minutes the first time) ...");
    let prefix = install::into_target()?;
    shell::say(&format!("Installed into {}", prefix.display()));
    let mpiexec = prefix.join("bin/mpiexec");
    let on_four = |program: &std::path::Path| {
        let mut command = shell::command(&mpiexec);
        command.args(["-n", "4"]).arg(program);
        command
    };

    shell::say("\nThe heat equation in C, examples/heat2d.c, on 1 rank and on 4:");
    let heat = shell::target().join("heat2d");
    shell::compile(&prefix.join("bin/mpicc"), "examples/heat2d.c", &heat)?;
    let alone = field(&mut shell::command(&heat))?;
    agree(&alone, &field(&mut on_four(&heat))?)?;

    if shell::root().join(RUST_EXAMPLE).exists() {
        shell::say(&format!("\nThe same in Rust, {RUST_EXAMPLE}, on 4 ranks:"));
        shell::cargo(&[
            "build",
            "--release",
            "--quiet",
            "-p",
            "rankpoint",
            "--example",
            "heat2d",
        ])?;
        let heat = shell::target().join("release/examples/heat2d");
        agree(&alone, &field(&mut on_four(&heat))?)?;
    }

    shell::say("\nLatency and bandwidth between two ranks (rankpoint bench):");
    shell::run(
        shell::command(prefix.join("bin/rankpoint"))
            .args(["bench", "--only", "latency,bandwidth,rate"])
            .args(["--sizes", "0,1,8,64,512,4K,16K,64K,256K,1M,4M"])
            .args(["--repetitions", "5", "--budget-ms", "10"]),
    )
}

/// Runs a program, shows what it prints, and gives the line that tells its field's checksum.
pub(crate) fn field(program: &mut Command) -> Result<String, String> {
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

fn agree(one: &str, other: &str) -> Result<(), String> {
    if one == other {
        shell::say("The fields are the same, bit for bit.");
        return Ok(());
    }
    Err(format!("the fields differ: '{one}' and '{other}'"))
}
