// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be tested of GPUs without one: the kernels go through NVIDIA's assembler, which pip has, and messages from and to
//! device memory through a double of the driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cargo;
use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

const PACKAGE: &str = "nvidia-cuda-nvcc-cu12==12.9.86";
/// The assembler inside the package.
const ASSEMBLER: &str = "nvidia/cuda_nvcc/bin/ptxas";
/// Where the test looks for it.
const VARIABLE: &str = "RANKPOINT_PTXAS";

/// Assembles all kernels.
pub(super) fn assemble(_: Scope) -> Result<Found, String> {
    let folder = shell::target().join("ptxas");
    let assembler = folder.join(ASSEMBLER);
    if !assembler.exists() {
        if let Err(why) = tools::need(&[tools::PIP]) {
            return Ok(Found::Skipped(why));
        }
        let options = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
        ];
        let mut install = shell::command("python3");
        install.args(options).arg("--target").arg(&folder);
        if shell::run(install.arg(PACKAGE)).is_err() || !assembler.exists() {
            return Ok(Found::Skipped(format!("pip cannot install {PACKAGE}")));
        }
    }
    let arguments = ["test", "-p", "rankpoint-layout-cuda", "--test", "cuda"];
    let value = assembler.display().to_string();
    cargo::counted(
        &[&arguments[..], &["assemble"]].concat(),
        &[(VARIABLE, &value)],
        "ptx.log",
    )
}

/// How a program of `tests/gpu` is run.
struct Run {
    program: &'static str,
    ranks: &'static [&'static str],
    /// Flags of mpiexec.
    flags: &'static [&'static str],
    arguments: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
    /// Whether the layer for datatypes stands between, which packs what is in device memory itself.
    layered: bool,
    /// Whether it needs the double, whose calls it counts or whose errors it causes.
    needs_double: bool,
}

const PLAIN: Run = Run {
    program: "",
    ranks: &[],
    flags: &[],
    arguments: &["early"],
    settings: &[],
    layered: false,
    needs_double: false,
};

/// The driver comes after MPI_Init; on a node without the device's file that needs a setting.
const LATE: &[&str] = &["late"];
const EVERY_NODE: (&str, &str) = ("RANKPOINT_GPU", "3");

const BUFFERS: Run = Run {
    program: "buffers",
    ranks: &["1", "2", "3"],
    ..PLAIN
};
const RMA: Run = Run {
    program: "rma",
    ranks: &["1", "2", "4"],
    ..PLAIN
};
const COLLECTIVES: Run = Run {
    program: "collectives",
    ranks: &["1", "2", "3", "4"],
    ..PLAIN
};
const KINDS: Run = Run {
    program: "kinds",
    ranks: &["2"],
    arguments: &["mpi,system", "gpu"],
    settings: &[EVERY_NODE],
    ..PLAIN
};

const RUNS: &[Run] = &[
    BUFFERS,
    Run {
        layered: true,
        ..BUFFERS
    },
    Run {
        arguments: LATE,
        settings: &[EVERY_NODE],
        ..BUFFERS
    },
    Run {
        arguments: LATE,
        settings: &[EVERY_NODE],
        layered: true,
        ..BUFFERS
    },
    Run {
        program: "partitioned",
        ranks: &["1", "2"],
        ..PLAIN
    },
    RMA,
    Run {
        settings: &[("RANKPOINT_RMA", "message")],
        ..RMA
    },
    Run {
        settings: &[("RANKPOINT_RMA", "attach")],
        ..RMA
    },
    Run {
        ranks: &["2"],
        arguments: LATE,
        settings: &[EVERY_NODE],
        ..RMA
    },
    Run {
        program: "windows",
        ranks: &["1", "3"],
        ..PLAIN
    },
    Run {
        program: "random",
        ranks: &["1", "3"],
        arguments: &["early", "4", "1"],
        ..PLAIN
    },
    COLLECTIVES,
    Run {
        ranks: &["3"],
        arguments: LATE,
        settings: &[EVERY_NODE, ("RANKPOINT_SHARED_COLLECTIVES", "0")],
        ..COLLECTIVES
    },
    Run {
        program: "files",
        ranks: &["1", "3"],
        ..PLAIN
    },
    KINDS,
    Run {
        flags: &["-memory-alloc-kinds", "rocm,system,mpi:alloc_mem"],
        arguments: &["system,mpi:alloc_mem", "gpu"],
        ..KINDS
    },
    Run {
        flags: &["-memory-alloc-kinds", "cuda:device"],
        arguments: &["cuda:device,mpi,system", "gpu"],
        ..KINDS
    },
    Run {
        flags: &["-memory-alloc-kinds", ""],
        arguments: &["", "gpu"],
        ..KINDS
    },
    Run {
        flags: &["-memory-alloc-kinds", "cuda,mpi"],
        arguments: &["mpi,system", "none"],
        settings: &[("RANKPOINT_GPU", "0")],
        ..KINDS
    },
    Run {
        program: "failures",
        ranks: &["1", "3"],
        settings: &[("RANKPOINT_CHECK", "gpu")],
        needs_double: true,
        ..PLAIN
    },
    Run {
        program: "counts",
        ranks: &["2", "3"],
        flags: &["--stats"],
        settings: &[EVERY_NODE],
        needs_double: true,
        ..PLAIN
    },
];

