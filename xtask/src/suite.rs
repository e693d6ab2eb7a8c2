// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask test`: every check and test, then a summary.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::{checks, install, instructions, shell};

/// Outcome of one step.
enum Step {
    Passed(String),
    Failed(String),
    Skipped(String),
}

type Action = fn() -> Step;

const STEPS: &[(&str, Action)] = &[
    ("format", || cargo(&["fmt", "--all", "--check"])),
    ("lints", || {
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ])
    }),
    ("layers", || outcome(checks::layers(&[]))),
    ("lines", || outcome(checks::lines(&[]))),
    ("pairs", || outcome(checks::pairs(&[]))),
    ("unit and property tests", || {
        cargo(&["test", "--workspace", "--quiet"])
    }),
    ("install", || {
        outcome(install::install(&shell::target().join("prefix")))
    }),
    ("C programs", c_programs),
    ("heat equation", heat),
    ("instruction counts", instruction_counts),
];

/// No arguments.
pub(crate) fn run(_: &[String]) -> Result<(), String> {
    install_tools();
    let mut lines = Vec::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, action) in STEPS {
        shell::say(&format!("== {name}"));
        let start = Instant::now();
        let (word, text) = match action() {
            Step::Passed(text) => {
                passed += 1;
                ("passed", text)
            }
            Step::Failed(text) => {
                failed += 1;
                ("FAILED", text)
            }
            Step::Skipped(text) => {
                skipped += 1;
                ("skipped", text)
            }
        };
        lines.push(format!(
            "{word:<8} {name:<26} {:>5.0} s  {text}",
            start.elapsed().as_secs_f64()
        ));
    }
    shell::say("\nSummary");
    for line in lines {
        shell::say(&line);
    }
    shell::say(&format!(
        "{passed} passed, {failed} failed, {skipped} skipped"
    ));
    if failed == 0 {
        Ok(())
    } else {
        Err(format!("{failed} steps failed"))
    }
}

/// Says what is installed, installs it, or says why not.
fn install_tools() {
    let needed: Vec<&str> = [("valgrind", "valgrind"), ("cc", "gcc")]
        .into_iter()
        .filter(|(program, _)| !shell::exists(program))
        .map(|(_, package)| package)
        .collect();
    if needed.is_empty() {
        return;
    }
    let root = fs::metadata("/proc/self")
        .is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0);
    if !root {
        shell::say(&format!(
            "not root: {} not installed; tests that need it are skipped",
            needed.join(", ")
        ));
        return;
    }
    shell::say(&format!("installing {} with apt-get", needed.join(", ")));
    let fetched = shell::run(shell::command("apt-get").args(["update", "-qq"])).and_then(|()| {
        shell::run(
            shell::command("apt-get")
                .args(["install", "-y", "-qq"])
                .args(&needed),
        )
    });
    if let Err(text) = fetched {
        shell::say(&format!("{text}; tests that need them are skipped"));
    }
}

fn outcome(result: Result<(), String>) -> Step {
    match result {
        Ok(()) => Step::Passed(String::new()),
        Err(text) => Step::Failed(text),
    }
}

fn cargo(arguments: &[&str]) -> Step {
    outcome(shell::cargo(arguments))
}

/// Compiles every program of tests/c that names its rank counts in a line `RANKS: 1 2 4`, and runs it on each.
fn c_programs() -> Step {
    let prefix = shell::target().join("prefix");
    let mut sources: Vec<_> = fs::read_dir(shell::root().join("tests/c"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    sources.sort();
    let (mut runs, mut wrong) = (0, Vec::new());
    for source in sources
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
    {
        match run_program(&prefix, source) {
            Ok(count) => runs += count,
            Err(text) => wrong.push(text),
        }
    }
    if runs == 0 {
        wrong.push("no program ran".to_owned());
    }
    if wrong.is_empty() {
        Step::Passed(format!("{runs} runs"))
    } else {
        Step::Failed(wrong.join("\n"))
    }
}

fn run_program(prefix: &Path, source: &Path) -> Result<usize, String> {
    let text = fs::read_to_string(source).map_err(|error| error.to_string())?;
    let Some(ranks) = text.lines().find_map(|line| line.split("RANKS:").nth(1)) else {
        return Ok(0);
    };
    let name = source
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let program = shell::target().join("c").join(&name);
    fs::create_dir_all(shell::target().join("c")).map_err(|error| error.to_string())?;
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"];
    shell::run(
        shell::command(prefix.join("bin/mpicc"))
            .args(flags)
            .arg(source)
            .arg("-o")
            .arg(&program),
    )?;
    let counts: Vec<&str> = ranks
        .split_whitespace()
        .filter(|word| word.parse::<u32>().is_ok())
        .collect();
    for count in &counts {
        let mut command = shell::command(prefix.join("bin/mpiexec"));
        let output = shell::output(
            command
                .args(["-n", count, "--timeout", "120"])
                .arg(&program),
        )?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() || !said.contains("PASS") {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!(
                "{name} on {count} ranks: {}\n{said}{errors}",
                output.status
            ));
        }
        shell::say(&format!("{name} on {count} ranks"));
    }
    Ok(counts.len())
}

/// The heat equation's field must not depend on the number of ranks.
fn heat() -> Step {
    let prefix = shell::target().join("prefix");
    let program = shell::target().join("heat2d");
    let built = shell::run(
        shell::command(prefix.join("bin/mpicc"))
            .args(["-O2", "examples/heat2d.c", "-lm", "-o"])
            .arg(&program),
    );
    if let Err(text) = built {
        return Step::Failed(text);
    }
    let mut fields = Vec::new();
    for ranks in ["1", "2", "3", "4", "7"] {
        let mut command = shell::command(prefix.join("bin/mpiexec"));
        let output = shell::output(
            command
                .args(["-n", ranks, "--timeout", "120"])
                .arg(&program),
        );
        let text = output
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default();
        fields.push(
            text.lines()
                .find(|line| line.starts_with("field"))
                .unwrap_or("no field")
                .to_owned(),
        );
    }
    if fields[0] != "no field" && fields.iter().all(|field| *field == fields[0]) {
        Step::Passed(format!("{} on 1, 2, 3, 4, 7 ranks", fields[0]))
    } else {
        Step::Failed(format!("the fields differ: {fields:?}"))
    }
}

fn instruction_counts() -> Step {
    if !shell::exists("valgrind") {
        return Step::Skipped("valgrind is not installed".to_owned());
    }
    match instructions::measure(&shell::target().join("prefix")) {
        Ok(counts) => {
            let text: Vec<String> = counts
                .iter()
                .map(|(call, count, budget)| format!("MPI_{call} {count:.1} (at most {budget})"))
                .collect();
            let within = counts.iter().all(|(_, count, budget)| count <= budget);
            if within {
                Step::Passed(text.join(", "))
            } else {
                Step::Failed(text.join(", "))
            }
        }
        Err(text) => Step::Failed(text),
    }
}
