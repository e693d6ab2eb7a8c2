// SPDX-License-Identifier: MIT OR Apache-2.0
//! What docs/mini-apps.md names to be copied is there.

use std::path::Path;

/// The words of a text that are set as code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_defined(text: &str, name: &str, is_c: bool) -> bool {
    let is_call = |line: &str| line.starts_with(' ') || line.starts_with('\t');
    if is_c {
        let function = format!("{name}(");
        let starts = |line: &str| line.contains(&function) && !is_call(line);
        return text.lines().any(starts);
    }
    ["fn", "struct", "enum"]
        .iter()
        .flat_map(|kind| ['<', '(', ' '].map(|next| format!("{kind} {name}{next}")))
        .any(|definition| text.contains(&definition))
}

#[test]
fn files_and_functions_to_copy_exist() {
    let page = include_str!("../../../docs/mini-apps.md");
    let (_, table) = page.split_once("## What to copy\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let apps = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = 0;
    for cell in rows.flat_map(|row| row.split('|').skip(2)) {
        let mut source = None;
        for word in code(cell) {
            if let Some((_, kind)) = word.rsplit_once('.') {
                let is_c = kind == "c";
                let folder = if is_c { "" } else { "src" };
                let text = std::fs::read_to_string(apps.join(folder).join(word));
                source = Some((word, is_c, text.unwrap()));
                continue;
            }
            let (file, is_c, text) = source.as_ref().unwrap();
            let name = word.rsplit("::").next().unwrap();
            assert!(is_defined(text, name, *is_c), "{file} has no {word}");
            found += 1;
        }
    }
    assert!(found > 30, "only {found} functions are named");
}
