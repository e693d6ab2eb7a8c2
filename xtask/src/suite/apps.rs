// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mini-app `halo2d` in C, in all its modes: its checksum is that of the same in Rust. A thorough run has it on MPICH, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::found::Found;
use super::scope::Scope;
use crate::peers::Peer;
use crate::{install, shell, tools};

/// Seconds that one job may take.
const LIMIT_S: &str = "120";
const SOURCE: &str = "examples/apps/halo2d.c";
const MODES: [&str; 5] = ["serial", "naive", "tag", "comm", "partitioned"];
/// The mode that needs an extension.
const ENDPOINT: &str = "endpoint";
/// What every run has besides its grids.
const COMMON: [&str; 4] = ["--size", "3", "--steps", "4"];

/// Ranks, processes and threads along each axis, points, whether it is periodic.
type Case = (&'static str, &'static str, &'static str, &'static str, bool);

/// Those of a quick run come first.
const CASES: &[Case] = &[
    ("1", "1,1", "2,2", "9", true),
    ("2", "2,1", "2,2", "5", true),
    ("4", "2,2", "2,1", "9", false),
    ("4", "1,4", "1,1", "5", false),
    ("1", "1,1", "1,3", "5", false),
    ("2", "1,2", "4,1", "9", true),
    ("2", "2,1", "1,1", "9", true),
    ("4", "4,1", "2,2", "5", true),
    ("4", "2,2", "1,4", "9", true),
];
const QUICK_CASES: usize = 4;

/// A library, and how programs are compiled for it and started.
struct Library {
    name: &'static str,
    has_endpoints: bool,
    wrapper: PathBuf,
    /// The launcher with its flags.
    launcher: Vec<String>,
    /// Where the dynamic linker finds it.
    folder: PathBuf,
}

/// Every case and mode with our compiler.
pub(super) fn in_c_and_rust(scope: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    shell::cargo(&["build", "--quiet", "-p", "rankpoint-apps"])?;
    let mut libraries = vec![ours(&prefix)];
    if scope == Scope::Thorough {
        match mpich() {
            Ok(library) => libraries.push(library),
            Err(why) => shell::say(&format!("not on MPICH: {why}")),
        }
    }
    let folder = shell::target().join("apps");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (mut passed, mut wrong) = (0, Vec::new());
    for case in scope.some(CASES, QUICK_CASES) {
        let rust = shell::target().join("debug/halo2d");
        let expected = outcome(ours(&prefix).run(case, &rust, "comm"))?;
        for library in &libraries {
            let program = library.compile(&prefix, &folder, case)?;
            let alone = (case.2 == "1,1").then_some("processes");
            let endpoint = library.has_endpoints.then_some(ENDPOINT);
            for mode in MODES.into_iter().chain(alone).chain(endpoint) {
                match outcome(library.run(case, &program, mode)) {
                    Ok(found) if found == expected => passed += 1,
                    Ok(found) => wrong.push(format!(
                        "{} {mode} {case:?}: {found}, expected {expected}",
                        library.name
                    )),
                    Err(text) => wrong.push(format!("{} {mode} {case:?}: {text}", library.name)),
                }
            }
            for mode in ["serial", "partitioned"].into_iter().chain(endpoint) {
                let mut seeded = library.run(case, &program, mode);
                match outcome_of_fault(seeded.args(["--fault", "wrong-direction"])) {
                    Ok(()) => passed += 1,
                    Err(text) => wrong.push(format!("{} {mode} {case:?}: {text}", library.name)),
                }
            }
        }
    }
    Found::runs(
        passed,
        wrong,
        "runs of halo2d in C with the checksum of Rust, or with a seeded error that is found",
    )
}

fn ours(prefix: &Path) -> Library {
    let mpiexec = prefix.join("bin/mpiexec").display().to_string();
    Library {
        name: "Rankpoint",
        has_endpoints: true,
        wrapper: prefix.join("bin/mpicc"),
        launcher: [&mpiexec, "--timeout", LIMIT_S].map(str::to_owned).to_vec(),
        folder: prefix.join("lib"),
    }
}

fn mpich() -> Result<Library, String> {
    let peer = Peer::find("mpich").ok_or("no peer is called mpich")?;
    peer.fetch()?;
    Ok(Library {
        name: "MPICH",
        has_endpoints: false,
        wrapper: peer.prefix().join("bin/mpicc_abi"),
        launcher: peer.launcher(true),
        folder: peer.library_folder(),
    })
}

impl Library {
    /// The program with the tables for a case.
    fn compile(&self, prefix: &Path, folder: &Path, case: &Case) -> Result<PathBuf, String> {
        let (_, procs, threads, points, is_periodic) = *case;
        let mut plan = shell::command(prefix.join("bin/rankpoint"));
        plan.args([
            "commplan",
            "--plan",
            "edge",
            "--c",
            "--procs",
            procs,
            "--threads",
            threads,
            "--stencil",
            points,
        ]);
        plan.args(is_periodic.then_some("--periodic"));
        let output = shell::output(&mut plan)?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let (tables, source) = (folder.join("plan.h"), folder.join("halo2d.c"));
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::write(&tables, output.stdout).map_err(told)?;
        let all = shell::root().join(SOURCE);
        let text = format!(
            "#define COMMPLAN_H \"{}\"\n#include \"{}\"\n",
            tables.display(),
            all.display()
        );
        fs::write(&source, text).map_err(told)?;
        let program = folder.join("halo2d");
        shell::compile(&self.wrapper, &source.display().to_string(), &program)?;
        Ok(program)
    }

    fn run(&self, case: &Case, program: &Path, mode: &str) -> Command {
        let (ranks, procs, threads, points, is_periodic) = *case;
        let mut command = shell::command(&self.launcher[0]);
        command
            .args(&self.launcher[1..])
            .args(["-n", ranks])
            .arg(program);
        command.env("LD_LIBRARY_PATH", &self.folder);
        command.args([
            "--mode",
            mode,
            "--procs",
            procs,
            "--threads",
            threads,
            "--stencil",
            points,
        ]);
        command
            .args(COMMON)
            .args(is_periodic.then_some("--periodic"));
        command
    }
}

/// The line that tells the checksum of a run without wrong cells.
fn outcome(mut command: Command) -> Result<String, String> {
    let output = shell::output(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("checksum"));
    match line {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(format!(
            "{}: {text}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// A run with an error must fail and tell a wrong cell.
fn outcome_of_fault(command: &mut Command) -> Result<(), String> {
    let output = shell::output(command)?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !text.contains("expected") {
        return Err(format!(
            "a seeded error was not found: {}\n{text}",
            output.status
        ));
    }
    Ok(())
}
