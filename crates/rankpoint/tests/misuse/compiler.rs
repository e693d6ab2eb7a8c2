// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs, and the compiler that must refuse them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of a body, with or without what must not compile, and the codes of its errors. `init` is the function that makes its universe.
pub(super) fn program<'a>(init: &str, body: &'a str, with_misuse: bool) -> (String, Vec<&'a str>) {
    let mut codes = Vec::new();
    let mut lines = Vec::new();
    for line in body.lines() {
        match line.split_once("//~ ") {
            Some((code, errors)) => {
                codes.extend(errors.split(' '));
                lines.extend(with_misuse.then_some(code));
            }
            None => lines.push(line),
        }
    }
    let body = lines.join("\n");
    let text = format!(
        "fn main() -> rankpoint::Result<()> {{
             let universe = rankpoint::Universe::{init}()?;
             let world = universe.world();
             {body}
             Ok(())
         }}"
    );
    (text, codes)
}

/// Where a program is compiled.
pub(super) struct Compiler {
    libraries: PathBuf,
    folder: PathBuf,
    crate_file: PathBuf,
}

impl Compiler {
    /// A folder of this name for the programs of one test, which may run beside others, and the crate's own library among those of this build: the newest one that a correct
    /// program compiles with.
    pub(super) fn find(name: &str, init: &str) -> Self {
        let libraries = std::env::current_exe().unwrap();
        let libraries = libraries.parent().unwrap().to_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("misuse")
            .join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("librankpoint-") && name.ends_with(".rlib")
        };
        let entries = std::fs::read_dir(&libraries).unwrap().flatten();
        let mut candidates: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        candidates.retain(is_ours);
        candidates
            .sort_by_key(|path| std::cmp::Reverse(path.metadata().unwrap().modified().unwrap()));
        let (simple, _) = program(init, "world.barrier()?;", true);
        let mut seen = String::new();
        for crate_file in candidates {
            let compiler = Self {
                libraries: libraries.clone(),
                folder: folder.clone(),
                crate_file,
            };
            seen = compiler.compile(&simple);
            if seen.is_empty() {
                return compiler;
            }
        }
        panic!("no library to compile with:\n{seen}");
    }

    /// The compiler's message; empty when it accepts the program.
    pub(super) fn compile(&self, program: &str) -> String {
        let file = self.folder.join("program.rs");
        std::fs::write(&file, program).unwrap();
        let output = Command::new("rustc")
            .args([
                "--edition",
                "2024",
                "--emit",
                "metadata",
                "--cap-lints",
                "allow",
            ])
            .arg("-L")
            .arg(format!("dependency={}", self.libraries.display()))
            .arg("--extern")
            .arg(format!("rankpoint={}", self.crate_file.display()))
            .arg("--out-dir")
            .arg(&self.folder)
            .arg(&file)
            .output()
            .unwrap();
        if output.status.success() {
            return String::new();
        }
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}
