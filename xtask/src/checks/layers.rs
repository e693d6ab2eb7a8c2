// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who uses whom: crates by `[workspace.metadata.layers]`, folders of a crate by `[workspace.metadata.folders.CRATE]`.

use serde_json::Value;

use super::{conclude, metadata, read, rust_files, shown};
use crate::shell;

/// Compares both plans with the code.
pub(crate) fn layers() -> Result<usize, String> {
    let metadata = metadata(&["--no-deps"])?;
    let mut wrong = Vec::new();
    let crates = compare_crates(&metadata, &mut wrong)?;
    let folders = compare_folders(&metadata, &mut wrong)?;
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
            let folder = inside
                .components()
                .next()
                .map(|part| part.as_os_str().to_string_lossy().into_owned());
            let folder = folder.unwrap_or_default();
            let is_test = inside.components().any(|part| part.as_os_str() == "tests");
            if folder == "lib" || folder == "testing" || is_test {
                continue;
            }
            count += 1;
            let Some(allowed) = plan.get(&folder).and_then(Value::as_array) else {
                wrong.push(format!("{folder} of {name} is not in the plan"));
                continue;
            };
            for used in used_modules(&read(&path)?) {
                let planned = plan.get(&used).is_some();
                if planned && used != folder && !allowed.iter().any(|name| *name == *used) {
                    wrong.push(format!("{}: {folder} may not use {used}", shown(&path)));
                }
            }
        }
    }
    Ok(count)
}

/// First parts of the `crate::` paths in a file, outside its tests.
fn used_modules(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
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
    #[test]
    fn paths_and_groups_of_paths_are_seen() {
        let text = "use crate::comm::Comm;\nuse crate::{vci, task::Task};\nfn f() { crate::op::x() }\n\
                    #[cfg(test)]\nuse crate::p2p;";
        assert_eq!(super::used_modules(text), ["comm", "op", "task", "vci"]);
    }
}
