// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask bench [--peers] [--write] [NAME...] [options of rankpoint bench]`: measures this tree, and the peers beside it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::peers::PEERS;
use crate::{install, shell};

/// The page that `--write` brings up to date, between these marks.
const PAGE: &str = "docs/performance.md";
const PICTURE: &str = "docs/performance.svg";
const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->";

/// Options that peers are compared with unless the user gives them.
const COMPARED: &[(&str, &str)] = &[
    ("--rounds", "3"),
    ("--repetitions", "5"),
    ("--budget-ms", "10"),
    ("--minutes", "25"),
];

/// Options that are ours; `rankpoint bench` does not get them.
const OURS: [&str; 2] = ["--peers", "--write"];

/// Words that are no values of options are rows or groups of them: `--only` goes before each.
fn with_names(arguments: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let before = index
            .checked_sub(1)
            .map(|before| arguments[before].as_str());
        let is_value = before.is_some_and(|it| it.starts_with("--") && !OURS.contains(&it));
        if !word.starts_with('-') && !is_value {
            words.push("--only".to_owned());
        }
        words.push(word.clone());
    }
    words
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let prefix = install::into_target()?;
    let arguments = &with_names(arguments);
    let (ours, passed): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .partition(|word| OURS.contains(&word.as_str()));
    let has = |name: &str| ours.iter().any(|word| *word == name);
    let mut bench = shell::command(prefix.join("bin/rankpoint"));
    bench.arg("bench").args(&passed);
    let shown: String = arguments.iter().map(|word| format!(" {word}")).collect();
    bench.args(["--shown-as", &format!("cargo xtask bench{shown}")]);
    if has("--peers") {
        let file = describe_peers(&prefix)?;
        bench.arg("--peers").arg(file);
        for (name, value) in COMPARED {
            if !passed.iter().any(|word| word.starts_with(name)) {
                bench.args([name, value]);
            }
        }
    }
    let tables = shell::target().join("performance.md");
    if has("--write") {
        // Both are written after each job: an interrupted run leaves what it has there.
        shell::say(&format!("Tables go to {} as they come.", tables.display()));
        bench.arg("--markdown").arg(&tables);
        if !passed.iter().any(|word| word.starts_with("--json")) {
            bench.arg("--json").arg(tables.with_extension("json"));
        }
        // The picture shows what has sizes, which a choice of rows may not have.
        if !passed.iter().any(|word| word.starts_with("--only")) {
            bench.args(["--plot", PICTURE]);
        }
    }
    shell::run(&mut bench)?;
    if has("--write") {
        write_page(&tables)?;
    }
    Ok(())
}

/// Fetches the peers and writes the file that `rankpoint bench --peers` reads.
fn describe_peers(prefix: &Path) -> Result<std::path::PathBuf, String> {
    let ours = prefix.join("bin/mpicc");
    let targets: Result<Vec<Value>, String> = PEERS.iter().map(|peer| peer.target(&ours)).collect();
    let file = shell::target().join("peers/peers.json");
    let text = Value::from(targets?).to_string();
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

/// Replaces what stands between the marks of the page.
fn write_page(tables: &Path) -> Result<(), String> {
    let page = shell::root().join(PAGE);
    let told = |error: std::io::Error| format!("{PAGE}: {error}");
    let tables = fs::read_to_string(tables).map_err(told)?;
    let text = fs::read_to_string(&page).map_err(told)?;
    fs::write(&page, replaced(&text, &tables)?).map_err(told)?;
    shell::say(&format!("Wrote {PAGE} and {PICTURE}"));
    Ok(())
}

fn replaced(page: &str, tables: &str) -> Result<String, String> {
    let parts = page.split_once(BEGIN);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{PAGE} lacks its marks {BEGIN}{END}"))?;
    Ok(format!(
        "{before}{BEGIN}\n{}\n\n{END}{after}",
        tables.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_changes() {
        let page = format!("# Title\n{BEGIN}old\n{END}\nrest\n");
        let new = replaced(&page, "| new |\n").unwrap();
        assert_eq!(new, format!("# Title\n{BEGIN}\n| new |\n\n{END}\nrest\n"));
        assert_eq!(replaced(&new, "| new |\n").unwrap(), new);
        assert!(replaced("# Title\n", "x").is_err());
    }
}
