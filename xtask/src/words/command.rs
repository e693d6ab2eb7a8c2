// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask words [PATH...] [--write]`: the terms in files, or the comparison of their counts with those of `left.tsv`.

use std::fs;
use std::path::PathBuf;

use super::count::hits;
use super::terms::{self, Term};
use crate::checks::{files_of, read, shown};
use crate::left::{Counts, Left, place};
use crate::shell;

const LEFT: Left = Left {
    path: "xtask/src/words/left.tsv",
    head: "Replaced terms that are left, by crate or folder: `cargo xtask words --write` makes this file, which only shrinks.",
};
const FOLDERS: &[&str] = &["crates", "docs", "examples", "tests", "xtask"];
const ENDINGS: &[&str] = &["rs", "c", "h", "md", "sh", "toml"];

/// `[PATH...] [--write]`.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|word| word == "--write") {
        return write();
    }
    if arguments.is_empty() {
        return check().map(drop);
    }
    let terms = terms::all()?;
    let mut count = 0;
    for argument in arguments {
        let path = std::path::absolute(argument).map_err(|error| error.to_string())?;
        let files = if path.is_dir() {
            files_of(&path, ENDINGS)
        } else {
            vec![path]
        };
        for path in files {
            let text = read(&path)?;
            for hit in hits(&shown(&path), &text, &terms) {
                let term = &terms[hit.term];
                let line = text.lines().nth(hit.line - 1).unwrap_or("").trim();
                shell::say(&format!(
                    "{}:{}: {} -> {}: {line}",
                    shown(&path),
                    hit.line,
                    term.text,
                    term.instead
                ));
                count += 1;
            }
        }
    }
    shell::say(&format!("{count} replaced terms"));
    Ok(())
}

/// No count is larger than `left.tsv` says. Gives the number of files.
pub(crate) fn check() -> Result<usize, String> {
    let terms = terms::all()?;
    let (files, found) = count(&terms)?;
    let (grown, fewer) = LEFT.compare(&found)?;
    let total: usize = found.values().sum();
    shell::say(&format!(
        "words: {files} files, {} terms, {total} left, {fewer} fewer than in {}",
        terms.len(),
        LEFT.path
    ));
    if grown.is_empty() {
        Ok(files)
    } else {
        Err(format!(
            "words: replaced terms (`cargo xtask words PATH` shows where, and what to write):\n  {}",
            grown.join("\n  ")
        ))
    }
}

fn write() -> Result<(), String> {
    LEFT.write(&count(&terms::all()?)?.1)
}

/// The number of files, and the counts.
fn count(terms: &[Term]) -> Result<(usize, Counts), String> {
    let root = shell::root();
    let mut files: Vec<PathBuf> = FOLDERS
        .iter()
        .flat_map(|folder| files_of(&root.join(folder), ENDINGS))
        .collect();
    let top = fs::read_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let top = top.flatten().map(|entry| entry.path());
    files.extend(top.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    let mut counts = Counts::new();
    for path in &files {
        let name = shown(path);
        for hit in hits(&name, &read(path)?, terms) {
            *counts
                .entry((place(&name), terms[hit.term].text.clone()))
                .or_default() += 1;
        }
    }
    Ok((files.len(), counts))
}
