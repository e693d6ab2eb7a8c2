// SPDX-License-Identifier: MIT OR Apache-2.0
//! Length of files.

use super::{conclude, read, shown, sources};

/// A longer file says in its head why it is so long.
const LONG: usize = 600;
/// A longer file is two files.
const TOO_LONG: usize = 1000;
/// Lines in which the reason stands.
const HEAD: usize = 20;

/// Files over 1000 lines fail; those over 600 have a line `LONG: why` in the head.
pub(crate) fn lines() -> Result<usize, String> {
    let files = sources();
    let mut wrong = Vec::new();
    for path in &files {
        let text = read(path)?;
        let count = text.lines().count();
        let explained = text.lines().take(HEAD).any(|line| line.contains("LONG: "));
        if count > TOO_LONG || (count > LONG && !explained) {
            wrong.push(format!("{} has {count} lines", shown(path)));
        }
        if !text.starts_with("// SPDX-License-Identifier: MIT OR Apache-2.0\n") {
            wrong.push(format!("{} does not start with its licence", shown(path)));
        }
    }
    conclude("lines", files.len(), "files", &wrong)
}
