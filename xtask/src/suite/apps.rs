// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mini-app `halo2d` in C, in all its modes: its checksum is that of the same in Rust. A thorough run has it on MPICH, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cargo;
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
/// Threads of a process, and so its endpoints.
const MOST_THREADS: &str = "4";

/// A library, and how programs are compiled for it and started.
struct Library {
    name: &'static str,
    wrapper: PathBuf,
    /// The command that gives processes endpoints which their library lacks.
    endpoints: Option<PathBuf>,
    /// The launcher with its flags.
    launcher: Vec<String>,
    /// Where the dynamic linker finds it.
    folder: PathBuf,
}

/// Options, whether the program succeeds with them, and what it prints once.
const EXPLAINED: [(&str, bool, &str); 5] = [
    ("--help", true, "usage: halo2d "),
    ("-h", true, "usage: halo2d "),
    ("--fast", false, "--fast is not an option; --help"),
    ("--verify", false, "--verify : expected true or false"),
    ("--mode window", false, "no windows"),
];
/// The same where the library has no endpoints.
const WITHOUT_ENDPOINTS: (&str, bool, &str) = (
    "--mode endpoint",
    false,
    "start the program by rankpoint endpoints",
);

/// Every case and mode with our compiler.
pub(super) fn in_c_and_rust(scope: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    cargo::programs()?;
    let mut libraries = vec![ours(&prefix)];
    if scope == Scope::Thorough {
        match mpich(&prefix) {
            Ok(library) => libraries.push(library),
            Err(why) => shell::say(&format!("not on MPICH: {why}")),
        }
    }
    let folder = shell::target().join("apps");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (mut passed, mut wrong) = (0, Vec::new());
    for (at, case) in scope.some(CASES, QUICK_CASES).iter().enumerate() {
        let rust = shell::target().join("debug/halo2d");
        let expected = outcome(ours(&prefix).run(case, &rust, "comm"))?;
        for library in &libraries {
            let program = library.compile(&prefix, &folder, case)?;
            if at == 0 {
                passed += library.explains(&program, &mut wrong)?;
            }
            let alone = (case.2 == "1,1").then_some("processes");
            for mode in MODES.into_iter().chain(alone).chain([ENDPOINT]) {
                match outcome(library.run(case, &program, mode)) {
                    Ok(found) if found == expected => passed += 1,
                    Ok(found) => wrong.push(format!(
                        "{} {mode} {case:?}: {found}, expected {expected}",
                        library.name
                    )),
                    Err(text) => wrong.push(format!("{} {mode} {case:?}: {text}", library.name)),
                }
            }
            for mode in ["serial", "partitioned", ENDPOINT] {
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
        "runs of halo2d in C with the checksum of Rust, a seeded error that is found, or options explained",
    )
}

fn ours(prefix: &Path) -> Library {
    let mpiexec = prefix.join("bin/mpiexec").display().to_string();
    Library {
        name: "Rankpoint",
        wrapper: prefix.join("bin/mpicc"),
        endpoints: None,
        launcher: [&mpiexec, "--timeout", LIMIT_S].map(str::to_owned).to_vec(),
        folder: prefix.join("lib"),
    }
}

fn mpich(prefix: &Path) -> Result<Library, String> {
    let peer = Peer::find("mpich").ok_or("no peer is called mpich")?;
    peer.fetch()?;
    Ok(Library {
        name: "MPICH",
        wrapper: peer.prefix().join("bin/mpicc_abi"),
        endpoints: Some(prefix.join("bin/rankpoint")),
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

    /// How many options the program explains.
    fn explains(&self, program: &Path, wrong: &mut Vec<String>) -> Result<usize, String> {
        let mut passed = 0;
        let without = self.endpoints.as_ref().map(|_| WITHOUT_ENDPOINTS);
        for (line, is_success, said) in EXPLAINED.into_iter().chain(without) {
            let mut job = self.start("2");
            let output = shell::output(job.arg(program).args(line.split(' ')))?;
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            if output.status.success() == is_success && text.matches(said).count() == 1 {
                passed += 1;
            } else {
                wrong.push(format!("{} {line}: {}\n{text}", self.name, output.status));
            }
        }
        Ok(passed)
    }

    fn start(&self, ranks: &str) -> Command {
        let mut command = shell::command(&self.launcher[0]);
        command.args(&self.launcher[1..]).args(["-n", ranks]);
        command.env("LD_LIBRARY_PATH", &self.folder);
        command
    }

    /// The launcher, which starts processes that have proxies for their endpoints.
    fn start_with_proxies(&self, command: &Path, ranks: &str) -> Command {
        let mut command = shell::command(command);
        command.args(["endpoints", "-n", ranks, "-e", MOST_THREADS, "--"]);
        command.args(&self.launcher);
        command.env("LD_LIBRARY_PATH", &self.folder);
        command
    }

    fn run(&self, case: &Case, program: &Path, mode: &str) -> Command {
        let (ranks, procs, threads, points, is_periodic) = *case;
        let mut command = match &self.endpoints {
            Some(endpoints) if mode == ENDPOINT => self.start_with_proxies(endpoints, ranks),
            _ => self.start(ranks),
        };
        command.arg(program);
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
