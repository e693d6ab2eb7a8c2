// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which places of a crate may name the modules behind a seam: `[workspace.metadata.seam.CRATE]` has a row for each such module.

use std::path::Path;

use serde_json::Value;

use super::{read, rust_files, shipped, shown};
use crate::shell;

/// Compares the rows with the code; gives the number of names that stand where they may.
pub(super) fn compare_seams(metadata: &Value, wrong: &mut Vec<String>) -> Result<usize, String> {
    let plans = metadata["metadata"]["seam"].as_object();
    let plans = plans.ok_or("no [workspace.metadata.seam] in Cargo.toml")?;
    let mut allowed = 0;
    for (name, plan) in plans {
        let source = shell::root().join("crates").join(name).join("src");
        for path in rust_files(&source) {
            let inside = path.strip_prefix(&source).unwrap_or(&path);
            let code = shipped(&read(&path)?);
            let found = uses(&code, plan);
            for (line, module, places) in found {
                if places
                    .iter()
                    .any(|place| inside.starts_with(Path::new(place)))
                {
                    allowed += 1;
                } else {
                    let at = format!("{}:{line}", shown(&path));
                    wrong.push(format!("{at}: {module} may be named in {places:?} only"));
                }
            }
        }
    }
    Ok(allowed)
}

/// The lines that name a module of the plan, and where it may be named.
fn uses<'p>(code: &str, plan: &'p Value) -> Vec<(usize, &'p str, Vec<&'p str>)> {
    let mut found = Vec::new();
    for (module, places) in plan.as_object().into_iter().flatten() {
        let listed = places.as_array().into_iter().flatten();
        let places: Vec<&str> = listed.filter_map(Value::as_str).collect();
        for (index, line) in code.lines().enumerate() {
            if names(line, module) {
                found.push((index + 1, module.as_str(), places.clone()));
            }
        }
    }
    found
}

/// Whether a line names the path, as a whole word.
fn names(line: &str, module: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(module).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + module.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modules_are_found_by_whole_names() {
        let plan = json!({ "fabric::segment": ["comm"], "fabric::area": [] });
        let code = "use fabric::segment::Segment;\nuse fabric::segments;\nuse fabric::node;\nfn f(a: fabric::area::Row) {}\n";
        let mut found = uses(code, &plan);
        found.sort();
        assert_eq!(
            found,
            [
                (1, "fabric::segment", vec!["comm"]),
                (4, "fabric::area", vec![])
            ]
        );
    }
}
