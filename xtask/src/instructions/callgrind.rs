// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program whose rank 0 is counted by callgrind, and reads what its functions cost.

use std::fs;
use std::path::{Path, PathBuf};

pub(super) use account::callgrind::Costs;

use crate::install::{self, Profile};
use crate::peers::PEERS;
use crate::shell;

/// A library, ready to run programs that are counted.
pub(super) struct Library {
    pub(super) name: String,
    launcher: Vec<String>,
    folder: PathBuf,
    pub(super) program: PathBuf,
}

/// A job: its number of ranks, what its program is told, and what is set for it.
pub(super) struct Job<'a> {
    pub(super) ranks: u32,
    pub(super) arguments: &'a [&'a str],
    pub(super) setting: Option<(&'a str, &'a str)>,
}

/// Builds Rankpoint, and compiles a program with it.
pub(super) fn rankpoint(profile: Profile, source: &str) -> Result<Library, String> {
    let name = match profile {
        Profile::Release => "Rankpoint",
        Profile::ReleaseFast => "Rankpoint, release-fast",
        Profile::ReleaseSingle => "Rankpoint, release-single",
    };
    installed(&install::built_as(profile)?, name, source)
}

/// Rankpoint as it is installed somewhere, and a program that is compiled with it.
pub(super) fn installed(prefix: &Path, name: &str, source: &str) -> Result<Library, String> {
    let program = shell::target().join(Path::new(source).file_stem().unwrap_or_default());
    shell::compile(&prefix.join("bin/mpicc"), source, &program)?;
    Ok(Library {
        name: name.to_owned(),
        launcher: vec![prefix.join("bin/mpiexec").display().to_string()],
        folder: prefix.join("lib"),
        program,
    })
}

/// Builds Rankpoint, and compiles a program in Fortran with it.
pub(super) fn rankpoint_fortran(profile: Profile, source: &str) -> Result<Library, String> {
    installed_fortran(&install::built_as(profile)?, "Rankpoint", source)
}

/// The same of Rankpoint as it is installed somewhere.
pub(super) fn installed_fortran(
    prefix: &Path,
    name: &str,
    source: &str,
) -> Result<Library, String> {
    let program = shell::target().join(Path::new(source).file_stem().unwrap_or_default());
    // Counted procedures stay apart from their callers and from each other.
    let flags = ["-fc=gfortran", "-O2", "-fno-inline", "-fno-ipa-icf"];
    let mut command = shell::command(prefix.join("bin/mpifort"));
    // Its modules are no part of the source tree.
    command.arg("-J").arg(shell::target());
    command.args(flags).arg(source).arg("-o").arg(&program);
    shell::run(&mut command)?;
    Ok(Library {
        name: name.to_owned(),
        launcher: vec![prefix.join("bin/mpiexec").display().to_string()],
        folder: prefix.join("lib"),
        program,
    })
}

/// The Rust program of an example, into which the calls of the Rust API are inlined; `unchecked` as the library without checks.
pub(super) fn inlined(example: &str, unchecked: bool) -> Result<Library, String> {
    let profile = match unchecked {
        true => "release-fast",
        false => "release",
    };
    let mut build = vec!["build", "--quiet", "--profile", profile, "-p", "rankpoint"];
    build.extend(["--example", example]);
    if unchecked {
        build.extend([
            "-p",
            "rankpoint-engine",
            "--features",
            "rankpoint-engine/unchecked",
        ]);
    }
    shell::cargo(&build)?;
    let prefix = install::into_target()?;
    Ok(Library {
        name: format!("{example} in Rust, {profile}"),
        launcher: vec![prefix.join("bin/mpiexec").display().to_string()],
        folder: prefix.join("lib"),
        program: shell::target().join(profile).join("examples").join(example),
    })
}

/// The other libraries, and a program that is compiled with each.
pub(super) fn peers(prefix: &Path, source: &str) -> Result<Vec<Library>, String> {
    let prepared = PEERS.iter().map(|peer| {
        peer.fetch()?;
        let name = Path::new(source).file_stem().unwrap_or_default();
        let program = peer.prefix().join(name);
        peer.compile(&prefix.join("bin/mpicc"), source, &program)?;
        Ok(Library {
            name: peer.name.to_owned(),
            launcher: peer.launcher(false),
            folder: peer.library_folder(),
            program,
        })
    });
    prepared.collect()
}

impl Library {
    /// The same, started with further flags of the launcher.
    pub(super) fn with_flags(mut self, flags: &[&str]) -> Self {
        self.launcher
            .extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    /// Runs a job and gives the costs of the functions `counted_...` of its rank 0.
    pub(super) fn run(&self, job: &Job<'_>) -> Result<Costs, String> {
        let file = self.program.with_extension("callgrind");
        let mut command = shell::command(&self.launcher[0]);
        // Symbols bound at their first call would be counted.
        command
            .env("LD_LIBRARY_PATH", &self.folder)
            .env("LD_BIND_NOW", "1")
            .envs(job.setting);
        command.args(&self.launcher[1..]);
        command.args(["-n", "1", "valgrind"]);
        command.args(account::callgrind::arguments(&file));
        command.arg(&self.program).args(job.arguments);
        if job.ranks > 1 {
            command.args([":", "-n", &(job.ranks - 1).to_string()]);
            command.arg(&self.program).args(job.arguments);
        }
        let output = shell::output(&mut command)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the counted program failed:\n{text}"));
        }
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Costs::parse(&text)
    }
}
