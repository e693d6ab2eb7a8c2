// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of `-configfile` and `--app`: a program of the job in each line.

use std::ffi::{OsStr, OsString};

use crate::LaunchError;

/// The words of each line of a file that has any. `#` begins a comment, a backslash at the end of a line joins the next one
/// to it, and quotes keep spaces in a word.
///
/// # Errors
/// When the file cannot be read, names no program, or a quote has no end.
pub(crate) fn read(file: &OsStr) -> Result<Vec<Vec<OsString>>, LaunchError> {
    let text = sys::files::read_text(file)
        .map_err(|error| LaunchError::usage(format!("cannot read {}: {error}", file.display())))?;
    let mut lines = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        let words = words(line).ok_or_else(|| {
            LaunchError::usage(format!(
                "{}: a quote has no end in: {}",
                file.display(),
                line.trim()
            ))
        })?;
        if !words.is_empty() {
            lines.push(words);
        }
    }
    if lines.is_empty() {
        let text = format!("{} names no program", file.display());
        return Err(LaunchError::usage(text));
    }
    Ok(lines)
}

/// `None` when a quote has no end.
fn words(line: &str) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, _) if letter.is_whitespace() => words.extend(word.take().map(OsString::from)),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.map(OsString::from));
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let cut = |line| words(line).unwrap();
        assert_eq!(cut("-n 2  ./a b#c # rest"), ["-n", "2", "./a", "b#c"]);
        assert_eq!(
            cut("sh -c 'echo \"x\" y' \"\""),
            ["sh", "-c", "echo \"x\" y", ""]
        );
        assert_eq!(cut("  # all"), Vec::<OsString>::new());
        assert_eq!(words("a 'b"), None);
    }
}
