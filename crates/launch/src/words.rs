// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines cut into words as a shell does it.

use std::ffi::OsString;

use crate::LaunchError;

/// The words of a command that a flag or a variable of this name gives.
///
/// # Errors
/// When there is none, or a quote has no end.
pub(crate) fn of_command(name: &str, text: &str) -> Result<Vec<OsString>, LaunchError> {
    let found = words(text).filter(|words| !words.is_empty());
    found.ok_or_else(|| {
        LaunchError::usage(format!(
            "{name} wants a command such as 'ssh -p 2222', but got '{text}'"
        ))
    })
}

/// Quotes keep spaces in a word, `#` begins a comment; `None` when a quote has no end.
pub(crate) fn words(line: &str) -> Option<Vec<OsString>> {
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