/// All calls that take device memory, with the double in the driver's place.
pub(super) fn buffers(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let folder = double()?;
    let paths = [prefix.join("lib"), folder.clone()];
    let (passed, wrong) = run_all(&prefix, &folder, &paths, true)?;
    Found::runs(passed, wrong, "runs with device memory")
}

/// Builds the double of the driver: the folder with its library.
pub(super) fn double() -> Result<PathBuf, String> {
    shell::cargo(&[
        "build",
        "--quiet",
        "--release",
        "-p",
        "rankpoint-cuda-double",
    ])?;
    let folder = shell::target().join("gpu");
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(told)?;
    let double = shell::target().join("release/libcuda_double.so");
    fs::copy(double, folder.join("libcuda.so.1")).map_err(told)?;
    Ok(folder)
}

/// The same with the driver and the GPU of this node: how many runs passed, or why there is none to try.
pub(crate) fn in_this_machine(prefix: &Path) -> Result<Result<usize, String>, String> {
    let mut info = shell::command(prefix.join("bin/rankpoint"));
    let output = shell::output(info.arg("info"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("GPU"));
    if let Some((_, why)) = line.and_then(|line| line.split_once("not used: ")) {
        return Ok(Err(why.to_owned()));
    }
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Err(why));
    }
    let folder = shell::target().join("gpu");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (passed, wrong) = run_all(prefix, &folder, &[prefix.join("lib")], false)?;
    match wrong.is_empty() {
        true => Ok(Ok(passed)),
        false => Err(wrong.join("\n")),
    }
}

/// Runs all programs with libraries from some folders; gives how often they passed, and what they said otherwise.
fn run_all(
    prefix: &Path,
    folder: &Path,
    libraries: &[PathBuf],
    is_double: bool,
) -> Result<(usize, Vec<String>), String> {
    let mut compiled = Vec::new();
    let path = std::env::join_paths(libraries).map_err(|error| error.to_string())?;
    let (mut passed, mut wrong) = (0, Vec::new());
    for run in RUNS.iter().filter(|run| is_double || !run.needs_double) {
        let program = folder.join(run.program);
        if !compiled.contains(&run.program) {
            let source = format!("tests/gpu/{}.c", run.program);
            shell::compile(&prefix.join("bin/mpicc"), &source, &program)?;
            compiled.push(run.program);
        }
        for ranks in run.ranks {
            let mut job = job(prefix, &program, run, ranks);
            match outcome(job.env("LD_LIBRARY_PATH", &path))? {
                None => passed += 1,
                Some(said) => wrong.push(format!("{} on {ranks} ranks: {said}", run.describe())),
            }
        }
    }
    Ok((passed, wrong))
}

impl Run {
    fn describe(&self) -> String {
        let Self {
            program,
            flags,
            arguments,
            settings,
            layered,
            ..
        } = self;
        format!(
            "{program} {arguments:?}, flags {flags:?}, settings {settings:?}, layer for datatypes {layered}"
        )
    }
}

fn job(prefix: &Path, program: &Path, run: &Run, ranks: &str) -> Command {
    let mut job = shell::command(prefix.join("bin/mpiexec"));
    job.args(["-n", ranks, "--timeout", "120"])
        .args(run.flags)
        .arg(program)
        .args(run.arguments);
    job.envs(run.settings.iter().copied());
    if run.layered {
        let layers = prefix.join("lib/rankpoint/interpose/libmpi_abi.so.1");
        job.env("LD_PRELOAD", layers)
            .env("RANKPOINT_INTERPOSE", "datatypes")
            .env("RANKPOINT_INTERPOSE_PATH", "pack");
    }
    job
}

/// What a job said, if it did not pass.
fn outcome(job: &mut Command) -> Result<Option<String>, String> {
    let output = shell::output(job)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let different = said.lines().find_map(|line| differs(line, &errors));
    match different {
        None if output.status.success() && said.contains("PASS") => Ok(None),
        None => Ok(Some(format!("{}\n{said}{errors}", output.status))),
        Some(different) => Ok(Some(format!("{different}\n{said}{errors}"))),
    }
}

/// How a line `STAT counter value` of a program differs from the table of `mpiexec --stats`.
fn differs(line: &str, table: &str) -> Option<String> {
    let (counter, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
    let is_row = |row: &&str| row.split_whitespace().next() == Some(counter);
    let row = table.lines().find(is_row);
    let all = row.and_then(|row| row.split_whitespace().last());
    (all != Some(value)).then(|| format!("{counter}: {all:?}, expected {value}"))
}
