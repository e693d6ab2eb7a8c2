// SPDX-License-Identifier: MIT OR Apache-2.0
//! Length of files.

use std::path::Path;

use super::{conclude, files_of, read, shown, sources};
use crate::shell;

/// A longer file says in its head why it is so long.
const LONG: usize = 800;
/// A longer file is two files.
const TOO_LONG: usize = 1000;
/// Lines in which the reason stands.
const HEAD: usize = 20;
const LICENCE: &str = "SPDX-License-Identifier: MIT OR Apache-2.0\n";
/// Folders with programs in C.
const C_FOLDERS: [&str; 3] = ["crates", "examples", "tests"];

/// Files over 1000 lines fail; those over 800 have a line `LONG: why` in the head.
pub(crate) fn lines() -> Result<usize, String> {
    let mut files = sources();
    for folder in C_FOLDERS.map(|folder| shell::root().join(folder)) {
        files.extend(files_of(&folder, &["c", "h"]));
    }
    let mut wrong = Vec::new();
    for path in &files {
        let text = read(path)?;
        let count = text.lines().count();
        let explained = text.lines().take(HEAD).any(|line| line.contains("LONG: "));
        if count > TOO_LONG || (count > LONG && !explained) {
            wrong.push(format!("{} has {count} lines", shown(path)));
        }
        if !begins_with_licence(path, &text) {
            wrong.push(format!("{} does not start with its licence", shown(path)));
        }
    }
    conclude("lines", files.len(), "files", &wrong)
}

fn begins_with_licence(path: &Path, text: &str) -> bool {
    let opening = if path.extension().is_some_and(|extension| extension == "rs") {
        "// "
    } else {
        "/* "
    };
    let rest = text.strip_prefix(opening);
    rest.is_some_and(|rest| rest.starts_with(LICENCE))
}
