// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the source of a crate: which of its top-level modules uses which, and where.
//!
//! A node is a folder or a file in `src`. Names that `lib.rs` re-exports lead to the module that they come from; what `lib.rs`
//! defines itself belongs to the node `lib`. Code under `#[cfg(test)]` and files that only tests have are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{read, rust_files, shipped, shown};

/// Where a module uses another one: file and line.
pub(super) type Site = String;

/// The modules of a crate, and what each one uses.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) uses: BTreeMap<String, BTreeMap<String, Vec<Site>>>,
    pub(super) files: usize,
}

/// A file of a crate: its module path, such as `coll/check/mod`, where it lies, and its code.
pub(super) struct File {
    pub(super) parts: Vec<String>,
    pub(super) shown: String,
    pub(super) code: String,
}

impl Modules {
    /// Reads the files below a crate's `src`.
    pub(super) fn read(source: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        let mut paths = rust_files(source);
        paths.sort();
        let mut raw = Vec::new();
        for path in paths {
            let inside = path
                .strip_prefix(source)
                .unwrap_or(&path)
                .with_extension("");
            let parts: Vec<String> = inside
                .components()
                .map(|part| part.as_os_str().to_string_lossy().into_owned())
                .collect();
            raw.push((parts, shown(&path), read(&path)?));
        }
        let tests: BTreeSet<Vec<String>> = raw
            .iter()
            .flat_map(|(parts, _, text)| test_modules(parts, text))
            .collect();
        for (parts, shown, text) in raw {
            let path = module_path(&parts);
            let is_test = (1..=path.len()).any(|length| tests.contains(&path[..length]));
            // Programs of the crate stand above its modules.
            if !is_test && parts[0] != "main" && parts[0] != "bin" {
                let code = without_texts(&shipped(&text));
                files.push(File { parts, shown, code });
            }
        }
        Ok(Self::of(&files))
    }

    /// Finds out who uses whom.
    pub(super) fn of(files: &[File]) -> Self {
        let mut uses: BTreeMap<String, BTreeMap<String, Vec<Site>>> = BTreeMap::new();
        for file in files {
            uses.entry(file.parts[0].clone()).or_default();
        }
        let mut names = BTreeMap::new();
        for file in files {
            names.extend(exported_macros(file));
        }
        if let Some(root) = files.iter().find(|file| file.parts == ["lib"]) {
            names.extend(re_exports(&root.code, &uses));
            // A root that only declares is no node.
            if !defines_items(&root.code) {
                uses.remove("lib");
            }
        }
        let nodes: BTreeSet<String> = uses.keys().cloned().collect();
        for file in files {
            for (name, line) in used_names(file) {
                let node = if nodes.contains(&name) && name != "lib" {
                    name
                } else {
                    names.get(&name).cloned().unwrap_or("lib".to_owned())
                };
                let own = &file.parts[0];
                if node != *own && nodes.contains(&node) && nodes.contains(own) {
                    let of = uses.entry(own.clone()).or_default();
                    let site = format!("{}:{line}", file.shown);
                    of.entry(node).or_default().push(site);
                }
            }
        }
        // What the root re-exports is no use of it.
        if let Some(root) = uses.get_mut("lib") {
            root.retain(|_, sites| !sites.is_empty());
        }
        Self {
            uses,
            files: files.len(),
        }
    }
}

/// The path of a file's module: that of `coll/check/mod` is `coll/check`.
fn module_path(parts: &[String]) -> Vec<String> {
    let is_root = parts
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    parts[..parts.len() - usize::from(is_root)].to_vec()
}

/// The modules that a file declares for tests only.
fn test_modules(parts: &[String], text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[cfg(") {
            let words: Vec<&str> = line
                .split(|letter: char| !letter.is_alphanumeric())
                .collect();
            let has_others = line.contains("not(test)") || line.contains("any(test");
            is_test |= words.contains(&"test") && !has_others;
            continue;
        }
        let declared = line.strip_suffix(';').and_then(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| *word == "mod")?;
            (at + 2 == words.len()).then(|| words[at + 1].to_owned())
        });
        if let (true, Some(name)) = (is_test, declared) {
            found.push([module_path(parts), vec![name]].concat());
        }
        is_test &= line.starts_with("#[") || line.starts_with("//");
    }
    found
}

/// The code with the insides of string literals blanked.
fn without_texts(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let (mut inside, mut escaped) = (false, false);
    let mut before = ' ';
    for letter in code.chars() {
        let quote = letter == '"' && !escaped && (inside || before != '\'');
        if quote {
            inside = !inside;
        }
        escaped = inside && letter == '\\' && !escaped;
        let keep = !inside || letter == '\n' || quote;
        out.push(if keep { letter } else { ' ' });
        before = letter;
    }
    out
}

/// Exported macros, which are named from the root, and the module of each.
fn exported_macros(file: &File) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let parts = file.code.split("#[macro_export]").skip(1);
    for part in parts {
        if let Some(rest) = part.split("macro_rules!").nth(1) {
            let name = rest.trim_start();
            let end = name.find(|letter: char| !is_word(letter));
            found.push((
                name[..end.unwrap_or(name.len())].to_owned(),
                file.parts[0].clone(),
            ));
        }
    }
    found
}

