// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packages that users of a crate get with its default features, compared with
//! `[workspace.metadata.default-tree-without]`.

use serde_json::Value;

use crate::shell;

/// Asks cargo for the tree of each crate in the plan and adds each package that must not be in it to `wrong`; returns
/// the number of crates.
pub(super) fn compare_trees(metadata: &Value, wrong: &mut Vec<String>) -> Result<usize, String> {
    let plan = metadata["metadata"]["default-tree-without"].as_object();
    let plan = plan.ok_or("no [workspace.metadata.default-tree-without] in Cargo.toml")?;
    for (name, refused) in plan {
        let refused: Vec<&str> = refused
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        wrong.extend(complaints(name, &tree(name)?, &refused));
    }
    Ok(plan.len())
}

/// The packages that a user of a crate builds, one a line.
fn tree(name: &str) -> Result<String, String> {
    let arguments = ["tree", "-p", name, "-e", "normal", "--prefix", "none"];
    let output = shell::output(shell::command(env!("CARGO")).args(arguments))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| format!("cargo tree: {error}"))
}

/// Refused packages in a tree, whose lines begin with a package's name.
fn complaints(name: &str, tree: &str, refused: &[&str]) -> Vec<String> {
    let first_word = |line: &str| line.split(' ').next().unwrap_or("").to_owned();
    let found: Vec<String> = tree.lines().map(first_word).collect();
    if !found.iter().any(|package| package == name) {
        return vec![format!("{name}: cargo tree does not name the crate itself")];
    }
    refused
        .iter()
        .filter(|package| found.iter().any(|one| one == *package))
        .map(|package| {
            format!("{name} brings {package} into the tree of every user: put it behind a feature")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_come_back_are_named() {
        let tree = "rankpoint v0.1.0 (/x)\nrankpoint-engine v0.1.0 (/x)\nlibc v0.2.1\n";
        let none: [String; 0] = [];
        assert_eq!(complaints("rankpoint", tree, &["rankpoint-launch"]), none);
        let text = "rankpoint brings libc into the tree of every user: put it behind a feature";
        assert_eq!(complaints("rankpoint", tree, &["libc"]), [text]);
        assert_eq!(complaints("other", tree, &["libc"]).len(), 1);
    }
}
