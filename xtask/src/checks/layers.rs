// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who uses whom: crates by `[workspace.metadata.layers]`, folders of a crate by `[workspace.metadata.folders.CRATE]`.

use serde_json::Value;

use super::{conclude, metadata, read, rust_files, shipped, shown, trees};
use crate::shell;

/// Compares both plans with the code.
pub(crate) fn layers() -> Result<usize, String> {
    let metadata = metadata(&["--no-deps"])?;
    let mut wrong = Vec::new();
    let crates = compare_crates(&metadata, &mut wrong)?;
    let folders = compare_folders(&metadata, &mut wrong)?;
    trees::compare_trees(&metadata, &mut wrong)?;
    conclude(
        "layers",
        crates + folders,
        "crates and folders compared with the plan",
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

fn compare_folders(metadata: &Value, wrong: &mut Vec<String>) -> Result<usize, String> {
    let plans = metadata["metadata"]["folders"].as_object();
    let plans = plans.ok_or("no [workspace.metadata.folders] in Cargo.toml")?;
    let mut count = 0;
    for (name, plan) in plans {
        let source = shell::root().join("crates").join(name).join("src");
        for path in rust_files(&source) {
            let inside = path
                .strip_prefix(&source)
                .unwrap_or(&path)
                .with_extension("");
            let parts: Vec<String> = inside
                .components()
                .map(|part| part.as_os_str().to_string_lossy().into_owned())
                .collect();
            let is_test = parts.iter().any(|part| part == "tests");
            if parts[0] == "lib" || parts[0] == "testing" || is_test {
                continue;
            }
            count += 1;
            let found = complaints(&parts, &read(&path)?, plan);
            wrong.extend(found.iter().map(|text| format!("{}: {text}", shown(&path))));
        }
    }
    Ok(count)
}

/// What the plan has against a file at a module path, such as `coll/check/groups` or `coll/mod`.
fn complaints(parts: &[String], text: &str, plan: &Value) -> Vec<String> {
    let folder = parts[0].as_str();
    let mut wrong = Vec::new();
    let code = shipped(text);
    match plan.get(folder).and_then(Value::as_array) {
        Some(allowed) => {
            for used in used_modules(&code) {
                let planned = plan.get(&used).is_some();
                if planned && used != folder && !allowed.iter().any(|name| *name == *used) {
                    wrong.push(format!("{folder} may not use {used}"));
                }
            }
        }
        None => wrong.push(format!("{folder} is not in the plan")),
    }
    let is_mod = parts.last().is_some_and(|last| last == "mod");
    let depth = parts.len() - usize::from(is_mod);
    if code.contains(&"super::".repeat(depth)) {
        wrong.push("leaves its folder by super::; say crate::".to_owned());
    }
    wrong
}

/// First parts of the `crate::` paths in code.
fn used_modules(code: &str) -> Vec<String> {
    let mut used = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let group = rest
            .strip_prefix('{')
            .and_then(|rest| rest.split_once("};"));
        let parts: Vec<&str> = match group {
            Some((group, _)) => group.split(',').map(str::trim).collect(),
            None => vec![rest],
        };
        for part in parts {
            let end = part.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            used.push(part[..end.unwrap_or(part.len())].to_owned());
        }
    }
    used.sort();
    used.dedup();
    used
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_and_groups_of_paths_are_seen() {
        let text =
            "use crate::comm::Comm;\nuse crate::{vci, task::Task};\nfn f() { crate::op::x() }\n";
        assert_eq!(used_modules(text), ["comm", "op", "task", "vci"]);
    }

    #[test]
    fn folders_that_use_more_than_planned_are_named() {
        let plan = json!({ "coll": ["p2p"], "p2p": [], "vci": [] });
        let of = |path: &str, text: &str| -> Vec<String> {
            let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
            complaints(&parts, text, &plan)
        };
        let none: [String; 0] = [];
        assert_eq!(
            of("coll/bcast", "use crate::p2p::send;\nuse super::ring;"),
            none
        );
        assert_eq!(
            of(
                "coll/bcast",
                "// crate::vci\n#[cfg(test)]\nuse crate::vci;\n"
            ),
            none
        );
        let upwards = "#[cfg(test)]\nmod tests;\nuse crate::coll::bcast;\n";
        assert_eq!(of("p2p/mod", upwards), ["p2p may not use coll"]);
        assert_eq!(of("new", ""), ["new is not in the plan"]);
        let leaves = ["leaves its folder by super::; say crate::"];
        assert_eq!(of("coll/mod", "use super::vci;"), leaves);
        assert_eq!(
            of("coll/check/groups", "use super::super::super::vci;"),
            leaves
        );
        assert_eq!(of("coll/check/groups", "use super::super::ring;"), none);
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
