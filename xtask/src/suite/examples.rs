// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C programs of docs/threads.md and docs/partitioned.md, whose blocks are parts of them.

use std::fs;
use std::path::Path;

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

const FOLDER: &str = "examples/threads";
const RANKS: &[&str] = &["2", "1", "3"];
const THREADS: &str = "3";

/// All of them.
pub(super) fn of_threads(scope: Scope) -> Result<Found, String> {
    let sources = sources()?;
    let (mut passed, mut wrong) = (0, Vec::new());
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    for (name, _) in &sources {
        for ranks in scope.some(RANKS, 1) {
            match runs(&prefix, name, ranks) {
                Ok(()) => passed += 1,
                Err(why) => wrong.push(why),
            }
        }
    }
    Found::runs(passed, wrong, "runs of examples with threads")
}

/// Names and texts of the programs.
fn sources() -> Result<Vec<(String, String)>, String> {
    let folder = shell::root().join(FOLDER);
    let told = |error: std::io::Error| format!("{FOLDER}: {error}");
    let files = fs::read_dir(&folder).map_err(told)?.flatten();
    let named = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = named.filter(|name| name.ends_with(".c")).collect();
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(folder.join(&name)).map_err(told)?;
        Ok((name, text))
    };
    names.into_iter().map(read).collect()
}

fn runs(prefix: &Path, name: &str, ranks: &str) -> Result<(), String> {
    let program = shell::target().join(name.trim_end_matches(".c"));
    let mut compile = shell::command(prefix.join("bin/mpicc"));
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp"]);
    compile
        .arg(format!("{FOLDER}/{name}"))
        .arg("-o")
        .arg(&program);
    shell::run(&mut compile)?;
    let mut job = shell::command(prefix.join("bin/mpiexec"));
    job.args(["-n", ranks, "--timeout", "60"]).arg(&program);
    let output = shell::output(job.env("OMP_NUM_THREADS", THREADS))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = said.matches(&format!(": {THREADS} threads")).count();
    if output.status.success() && expected.to_string() == ranks {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    Err(format!("{name} on {ranks} ranks: {status}\n{said}{errors}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages, and the least number of their blocks.
    const PAGES: [(&str, usize); 2] = [("docs/threads.md", 2), ("docs/partitioned.md", 1)];

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
        let sources = sources().unwrap();
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
