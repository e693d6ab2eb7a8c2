// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds, installs, tests and measures Rankpoint: `cargo xtask <command>`.

#![forbid(unsafe_code)]

mod ablations;
mod agreement;
mod apps;
mod bench;
mod big_machine;
mod checks;
mod demo;
mod install;
mod instructions;
mod left;
mod miri;
mod page;
mod peers;
mod settings;
mod shell;
mod suite;
mod thread_sanitizer;
mod tools;
mod words;

use std::process::ExitCode;

/// Name, arguments, what it does, and how.
type Command = (
    &'static str,
    &'static str,
    &'static str,
    fn(&[String]) -> Result<(), String>,
);

const COMMANDS: &[Command] = &[
    (
        "demo",
        "",
        "build, install into target/prefix, run the heat equation, print a latency table",
        demo::run,
    ),
    (
        "test",
        "[STEP...] [--list]",
        "run every check and test, and print a summary",
        suite::run,
    ),
    (
        "install",
        "--prefix DIR [--profile release-fast|release-single]",
        "build and install it, with release-fast without checks on the fast path, with release-single also without threads",
        install::run,
    ),
    (
        "bench",
        "[--peers] [--write] [icount] [OPTIONS]",
        "measure Rankpoint, with --peers others beside it; icount: instructions in each build profile; OPTIONS as of rankpoint bench",
        bench::run,
    ),
    (
        "apps",
        "[--peers] [--write] [--quick] [--folder DIR] [--table] [NAME...]",
        "compare the applications of the publications by mechanism and by library: tables, JSON and plots; --write also puts them into the page of this machine; --table only writes what modes of mini-apps take into their page",
        apps::run,
    ),
    (
        "agreement",
        "[RUNS] [--profiles]",
        "whether rankpoint scope agrees with a C program and with rankpoint bench; --profiles: also how long profiles take and how well they repeat",
        agreement::run,
    ),
    (
        "big-machine",
        "[--prefix DIR] [--folder DIR]",
        "measure and check in ten minutes what two cores without a GPU cannot show; tables and JSON into one folder",
        big_machine::run,
    ),
    (
        "ablations",
        "[--write]",
        "count what two threads share when VCIs save them less; --write puts the table into docs/threads.md",
        ablations::run,
    ),
    (
        "instructions",
        "[--prefix DIR] [--fast] [--peers] [--collectives] [--windows] [--promises] [--account] [--profiles] [--write]",
        "count the instructions of sends and receives at each thread level, also of release-fast and the peers, and of collectives; --write puts the account into docs/shortest-path.md",
        instructions::run,
    ),
    (
        "settings",
        "",
        "write the tables of docs/settings.md from the code",
        settings::write_page,
    ),
    (
        "miri",
        "",
        "run tests of pure code under Miri, if it is installed",
        miri::run,
    ),
    (
        "thread-sanitizer",
        "",
        "run tests of the engine and the fabric under ThreadSanitizer, if a nightly toolchain has the sources of std",
        thread_sanitizer::run,
    ),
    (
        "layers",
        "[--cycles [CRATE...]] [--plan [CRATE...]]",
        "compare who uses whom with the plan in Cargo.toml; tell cycles, or a plan as the code is",
        checks::run_layers,
    ),
    (
        "lines",
        "",
        "check the length and the heads of source files",
        |_| checks::lines().map(drop),
    ),
    (
        "shape",
        "[PATH...] [--write]",
        "check that mod.rs and lib.rs only declare, and that there is one convention for modules; with paths, say which files",
        checks::run_shape,
    ),
    (
        "pairs",
        "",
        "check that each memory ordering has its partner",
        |_| checks::pairs().map(drop),
    ),
    (
        "words",
        "[PATH...] [--write]",
        "look for terms that the glossary replaces; with paths, say where",
        words::run,
    ),
    (
        "deny",
        "",
        "check licences and versions of dependencies",
        |_| checks::deny().map(drop),
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let Some((.., command)) = COMMANDS.iter().find(|row| row.0 == name) else {
        shell::say("usage: cargo xtask COMMAND\n");
        let widths = COMMANDS.iter().map(|row| row.0.len() + row.1.len() + 1);
        let width = widths.max().unwrap_or(0);
        for (name, arguments, text, _) in COMMANDS {
            shell::say(&format!(
                "  {:<width$}  {text}",
                format!("{name} {arguments}")
            ));
        }
        return ExitCode::from(if ["", "help", "--help"].contains(&name) {
            0
        } else {
            2
        });
    };
    match command(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            // What has told its troubles already has no text, and its last line stays the last.
            if !text.is_empty() {
                shell::say(&format!("xtask: {text}"));
            }
            ExitCode::FAILURE
        }
    }
}
