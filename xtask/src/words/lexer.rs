// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes a file apart into words and says where each stands: in a name, a string literal, a comment or a document.

/// Where a word stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Scope {
    Names,
    Texts,
    Comments,
    Docs,
}

impl Scope {
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "names" => Some(Self::Names),
            "texts" => Some(Self::Texts),
            "comments" => Some(Self::Comments),
            "docs" => Some(Self::Docs),
            _ => None,
        }
    }
}

/// A word in lower case, and the name that it is part of.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) scope: Scope,
    /// Whether it is the first word of its name.
    pub(super) first: bool,
}

/// The words of a document.
pub(super) fn document(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (index, line) in text.lines().enumerate() {
        split(line, index + 1, Scope::Docs, &mut words);
    }
    words
}

/// The words of a program in Rust or C.
pub(super) fn program(text: &str) -> Vec<Word> {
    let letters: Vec<char> = text.chars().collect();
    let (mut words, mut part, mut line) = (Vec::new(), String::new(), 1);
    let mut at = 0;
    while at < letters.len() {
        let (scope, end) = part_at(&letters, at);
        if scope == Scope::Names {
            part.push(letters[at]);
            at += 1;
            continue;
        }
        line = take(&part, line, Scope::Names, &mut words);
        part.clear();
        let inside: String = letters[at..end].iter().collect();
        line = take(&inside, line, scope, &mut words);
        at = end;
    }
    take(&part, line, Scope::Names, &mut words);
    words
}

/// Adds the words of a part that begins in a line; gives the line after it.
fn take(part: &str, line: usize, scope: Scope, words: &mut Vec<Word>) -> usize {
    for (index, text) in part.split('\n').enumerate() {
        split(text, line + index, scope, words);
    }
    line + part.matches('\n').count()
}

/// What begins here, and where it ends.
fn part_at(letters: &[char], at: usize) -> (Scope, usize) {
    let next = letters.get(at + 1).copied();
    let find = |from: usize, wanted: &[char]| {
        (from..letters.len())
            .find(|&index| letters[index..].starts_with(wanted))
            .map_or(letters.len(), |index| index + wanted.len())
    };
    match (letters[at], next) {
        ('/', Some('/')) => {
            let ends = (at..letters.len()).find(|&index| letters[index] == '\n');
            (Scope::Comments, ends.unwrap_or(letters.len()))
        }
        ('/', Some('*')) => (Scope::Comments, find(at + 2, &['*', '/'])),
        ('"', _) => (Scope::Texts, end_of_text(letters, at + 1)),
        ('r', Some('"' | '#')) if !at.checked_sub(1).is_some_and(|at| is_word(letters[at])) => {
            let hashes = letters[at + 1..]
                .iter()
                .take_while(|&&letter| letter == '#')
                .count();
            if letters.get(at + 1 + hashes) != Some(&'"') {
                return (Scope::Names, at + 1);
            }
            let mut end = vec!['"'];
            end.extend(std::iter::repeat_n('#', hashes));
            (Scope::Texts, find(at + 2 + hashes, &end))
        }
        // A character; a lifetime has no quote behind it.
        ('\'', Some('\\')) => (Scope::Texts, find(at + 3, &['\''])),
        ('\'', Some(_)) if letters.get(at + 2) == Some(&'\'') => (Scope::Texts, at + 3),
        _ => (Scope::Names, at + 1),
    }
}

fn end_of_text(letters: &[char], mut at: usize) -> usize {
    while at < letters.len() && letters[at] != '"' {
        at += if letters[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(letters.len())
}

const fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Adds the words of a line: `RingSender`, `ring_sender` and `ring sender` are two each.
fn split(text: &str, line: usize, scope: Scope, words: &mut Vec<Word>) {
    for name in text.split(|letter: char| !is_word(letter)) {
        let letters: Vec<char> = name.chars().collect();
        let (mut word, mut first) = (String::new(), true);
        for (index, &letter) in letters.iter().enumerate() {
            let before = index.checked_sub(1).map(|index| letters[index]);
            let after = letters.get(index + 1);
            let begins = letter.is_ascii_uppercase()
                && (before.is_some_and(|before| before.is_ascii_lowercase())
                    || after.is_some_and(char::is_ascii_lowercase));
            if (begins || letter == '_') && !word.is_empty() {
                add(&mut word, name, line, scope, &mut first, words);
            }
            if letter != '_' {
                word.push(letter.to_ascii_lowercase());
            }
        }
        if !word.is_empty() {
            add(&mut word, name, line, scope, &mut first, words);
        }
    }
}

fn add(
    word: &mut String,
    name: &str,
    line: usize,
    scope: Scope,
    first: &mut bool,
    words: &mut Vec<Word>,
) {
    words.push(Word {
        text: std::mem::take(word),
        name: name.to_owned(),
        line,
        scope,
        first: std::mem::take(first),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, scope: Scope) -> Vec<String> {
        let words = program(text).into_iter();
        let words = words.filter(|word| word.scope == scope);
        words
            .map(|word| format!("{}:{}", word.line, word.text))
            .collect()
    }

    #[test]
    fn names_texts_and_comments_are_told_apart() {
        let text = "fn send_plain<'a>(x: RingSender) { // a look\n  f(\"two \\\" words\", 'c', r#\"raw \"it\"#); }\n/* in\nC */ int y;";
        let names = [
            "1:fn", "1:send", "1:plain", "1:a", "1:x", "1:ring", "1:sender", "2:f", "4:int", "4:y",
        ];
        assert_eq!(of(text, Scope::Names), names);
        assert_eq!(
            of(text, Scope::Texts),
            ["2:two", "2:words", "2:c", "2:r", "2:raw", "2:it"]
        );
        assert_eq!(of(text, Scope::Comments), ["1:a", "1:look", "3:in", "4:c"]);
    }

    #[test]
    fn documents_are_words() {
        let words = document("# The VCI\nMPI_COMM_WORLD, `takeTurns`");
        let found: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(
            found,
            ["the", "vci", "mpi", "comm", "world", "take", "turns"]
        );
        assert_eq!(words[4].name, "MPI_COMM_WORLD");
    }
}
