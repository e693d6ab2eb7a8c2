// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds, installs, tests and measures Rankpoint: `cargo xtask <command>`.

mod checks;
mod demo;
mod install;
mod instructions;
mod peers;
mod shell;
mod suite;

use std::process::ExitCode;

type Outcome = Result<(), String>;

/// Name, what it does, and how.
type Row = (&'static str, &'static str, fn(&[String]) -> Outcome);

const COMMANDS: &[Row] = &[
    (
        "demo",
        "build, install into target/prefix, run the heat equation on 1 and 4 ranks, print the latency table",
        demo::run,
    ),
    (
        "test",
        "run every check and test, and print a summary",
        suite::run,
    ),
    (
        "install",
        "--prefix DIR: build the release and install it",
        install::run,
    ),
    (
        "bench",
        "[--peers]: measure Rankpoint, and the peers' wheels beside it",
        peers::run,
    ),
    (
        "instructions",
        "count the instructions of MPI_Isend and MPI_Irecv",
        instructions::run,
    ),
    (
        "layers",
        "compare the crates' dependencies with the plan in Cargo.toml",
        checks::layers,
    ),
    ("lines", "check the length of source files", checks::lines),
    (
        "pairs",
        "check that each memory ordering has its partner",
        checks::pairs,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen = arguments
        .first()
        .and_then(|name| COMMANDS.iter().find(|row| row.0 == name));
    let Some((_, _, command)) = chosen else {
        shell::say("usage: cargo xtask <command>");
        for (name, text, _) in COMMANDS {
            shell::say(&format!("  {name:<13} {text}"));
        }
        return ExitCode::from(2);
    };
    match command(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            shell::say(&format!("xtask: {text}"));
            ExitCode::FAILURE
        }
    }
}
