// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source files, and their code without comments and tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell;

/// All Rust files of the project, sorted.
pub(super) fn sources() -> Vec<PathBuf> {
    let root = shell::root();
    let mut found: Vec<PathBuf> = ["crates", "examples", "xtask"]
        .into_iter()
        .flat_map(|folder| rust_files(&root.join(folder)))
        .collect();
    found.sort();
    found
}

/// The Rust files below a folder.
pub(super) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    files_of(folder, &["rs"])
}

/// The files below a folder whose names end so.
pub(crate) fn files_of(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_of(&path, endings));
        } else if path
            .extension()
            .is_some_and(|ending| endings.iter().any(|one| ending == *one))
        {
            found.push(path);
        }
    }
    found
}

/// The code of a file without comments and without what stands under `#[cfg(test)]`; the lines keep their numbers.
///
/// The source is formatted, so an item that opens a brace ends at the next line that closes one at its depth.
pub(super) fn shipped(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim() == "#[cfg(test)]" {
            code.push('\n');
            let end = format!("{indent}}}");
            for line in lines.by_ref() {
                code.push('\n');
                let bare = line.trim_end();
                if bare == end || (bare.ends_with(';') && !bare[indent.len()..].starts_with(' ')) {
                    break;
                }
            }
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or(""));
        code.push('\n');
    }
    code
}

/// Number of models in the source: closures that `loom` runs in every order.
pub(crate) fn count_models() -> Result<usize, String> {
    let mut count = 0;
    for path in sources()
        .iter()
        .filter(|path| !shown(path).starts_with("xtask/"))
    {
        count += read(path)?.matches("loom::model(").count();
    }
    Ok(count)
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) fn shown(path: &Path) -> String {
    let path = path.strip_prefix(shell::root()).unwrap_or(path);
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_after_tests_is_seen_and_tests_are_not() {
        let text = "use a;\n#[cfg(test)]\nmod tests;\nuse b; // c\nimpl X {\n    #[cfg(test)]\n    fn d() {\n        e();\n    }\n    \
                    fn f() {}\n}\n#[cfg(test)]\nmod more {\n    use g;\n}\nuse h;\n";
        let code = super::shipped(text);
        assert_eq!(code.lines().count(), text.lines().count());
        let seen: Vec<char> = "abcdefgh"
            .chars()
            .filter(|&name| {
                let words = code.split(|letter: char| !letter.is_alphanumeric());
                words.into_iter().any(|word| word == name.to_string())
            })
            .collect();
        assert_eq!(seen, ['a', 'b', 'f', 'h']);
    }
}
