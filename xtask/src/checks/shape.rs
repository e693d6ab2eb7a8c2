// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape of modules: `mod.rs` and `lib.rs` only declare, re-export and explain, and a module with a folder is `x/mod.rs`, with
//! no `x.rs` beside it.
//!
//! `shape-left.tsv` lists how many files of a crate are otherwise; the numbers may only shrink.

use std::path::Path;

use super::{read, rust_files, shipped, shown};
use crate::left::{Counts, Left, place};
use crate::shell;

const LEFT: Left = Left {
    path: "xtask/src/checks/shape-left.tsv",
    head: "Files that break the rules of modules, by crate: `cargo xtask shape --write` makes this file, which only shrinks.",
};
/// Lines of code besides declarations that a `mod.rs` or `lib.rs` may have.
const ALLOWANCE: usize = 12;
const BODIES: &str = "mod.rs or lib.rs with code";
const BESIDE: &str = "x.rs beside a folder x";

/// `[PATH...] [--write]`: the files below paths that break a rule, or the comparison with the table.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if arguments.is_empty() {
        return shape().map(drop);
    }
    let mut found = Counts::new();
    let mut tell = |path: &Path, kind: &str, lines: usize| {
        let name = shown(path);
        *found.entry((place(&name), kind.to_owned())).or_default() += 1;
        let wanted = |word: &String| word != "--write" && name.starts_with(word.as_str());
        if arguments.iter().any(wanted) {
            shell::say(&format!("{name}: {kind}, {lines} lines"));
        }
    };
    complaints(&mut tell)?;
    if arguments.iter().any(|word| word == "--write") {
        LEFT.write(&found)?;
    }
    Ok(())
}

/// No crate has more files that break a rule than the table says. Gives the number of files.
pub(crate) fn shape() -> Result<usize, String> {
    let mut found = Counts::new();
    let mut told = Vec::new();
    let files = complaints(&mut |path, kind, lines| {
        let place = place(&shown(path));
        told.push((
            place.clone(),
            format!("{}: {kind}, {lines} lines", shown(path)),
        ));
        *found.entry((place, kind.to_owned())).or_default() += 1;
    })?;
    let (grown, fewer) = LEFT.compare(&found)?;
    let total: usize = found.values().sum();
    shell::say(&format!(
        "shape: {files} files, {total} break the rules of modules, {fewer} fewer than in {}",
        LEFT.path
    ));
    if grown.is_empty() {
        return Ok(files);
    }
    let of_grown = |(place, text): &(String, String)| {
        let is_grown = grown.iter().any(|line| line.starts_with(place.as_str()));
        is_grown.then(|| text.clone())
    };
    let files: Vec<String> = told.iter().filter_map(of_grown).collect();
    Err(format!(
        "shape:\n  {}\n  {}",
        grown.join("\n  "),
        files.join("\n  ")
    ))
}

/// Tells each file that breaks a rule, which one, and its number of lines of code. Gives the number of files.
fn complaints(tell: &mut dyn FnMut(&Path, &str, usize)) -> Result<usize, String> {
    let root = shell::root();
    let mut paths: Vec<_> = rust_files(&root.join("crates"))
        .into_iter()
        .chain(rust_files(&root.join("xtask")))
        .filter(|path| shown(path).contains("src/"))
        .collect();
    paths.sort();
    for path in &paths {
        let name = path.file_name().unwrap_or_default();
        if name == "mod.rs" || name == "lib.rs" {
            let lines = lines_of_code(&shipped(&read(path)?));
            if lines > ALLOWANCE {
                tell(path, BODIES, lines);
            }
        } else if path.with_extension("").is_dir() {
            tell(path, BESIDE, lines_of_code(&shipped(&read(path)?)));
        }
    }
    Ok(paths.len())
}

/// Lines of code that are no declarations, re-exports or attributes. The source is formatted, so an item begins in the first column.
/// The entry points of procedural macros count as declarations, because only a root may have them.
fn lines_of_code(code: &str) -> usize {
    const DECLARATIONS: &[&str] = &["mod ", "use ", "extern crate "];
    let (mut count, mut declares, mut is_macro) = (0, false, false);
    for line in code.lines().filter(|line| !line.trim().is_empty()) {
        let is_first = !line.starts_with([' ', '}', ')', ']']);
        if is_first {
            let item = match line.strip_prefix("pub") {
                Some(rest) if rest.starts_with('(') => {
                    rest.split_once(") ").map_or(rest, |(_, item)| item)
                }
                Some(rest) => rest.trim_start(),
                None => line,
            };
            let is_declaration = DECLARATIONS.iter().any(|word| item.starts_with(word));
            // A module with a body is code.
            let has_body = item.starts_with("mod ") && !item.ends_with(';');
            let is_attribute = line.starts_with('#');
            declares = is_attribute || is_macro || (is_declaration && !has_body);
            is_macro = line.starts_with("#[proc_macro") || (is_attribute && is_macro);
        }
        count += usize::from(!declares);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::lines_of_code;

    #[test]
    fn declarations_and_attributes_are_no_code() {
        let text = "#![forbid(unsafe_code)]\n#[expect(\n    x,\n)]\nmod a;\npub(crate) mod b;\npub use a::{\n    B, C,\n};\nuse std::fmt;\n";
        assert_eq!(lines_of_code(text), 0);
    }

    #[test]
    fn entry_points_of_macros_are_declarations_and_their_neighbours_are_code() {
        let text = "#[proc_macro_derive(A)]\n#[doc(hidden)]\npub fn a() {\n    b()\n}\nfn c() {}\n";
        assert_eq!(lines_of_code(text), 1);
    }

    #[test]
    fn items_and_modules_with_bodies_are_code() {
        let text = "mod a;\npub fn f() {\n    g();\n}\nmod inner {\n    use x;\n}\nimpl A {}\nconst X: u8 = 1;\n";
        assert_eq!(lines_of_code(text), 8);
    }
}
