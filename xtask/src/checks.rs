// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the source: layers, file lengths, partners of memory orderings. Each says what it covered.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shell;

/// Compares each crate's dependencies on our crates with `[workspace.metadata.layers]`.
pub(crate) fn layers(_: &[String]) -> Result<(), String> {
    let output = shell::output(shell::command(env!("CARGO")).args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
    ]))?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let plan = metadata["metadata"]["layers"]
        .as_object()
        .ok_or("no [workspace.metadata.layers]")?;
    let mut wrong = Vec::new();
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    for package in packages {
        let name = package["name"].as_str().unwrap_or("");
        let Some(allowed) = plan.get(name).and_then(Value::as_array) else {
            wrong.push(format!("{name} is not in the plan"));
            continue;
        };
        let used = package["dependencies"].as_array().into_iter().flatten();
        for dependency in used.filter(|dependency| dependency["kind"] != "dev") {
            let other = dependency["name"].as_str().unwrap_or("");
            if plan.contains_key(other) && !allowed.iter().any(|name| name == other) {
                wrong.push(format!("{name} uses {other}"));
            }
        }
    }
    shell::say(&format!(
        "layers: {} crates compared with the plan",
        packages.len()
    ));
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("layers: {}", wrong.join("; ")))
    }
}

/// All Rust files of the project.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![shell::root().join("crates"), shell::root().join("xtask")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(shell::root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Files over 1000 lines fail; over 600 they must say why.
pub(crate) fn lines(_: &[String]) -> Result<(), String> {
    let (mut wrong, files) = (Vec::new(), sources());
    for path in &files {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let count = text.lines().count();
        if count > 1000 || (count > 600 && !text.contains("LONG: ")) {
            wrong.push(format!("{} has {count} lines", shown(path)));
        }
    }
    shell::say(&format!("lines: {} files", files.len()));
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("lines: {}", wrong.join("; ")))
    }
}

/// Every ordering stronger than Relaxed stands below a `PAIRS:` label; each label has a releasing and an acquiring side.
pub(crate) fn pairs(_: &[String]) -> Result<(), String> {
    const REACH: usize = 8;
    let mut labels: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    let (mut wrong, mut orderings) = (Vec::new(), 0);
    for path in sources().iter().filter(|path| {
        !path
            .components()
            .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "xtask")
    }) {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        let all: Vec<&str> = code.lines().collect();
        for (number, line) in all.iter().enumerate() {
            let strong = ["Acquire", "Release", "AcqRel", "SeqCst"]
                .into_iter()
                .find(|name| line.contains(&format!("Ordering::{name}")));
            let Some(strong) = strong else { continue };
            orderings += 1;
            let before = &all[number.saturating_sub(REACH)..number];
            let label = before
                .iter()
                .rev()
                .find_map(|line| line.split("PAIRS: ").nth(1));
            let Some(label) = label else {
                wrong.push(format!("{}:{} has no PAIRS label", shown(path), number + 1));
                continue;
            };
            let label = label
                .split([' ', '.'])
                .take(if label.contains('.') { 2 } else { 1 })
                .collect::<Vec<_>>()
                .join(".");
            let sides = labels.entry(label).or_default();
            sides.0 |= strong != "Acquire";
            sides.1 |= strong != "Release";
        }
    }
    wrong.extend(
        labels
            .iter()
            .filter(|(_, sides)| !(sides.0 && sides.1))
            .map(|(label, _)| format!("label {label} has one side only")),
    );
    shell::say(&format!(
        "pairs: {orderings} orderings, {} labels",
        labels.len()
    ));
    if orderings == 0 {
        wrong.push("no ordering found".to_owned());
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("pairs: {}", wrong.join("; ")))
    }
}
