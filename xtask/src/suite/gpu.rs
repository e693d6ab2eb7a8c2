// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be tested of GPUs without one: the kernels go through NVIDIA's assembler, which pip has, and messages from and to
//! device memory through a double of the driver.

use std::fs;
use std::path::{Path, PathBuf};

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

/// Numbers of ranks that exchange device memory.
const RANKS: &[&str] = &["1", "2", "3"];
/// When they load the driver, as the program's argument, and the setting with which the library expects it then.
const LOADED: &[(&str, &str)] = &[("early", "1"), ("late", "3")];

/// Whether the layer for datatypes stands between, which packs what is in device memory itself.
const LAYERED: &[bool] = &[false, true];

/// Messages from and to device memory, with the double in the driver's place.
pub(super) fn buffers(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let folder = double()?;
    let paths = [prefix.join("lib"), folder.clone()];
    let (passed, wrong) = exchange(&prefix, &folder, &paths)?;
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
    let (passed, wrong) = exchange(prefix, &folder, &[prefix.join("lib")])?;
    match wrong.is_empty() {
        true => Ok(Ok(passed)),
        false => Err(wrong.join("\n")),
    }
}

/// Runs the program with libraries from some folders; gives how often it passed, and what it said otherwise.
fn exchange(
    prefix: &Path,
    folder: &Path,
    libraries: &[PathBuf],
) -> Result<(usize, Vec<String>), String> {
    let program = folder.join("buffers");
    shell::compile(&prefix.join("bin/mpicc"), "tests/gpu/buffers.c", &program)?;
    let path = std::env::join_paths(libraries).map_err(|error| error.to_string())?;
    let (mut passed, mut wrong) = (0, Vec::new());
    let runs = RANKS
        .iter()
        .flat_map(|ranks| LOADED.iter().map(move |loaded| (ranks, loaded)));
    let runs = runs.flat_map(|run| LAYERED.iter().map(move |layered| (run, *layered)));
    for ((ranks, (when, setting)), layered) in runs {
        let mut job = shell::command(prefix.join("bin/mpiexec"));
        job.args(["-n", ranks, "--timeout", "120"])
            .arg(&program)
            .arg(when);
        job.env("RANKPOINT_GPU", setting);
        if layered {
            let layers = prefix.join("lib/rankpoint/interpose/libmpi_abi.so.1");
            job.env("LD_PRELOAD", layers)
                .env("RANKPOINT_INTERPOSE", "datatypes")
                .env("RANKPOINT_INTERPOSE_PATH", "pack");
        }
        let output = shell::output(job.env("LD_LIBRARY_PATH", &path))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && said.contains("PASS") {
            passed += 1;
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!(
                "buffers on {ranks} ranks, driver loaded {when}, layer for datatypes {layered}: {}\n{said}{errors}",
                output.status
            ));
        }
    }
    Ok((passed, wrong))
}
