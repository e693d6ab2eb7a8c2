// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test that links of the Markdown pages lead to files, and that files which the pages name exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell;

/// Folders whose files pages name from the root.
const FOLDERS: [&str; 4] = ["crates/", "docs/", "examples/", "xtask/"];

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
}

/// Targets of links, relative to the page's folder.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|it| it.split_once(')'));
    let targets = targets.map(|(target, _)| target.split('#').next().unwrap_or(""));
    targets.filter(|it| !it.is_empty() && !it.contains(['`', ' ', '<']) && !it.contains("://"))
}

/// Files named in backquotes, relative to the root.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.split('`').skip(1).step_by(2);
    let is_path = |it: &&str| {
        it.chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    };
    let is_ours = |it: &&str| FOLDERS.iter().any(|folder| it.starts_with(folder));
    spans.filter(is_path).filter(is_ours)
}

#[test]
fn links_and_names_of_files_in_pages_lead_somewhere() {
    let root = shell::root();
    let mut found = vec![];
    pages(&root.join("docs"), &mut found);
    found.extend(fs::read_dir(&root).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        path.extension()
            .is_some_and(|it| it == "md")
            .then_some(path)
    }));
    let (mut checked, mut broken) = (0, Vec::new());
    for page in &found {
        let text = fs::read_to_string(page).unwrap();
        let folder = page.parent().unwrap();
        let targets = links(&text).map(|it| (it, folder.join(it)));
        for (told, path) in targets.chain(names(&text).map(|it| (it, root.join(it)))) {
            checked += 1;
            if !path.exists() {
                broken.push(format!("{}: {told}", page.display()));
            }
        }
    }
    assert!(checked > 50, "{checked} links and names");
    assert!(broken.is_empty(), "{broken:#?}");
}
