// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVIDIA's assembler takes the text.

use std::path::PathBuf;
use std::process::Command;

use layout_cuda::{KernelName, module_text};

/// Where `cargo xtask test` puts the assembler; else it may be on the path.
const FOLDER: &str = "RANKPOINT_PTXAS";

#[expect(clippy::disallowed_methods, reason = "tests have no settings")]
fn assembler() -> Option<PathBuf> {
    let told = std::env::var_os(FOLDER).map(PathBuf::from);
    let found = told.unwrap_or_else(|| PathBuf::from("ptxas"));
    let answer = Command::new(&found).arg("--version").output().ok()?;
    answer.status.success().then_some(found)
}

#[test]
fn nvidias_assembler_takes_the_kernels() {
    let Some(assembler) = assembler() else {
        println!(
            "SKIPPED: no ptxas; pip install nvidia-cuda-nvcc-cu12 has one, {FOLDER} tells where"
        );
        return;
    };
    let folder = std::env::temp_dir().join(format!("rankpoint-ptx-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for files");
    let source = folder.join("kernels.ptx");
    std::fs::write(&source, module_text()).expect("a file");
    for target in ["sm_70", "sm_80", "sm_90", "sm_100"] {
        let object = folder.join("kernels.cubin");
        let mut command = Command::new(&assembler);
        command
            .args(["-v", "-arch", target, "-o"])
            .arg(&object)
            .arg(&source);
        let output = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{target}: {said}");
        assert_eq!(
            said.matches("Function properties").count(),
            KernelName::all().count()
        );
        // Spilled registers would be slow, and local memory a sign of something not understood.
        assert!(
            !said.contains("error")
                && said.matches(" 0 bytes spill stores").count() == KernelName::all().count(),
            "{said}"
        );
        println!(
            "{target}: {} bytes",
            std::fs::metadata(&object).expect("a file").len()
        );
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}
