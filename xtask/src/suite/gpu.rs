// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels for GPUs through NVIDIA's assembler, which pip has.

use super::{Found, cargo};
use crate::{shell, tools};

const PACKAGE: &str = "nvidia-cuda-nvcc-cu12==12.9.86";
/// The assembler inside the package.
const ASSEMBLER: &str = "nvidia/cuda_nvcc/bin/ptxas";
/// Where the test looks for it.
const VARIABLE: &str = "RANKPOINT_PTXAS";

/// Assembles all kernels.
pub(super) fn assemble() -> Result<Found, String> {
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
    let arguments = ["test", "-p", "rankpoint-layout", "--test", "cuda"];
    let value = assembler.display().to_string();
    cargo::counted(
        &[&arguments[..], &["assemble"]].concat(),
        Some((VARIABLE, &value)),
        "target/ptx.log",
    )
}
