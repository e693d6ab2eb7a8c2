// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names in comments: what stands in backticks exists.

use std::collections::HashSet;

use super::{conclude, files_of, read, shown, sources};
use crate::shell;

/// Names of other projects, one in a line.
const OUTSIDE: &str = "xtask/src/checks/names-outside.txt";
/// Files whose words count as names of the project, beside those of Rust code.
const OTHERS: &[&str] = &[
    "c", "cmake", "cu", "f90", "h", "py", "sh", "toml", "tsv", "txt",
];
const FOLDERS: [&str; 4] = ["crates", "examples", "tests", "xtask"];

/// Each name in backticks in a comment of Rust code occurs in code, or is listed as one of another project.
pub(crate) fn names() -> Result<usize, String> {
    let mut known = HashSet::new();
    let mut named = Vec::new();
    for path in sources() {
        let (text, path) = (read(&path)?, shown(&path));
        known.extend(path.split(['/', '.']).map(str::to_owned));
        for (line, number) in text.lines().zip(1..) {
            let (code, comment) = split(line);
            known.extend(words(code).map(str::to_owned));
            let names = quoted(comment).filter_map(last_part);
            named.extend(names.map(|name| (format!("{path}:{number}"), name.to_owned())));
        }
    }
    let outside = read(&shell::root().join(OUTSIDE))?;
    let mut unused: HashSet<&str> = outside.lines().filter(|line| !line.is_empty()).collect();
    for folder in FOLDERS.map(|folder| shell::root().join(folder)) {
        for path in files_of(&folder, OTHERS) {
            // A list does not make its names known.
            if !path.ends_with(OUTSIDE) {
                let text =
                    String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
                known.extend(words(&text).map(str::to_owned));
            }
        }
    }
    let mut wrong = Vec::new();
    for (place, name) in &named {
        if !known.contains(name) && !unused.remove(name.as_str()) && !is_listed(&outside, name) {
            wrong.push(format!("{place} names `{name}`, which is in no code"));
        }
    }
    wrong.extend(unused.iter().map(|name| {
        format!("{OUTSIDE} lists {name}, which no comment names, or which is in the code")
    }));
    wrong.sort();
    conclude("names", named.len(), "names in comments", &wrong)
}

fn is_listed(outside: &str, name: &str) -> bool {
    outside.lines().any(|line| line == name)
}

/// The code and the comment of a line.
fn split(line: &str) -> (&str, &str) {
    // A link has the same two letters.
    let start = line
        .match_indices("//")
        .find(|&(at, _)| at == 0 || line.as_bytes()[at - 1].is_ascii_whitespace());
    start.map_or((line, ""), |(at, _)| line.split_at(at))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// What stands in backticks, unless these are the fence of an example.
fn quoted(comment: &str) -> impl Iterator<Item = &str> {
    let comment = if comment.contains("```") { "" } else { comment };
    comment.split('`').skip(1).step_by(2)
}

/// The last part of a path of names; `None` for other text.
fn last_part(text: &str) -> Option<&str> {
    let text = text
        .strip_suffix("()")
        .or(text.strip_suffix('!'))
        .unwrap_or(text);
    let is_name = |part: &str| {
        let mut letters = part.chars();
        let starts = letters
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        starts && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let last = text.rsplit("::").next()?;
    text.split("::").all(is_name).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_comments_and_code_in_code() {
        let line = "    let a = b(\"http://c\"); // as `d::e()`, `f!` and `g h` do";
        let (code, comment) = split(line);
        assert!(words(code).any(|word| word == "http"));
        assert!(!words(code).any(|word| word == "as"));
        let names: Vec<_> = quoted(comment).filter_map(last_part).collect();
        assert_eq!(names, ["e", "f"]);
    }
}
