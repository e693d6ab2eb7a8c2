// SPDX-License-Identifier: MIT OR Apache-2.0
//! Licences and versions of what we depend on, by `[workspace.metadata.deny]`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{conclude, metadata};

/// Every package has a licence from our list and, unless the plan names it, one version.
pub(crate) fn deny() -> Result<usize, String> {
    let platform = ["--filter-platform", "x86_64-unknown-linux-gnu"];
    let metadata = metadata(&[&["--locked", "--all-features"], &platform[..]].concat())?;
    let plan = &metadata["metadata"]["deny"];
    let licences = words(&plan["licences"]);
    let duplicates = words(&plan["duplicates"]);
    if licences.is_empty() {
        return Err("no licences in [workspace.metadata.deny]".to_owned());
    }
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    for package in packages {
        let field = |name: &str| package[name].as_str().unwrap_or("");
        let (name, version, licence) = (field("name"), field("version"), field("license"));
        versions.entry(name).or_default().push(version);
        if !allowed(licence, &licences) {
            wrong.push(format!("{name} {version} has the licence '{licence}'"));
        }
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        if !duplicates.contains(name) {
            wrong.push(format!(
                "{name} comes in several versions: {}",
                versions.join(", ")
            ));
        }
    }
    for name in duplicates {
        if versions.get(name).is_none_or(|versions| versions.len() < 2) {
            wrong.push(format!(
                "{name} has one version now: take it off the list of duplicates"
            ));
        }
    }
    conclude("deny", packages.len(), "packages", &wrong)
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether an SPDX expression can be met with the licences of the list: one of an OR, all of an AND.
fn allowed(expression: &str, licences: &[&str]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest, licences) && rest.is_empty()
}

fn either(words: &mut &[&str], licences: &[&str]) -> bool {
    let mut met = both(words, licences);
    while let Some(("OR", rest)) = words.split_first().map(|(word, rest)| (*word, rest)) {
        *words = rest;
        met |= both(words, licences);
    }
    met
}

fn both(words: &mut &[&str], licences: &[&str]) -> bool {
    let mut met = one(words, licences);
    while let Some(("AND", rest)) = words.split_first().map(|(word, rest)| (*word, rest)) {
        *words = rest;
        met &= one(words, licences);
    }
    met
}

fn one(words: &mut &[&str], licences: &[&str]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return false;
    };
    *words = rest;
    if *word == "(" {
        let met = either(words, licences);
        *words = words.split_first().map_or(*words, |(_, rest)| rest);
        return met;
    }
    // An exception only adds permissions.
    if let ["WITH", _, rest @ ..] = *words {
        *words = rest;
    }
    licences.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_spdx_says() {
        let ours = ["MIT", "Apache-2.0"];
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR MIT",
            "MIT AND Apache-2.0",
            "MIT/Apache-2.0",
            "(GPL-3.0 OR MIT) AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR X",
        ] {
            assert!(allowed(good, &ours), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR X) AND GPL-3.0",
            "MIT MIT",
        ] {
            assert!(!allowed(bad, &ours), "{bad}");
        }
    }
}
