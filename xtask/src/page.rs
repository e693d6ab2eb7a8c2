// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of pages that commands write, between marks.

use std::fs;

use crate::shell;

/// A page with another text between two marks; `None` when it lacks them.
pub(crate) fn replaced(page: &str, (begin, end): (&str, &str), text: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

/// Puts a text between two marks of a file, which is named from the root of the tree.
pub(crate) fn write(file: &str, marks: (&str, &str), text: &str) -> Result<(), String> {
    let page = shell::root().join(file);
    let told = |error: std::io::Error| format!("{file}: {error}");
    let old = fs::read_to_string(&page).map_err(told)?;
    let new = replaced(&old, marks, text);
    let new = new.ok_or_else(|| format!("{file} lacks the marks {}{}", marks.0, marks.1))?;
    fs::write(&page, new).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_marks_changes() {
        let marks = ("<begin>\n", "<end>");
        let page = "# Title\n<begin>\nold\n<end>\nrest\n";
        let new = replaced(page, marks, "new\n");
        assert_eq!(new.as_deref(), Some("# Title\n<begin>\nnew\n<end>\nrest\n"));
        assert_eq!(replaced("# Title\n", marks, "new"), None);
    }
}
