// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who uses whom: crates by `[workspace.metadata.layers]`, modules of a crate by `[workspace.metadata.folders.CRATE]`. No crate
//! has a cycle among its modules.

use serde_json::Value;

use super::cycles;
use super::modules::Modules;
use super::{conclude, metadata, seam, trees};
use crate::shell;

/// Compares both plans with the code.
pub(crate) fn layers() -> Result<usize, String> {
    let metadata = metadata(&["--no-deps"])?;
    let mut wrong = Vec::new();
    let crates = compare_crates(&metadata, &mut wrong)?;
    let folders = compare_folders(&metadata, &mut wrong)?;
    trees::compare_trees(&metadata, &mut wrong)?;
    let seams = seam::compare_seams(&metadata, &mut wrong)?;
    conclude(
        "layers",
        crates + folders + seams,
        "crates, files and names of shared memory compared with the plan, and no cycle",
        &wrong,
    )
}

fn compare_crates(metadata: &Value, wrong: &mut Vec<String>) -> Result<usize, String> {
    let plan = metadata["metadata"]["layers"].as_object();
    let plan = plan.ok_or("no [workspace.metadata.layers] in Cargo.toml")?;
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
                wrong.push(format!("{name} may not use {other}"));
            }
        }
    }
    Ok(packages.len())
}

/// Looks for cycles in each crate of the plan, and compares who uses whom with its plan where it has one. Gives the number of files.
fn compare_folders(metadata: &Value, wrong: &mut Vec<String>) -> Result<usize, String> {
    let plans = metadata["metadata"]["folders"].as_object();
    let plans = plans.ok_or("no [workspace.metadata.folders] in Cargo.toml")?;
    let mut count = 0;
    for name in crates() {
        let modules = modules_of(&name)?;
        count += modules.files;
        for cycle in cycles::components(&modules) {
            let told = cycles::told(&modules, &cycle);
            wrong.push(format!("{name} has a cycle: {told}"));
        }
        if let Some(plan) = plans.get(&name) {
            wrong.extend(complaints(&name, &modules, plan));
        } else if modules.uses.len() > 1 && MUST_PLAN.contains(&name.as_str()) {
            wrong.push(format!("{name} has no [workspace.metadata.folders.{name}]"));
        }
    }
    Ok(count)
}

/// Crates whose modules have a plan.
const MUST_PLAN: &[&str] = &["abi", "algorithms", "engine", "fabric", "sys"];

/// Names of the crates' folders.
fn crates() -> Vec<String> {
    let entries = std::fs::read_dir(shell::root().join("crates"));
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("src/lib.rs").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn modules_of(name: &str) -> Result<Modules, String> {
    Modules::read(&shell::root().join("crates").join(name).join("src"))
}

/// `[--cycles [CRATE...]]` tells all cycles and who uses whom in them, `[--plan CRATE]` a plan as the code is.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let names = || match arguments.get(1..) {
        None | Some([]) => crates(),
        Some(names) => names.to_vec(),
    };
    match arguments.first().map(String::as_str) {
        None => layers().map(drop),
        Some("--cycles") => names().iter().try_for_each(|name| tell_cycles(name)),
        Some("--plan") => names().iter().try_for_each(|name| tell_plan(name)),
        Some(other) => Err(format!(
            "{other} is not understood: layers [--cycles [CRATE...]] [--plan [CRATE...]]"
        )),
    }
}

fn tell_cycles(name: &str) -> Result<(), String> {
    let modules = modules_of(name)?;
    let cycles = cycles::components(&modules);
    shell::say(&format!(
        "{name}: {} modules, {} groups of modules that reach each other",
        modules.uses.len(),
        cycles.len()
    ));
    for cycle in &cycles {
        let members: Vec<&str> = cycle.iter().map(String::as_str).collect();
        shell::say(&format!("  {}", members.join(" ")));
        let shortest = cycles::told(&modules, cycle);
        shell::say(&format!("    shortest cycle: {shortest}"));
        for text in cycles::uses_within(&modules, cycle) {
            shell::say(&format!("    {text}"));
        }
    }
    Ok(())
}

/// Prints a plan with the lowest modules first.
fn tell_plan(name: &str) -> Result<(), String> {
    let modules = modules_of(name)?;
    shell::say(&format!("[workspace.metadata.folders.{name}]"));
    let mut left: Vec<&String> = modules.uses.keys().collect();
    let mut told: Vec<&String> = Vec::new();
    while !left.is_empty() {
        let ready = left.iter().position(|node| {
            let mut used = modules.uses[*node].keys();
            used.all(|one| told.contains(&one))
        });
        let Some(index) = ready else {
            return Err(format!(
                "{name} has cycles: cargo xtask layers --cycles {name}"
            ));
        };
        let node = left.remove(index);
        let used: Vec<&String> = modules.uses[node].keys().collect();
        shell::say(&format!("{node} = {used:?}"));
        told.push(node);
    }
    Ok(())
}

/// What the plan has against the modules of a crate.
fn complaints(name: &str, modules: &Modules, plan: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for (module, uses) in &modules.uses {
        let Some(allowed) = plan.get(module).and_then(Value::as_array) else {
            wrong.push(format!("{name}: {module} is not in the plan"));
            continue;
        };
        for (used, sites) in uses {
            if !allowed.iter().any(|name| *name == *used) {
                wrong.push(format!("{}: {module} may not use {used}", sites[0]));
            }
        }
    }
    let planned = plan.as_object().into_iter().flatten();
    let gone = planned.filter(|(module, _)| !modules.uses.contains_key(*module));
    wrong.extend(gone.map(|(module, _)| format!("{name}: {module} is planned and not there")));
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modules_that_use_more_than_planned_are_named() {
        let plan = json!({ "coll": ["p2p"], "p2p": [], "gone": [] });
        let mut modules = Modules::default();
        for (from, to) in [("coll", "p2p"), ("p2p", "coll")] {
            let uses = modules.uses.entry(from.to_owned()).or_default();
            uses.insert(to.to_owned(), vec![format!("{from}.rs:7")]);
        }
        modules.uses.entry("new".to_owned()).or_default();
        let expected = [
            "x: new is not in the plan",
            "p2p.rs:7: p2p may not use coll",
            "x: gone is planned and not there",
        ];
        assert_eq!(complaints("x", &modules, &plan), expected);
    }

    #[test]
    fn crates_that_use_more_than_planned_are_named() {
        let uses = |dependency: &str, kind: Option<&str>| {
            let metadata = json!({
                "metadata": { "layers": { "engine": ["fabric"], "fabric": [] } },
                "packages": [
                    { "name": "engine", "dependencies": [] },
                    { "name": "fabric", "dependencies": [{ "name": dependency, "kind": kind }] },
                ],
            });
            let mut wrong = Vec::new();
            assert_eq!(compare_crates(&metadata, &mut wrong), Ok(2));
            wrong
        };
        assert_eq!(uses("engine", None), ["fabric may not use engine"]);
        assert_eq!(uses("engine", Some("build")), ["fabric may not use engine"]);
        assert!(uses("engine", Some("dev")).is_empty());
        assert!(uses("libc", None).is_empty());
    }
}
