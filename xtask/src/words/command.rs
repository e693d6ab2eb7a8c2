// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask words [PATH...] [--write]`: the terms in files, or the comparison of their counts with those of `left.tsv`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::count::hits;
use super::terms::{self, Term};
use crate::checks::{files_of, read, shown};
use crate::shell;

/// Counts by crate or folder, and term.
type Counts = BTreeMap<(String, String), usize>;

const LEFT: &str = "xtask/src/words/left.tsv";
const HEAD: &str = "# Replaced terms that are left, by crate or folder: `cargo xtask words --write` makes this file, \
                    which only shrinks.\n";
const FOLDERS: &[&str] = &["crates", "docs", "examples", "tests", "xtask"];
const ENDINGS: &[&str] = &["rs", "c", "h", "md"];

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
    let path = shell::root().join(LEFT);
    let left = parse(&read(&path)?)?;
    let (grown, fewer) = compare(&found, &left);
    let total: usize = found.values().sum();
    shell::say(&format!(
        "words: {files} files, {} terms, {total} left, {fewer} fewer than in {LEFT}",
        terms.len()
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

/// What has grown, and by how much the others shrank. What moves to a new crate may not grow in all.
fn compare(found: &Counts, left: &Counts) -> (Vec<String>, usize) {
    let (mut grown, mut fewer) = (Vec::new(), 0);
    let of_all = |counts: &Counts, term: &str| -> usize {
        let same = counts.iter().filter(|((_, other), _)| other == term);
        same.map(|(_, count)| count).sum()
    };
    for ((place, term), &count) in found {
        let most = left.get(&(place.clone(), term.clone()));
        let is_new = !left.keys().any(|(other, _)| other == place);
        if is_new && of_all(found, term) <= of_all(left, term) {
            continue;
        }
        if count > most.copied().unwrap_or(0) {
            let most = most.copied().unwrap_or(0);
            grown.push(format!("{place}: '{term}' {count} times, at most {most}"));
        }
    }
    for (key, most) in left {
        fewer += most.saturating_sub(found.get(key).copied().unwrap_or(0));
    }
    (grown, fewer)
}

fn write() -> Result<(), String> {
    let (_, found) = count(&terms::all()?)?;
    let mut text = HEAD.to_owned();
    for ((place, term), count) in &found {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{place}\t{term}\t{count}");
    }
    let path = shell::root().join(LEFT);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    let total: usize = found.values().sum();
    shell::say(&format!("{LEFT}: {total} left"));
    Ok(())
}

fn parse(text: &str) -> Result<Counts, String> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut columns = row.split('\t');
        let (place, term) = (columns.next()?, columns.next()?);
        let count = columns.next()?.parse().ok()?;
        Some(((place.to_owned(), term.to_owned()), count))
    })
    .collect::<Option<Counts>>()
    .ok_or_else(|| format!("{LEFT}: rows are a folder, a term and a number"))
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

/// The crate, the folder, or the page in the root that a file belongs to.
fn place(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    let parts = if parts[0] == "crates" {
        &parts[..2]
    } else {
        &parts[..1]
    };
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_shrink_and_move_to_new_crates() {
        let counts = |rows: &[(&str, usize)]| -> Counts {
            let rows = rows.iter();
            rows.map(|(place, count)| (((*place).to_owned(), "crowd".to_owned()), *count))
                .collect()
        };
        let left = counts(&[("crates/a", 3), ("crates/b", 2)]);
        let after = |rows| compare(&counts(rows), &left).0.len();
        assert_eq!(after(&[("crates/a", 3), ("crates/b", 1)]), 0);
        assert_eq!(after(&[("crates/a", 4), ("crates/b", 1)]), 1);
        assert_eq!(after(&[("crates/a", 1), ("crates/new", 4)]), 0);
        assert_eq!(after(&[("crates/a", 3), ("crates/new", 4)]), 1);
        assert_eq!(
            parse("# x\ncrates/a\tcrowd\t3\ncrates/b\tcrowd\t2\n"),
            Ok(left)
        );
    }
}
