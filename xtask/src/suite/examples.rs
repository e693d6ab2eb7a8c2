// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C programs of docs/threads.md, docs/partitioned.md and docs/rma.md, whose blocks are parts of them.

use std::fs;
use std::path::{Path, PathBuf};

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

/// A folder of programs, and what each rank, or one of them, prints at the end.
struct Folder {
    path: &'static str,
    prints: &'static str,
    by_all: bool,
    /// Values of `RANKPOINT_RMA` with which each program runs.
    paths: &'static [&'static str],
}

const FOLDERS: [Folder; 2] = [
    Folder {
        path: "examples/threads",
        prints: ": 3 threads",
        by_all: true,
        paths: &[""],
    },
    Folder {
        path: "examples/rma",
        prints: ": verified",
        by_all: false,
        paths: &["", "attach", "message"],
    },
];
const RANKS: &[&str] = &["2", "1", "3"];
const THREADS: &str = "3";

/// All of them.
pub(super) fn of_pages(scope: Scope) -> Result<Found, String> {
    let (mut passed, mut wrong) = (0, Vec::new());
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    for folder in &FOLDERS {
        for (name, _) in sources(folder)? {
            let program = compile(&prefix, folder, &name)?;
            for ranks in scope.some(RANKS, 1) {
                for path in folder.paths {
                    match runs(&prefix, &program, folder, ranks, path) {
                        Ok(()) => passed += 1,
                        Err(why) => wrong.push(format!("{name} on {ranks} ranks: {why}")),
                    }
                }
            }
        }
    }
    Found::runs(passed, wrong, "runs of examples")
}

/// Names and texts of the programs.
fn sources(folder: &Folder) -> Result<Vec<(String, String)>, String> {
    let path = shell::root().join(folder.path);
    let told = |error: std::io::Error| format!("{}: {error}", folder.path);
    let files = fs::read_dir(&path).map_err(told)?.flatten();
    let named = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = named.filter(|name| name.ends_with(".c")).collect();
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(path.join(&name)).map_err(told)?;
        Ok((name, text))
    };
    names.into_iter().map(read).collect()
}

fn compile(prefix: &Path, folder: &Folder, name: &str) -> Result<PathBuf, String> {
    let program = shell::target().join(name.trim_end_matches(".c"));
    let mut compile = shell::command(prefix.join("bin/mpicc"));
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp"]);
    compile
        .arg(format!("{}/{name}", folder.path))
        .arg("-o")
        .arg(&program);
    shell::run(&mut compile)?;
    Ok(program)
}

fn runs(
    prefix: &Path,
    program: &Path,
    folder: &Folder,
    ranks: &str,
    path: &str,
) -> Result<(), String> {
    let mut job = shell::command(prefix.join("bin/mpiexec"));
    job.args(["-n", ranks, "--timeout", "60"]).arg(program);
    job.env("OMP_NUM_THREADS", THREADS)
        .env("RANKPOINT_RMA", path);
    let output = shell::output(&mut job)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = if folder.by_all { ranks } else { "1" };
    if output.status.success() && said.matches(folder.prints).count().to_string() == expected {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    Err(format!("RANKPOINT_RMA={path}: {status}\n{said}{errors}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages, and the least number of their blocks.
    const PAGES: [(&str, usize); 3] = [
        ("docs/threads.md", 2),
        ("docs/partitioned.md", 1),
        ("docs/rma.md", 1),
    ];

    /// The blocks of C of a page.
    fn c_blocks(page: &str) -> Vec<String> {
        let after = page.split("\n```c\n").skip(1);
        let blocks = after.filter_map(|rest| rest.split("\n```").next());
        blocks.map(|block| format!("{block}\n")).collect()
    }

    #[test]
    fn blocks_of_c_are_found_among_others() {
        let page = "a\n```c\nint x;\n\nint y;\n```\n```rust\nlet z;\n```\nb\n```c\nint w;\n```\n";
        assert_eq!(c_blocks(page), ["int x;\n\nint y;\n", "int w;\n"]);
    }

    #[test]
    fn every_block_of_the_pages_is_in_an_example() {
        let sources: Vec<_> = FOLDERS
            .iter()
            .flat_map(|folder| sources(folder).unwrap())
            .collect();
        for (page, least) in PAGES {
            let blocks = c_blocks(&fs::read_to_string(shell::root().join(page)).unwrap());
            assert!(blocks.len() >= least, "{page}");
            for block in blocks {
                let has = sources.iter().any(|(_, text)| text.contains(&block));
                assert!(has, "{block}");
            }
        }
    }
}