/// Names that the root re-exports, and the module of each.
fn re_exports(
    code: &str,
    nodes: &BTreeMap<String, BTreeMap<String, Vec<Site>>>,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for statement in code.split("use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or("");
        let path = statement
            .trim_start_matches("crate::")
            .trim_start_matches("self::");
        let end = path.find(|letter: char| !is_word(letter));
        let module = &path[..end.unwrap_or(path.len())];
        if !nodes.contains_key(module) {
            continue;
        }
        for part in path[module.len()..].split(['{', '}', ',']) {
            let name = part.rsplit("::").next().unwrap_or("");
            let name = name.rsplit(" as ").next().unwrap_or("").trim();
            if !name.is_empty() && name.chars().all(is_word) {
                found.push((name.to_owned(), module.to_owned()));
            }
        }
    }
    found
}

/// Whether a root has code of its own.
fn defines_items(code: &str) -> bool {
    let items = [
        "fn ", "struct ", "enum ", "trait ", "impl ", "impl<", "const ", "static ", "type ",
        "union ",
    ];
    code.lines().any(|line| {
        let line = line
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ");
        let line = line
            .trim_start_matches("unsafe ")
            .trim_start_matches("const fn ");
        items.iter().any(|item| line.starts_with(item))
    })
}

/// First names of paths from the crate's root, by `crate::` or by enough `super::`, and their lines.
fn used_names(file: &File) -> Vec<(String, usize)> {
    let depth = module_path(&file.parts).len();
    let code = &file.code;
    let mut found = Vec::new();
    let begins = |at: usize| !code[..at].ends_with(|letter| is_word(letter) || letter == ':');
    for (at, word) in code
        .match_indices("crate::")
        .filter(|(at, _)| begins(*at) && !code[..*at].ends_with("in "))
    {
        names_at(code, at + word.len(), &mut found);
    }
    for (at, _) in code
        .match_indices("super::")
        .filter(|(at, _)| begins(*at) && !code[..*at].ends_with("in "))
    {
        let rest = &code[at..];
        let mut levels = 0;
        while rest[levels * "super::".len()..].starts_with("super::") {
            levels += 1;
        }
        if levels >= depth.max(1) && file.parts[0] != "lib" {
            names_at(code, at + levels * "super::".len(), &mut found);
        }
    }
    found
}

/// The first names of a path or of a group of paths that begins here.
fn names_at(code: &str, at: usize, found: &mut Vec<(String, usize)>) {
    let mut name = |at: usize| {
        let rest = &code[at..];
        let end = rest.find(|letter: char| !is_word(letter));
        let name = &rest[..end.unwrap_or(rest.len())];
        if !name.is_empty() && name != "super" {
            let line = code[..at].matches('\n').count() + 1;
            found.push((name.to_owned(), line));
        }
    };
    if !code[at..].starts_with('{') {
        name(at);
        return;
    }
    let (mut depth, mut fresh) = (0, false);
    for (index, letter) in code[at..].char_indices() {
        match letter {
            '{' => {
                depth += 1;
                fresh = depth == 1;
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            ',' if depth == 1 => fresh = true,
            letter if fresh && is_word(letter) => {
                name(at + index);
                fresh = false;
            }
            _ => {}
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, code): &(&str, &str)| File {
            parts: path.split('/').map(str::to_owned).collect(),
            shown: (*path).to_owned(),
            code: (*code).to_owned(),
        };
        let modules = Modules::of(&files.iter().map(file).collect::<Vec<_>>());
        let edges = modules.uses.iter().flat_map(|(from, uses)| {
            let edges = uses.iter();
            edges.map(move |(to, sites)| format!("{from}>{to} {}", sites.join(" ")))
        });
        edges.collect()
    }

    #[test]
    fn paths_groups_and_re_exports_lead_to_modules() {
        let files = [
            (
                "lib",
                "mod a;\nmod b;\nmod c;\npub use c::{Deep, inner::Other as Name};\n",
            ),
            (
                "a",
                "use crate::{b::{c::d, E}, Name};\nfn f() { crate::c::g() }\npub(in crate::b) x;",
            ),
            ("b/mod", "use super::c;\nuse super::super::nothing;\n"),
            ("b/inner", "use super::c;\nuse super::super::Deep;\n"),
            ("c", "use crate::Unknown;"),
        ];
        let expected = ["a>b a:1", "a>c a:1 a:2", "b>c b/mod:1 b/inner:2"];
        assert_eq!(of(&files), expected);
    }

    #[test]
    fn a_root_with_items_is_a_node_and_exported_macros_belong_to_their_module() {
        let files = [
            (
                "lib",
                "pub struct Root;\nimpl Root { fn f() { crate::a::x() } }",
            ),
            ("a", "use crate::Root;\ncrate::table!();"),
            (
                "m",
                "#[macro_export]\nmacro_rules! table { () => { $crate::a::x } }",
            ),
        ];
        assert_eq!(
            of(&files),
            ["a>lib a:1", "a>m a:2", "lib>a lib:2", "m>a m:2"]
        );
    }

    #[test]
    fn modules_for_tests_are_seen_and_texts_are_blanked() {
        let parts = ["coll".to_owned(), "mod".to_owned()];
        let text = "#[cfg(all(test, loom))]\nmod models;\nmod a;\n#[cfg(not(test))]\nmod b;\n#[cfg(any(test, feature = \"lab\"))]\nmod c;\n#[cfg(test)]\nmod tests {\n";
        assert_eq!(test_modules(&parts, text), [["coll", "models"]]);
        assert_eq!(
            without_texts("a(\"x\\\" y\", '\"', \"z\")"),
            "a(\"     \", '\"', \" \")"
        );
    }
}
