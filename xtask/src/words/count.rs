// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds terms among the words of a file.

use super::lexer::{self, Scope, Word};
use super::terms::{Pattern, Term};

/// A term in a line.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Hit {
    /// Index of the term.
    pub(super) term: usize,
    pub(super) line: usize,
}

/// The terms in a file, by their lines.
pub(super) fn hits(path: &str, text: &str, terms: &[Term]) -> Vec<Hit> {
    let is_document = path.ends_with(".md");
    let words = if is_document {
        lexer::document(text)
    } else {
        lexer::program(text)
    };
    let mut found = Vec::new();
    for scope in [Scope::Names, Scope::Texts, Scope::Comments, Scope::Docs] {
        let words: Vec<&Word> = words.iter().filter(|word| word.scope == scope).collect();
        for (index, term) in terms.iter().enumerate() {
            if term.scopes.contains(&scope) && term.counts_in(path) {
                let lines = (0..words.len()).filter(|&at| is_at(term, &words, at));
                found.extend(lines.map(|at| Hit {
                    term: index,
                    line: words[at].line,
                }));
            }
        }
    }
    found.sort_by_key(|hit| hit.line);
    found
}

/// Whether a term stands here, and no phrase that means something else.
fn is_at(term: &Term, words: &[&Word], at: usize) -> bool {
    let length = match &term.pattern {
        Pattern::Name(name) => return words[at].first && words[at].name == *name,
        Pattern::Words(parts) => {
            let here = |(index, part): (usize, &Vec<String>)| {
                follows(words, at, index).is_some_and(|word| part.contains(&word.text))
            };
            if !parts.iter().enumerate().all(here) {
                return false;
            }
            parts.len()
        }
    };
    let means_else = |phrase: &Vec<String>| {
        let starts = (at + length).saturating_sub(phrase.len())..=at;
        starts.into_iter().any(|start| {
            let here = |(index, part): (usize, &String)| {
                follows(words, start, index).is_some_and(|word| word.text == *part)
            };
            phrase.iter().enumerate().all(here)
        })
    };
    !term.but.iter().any(means_else)
}

/// The word so many after another one, if it stands in the same line or the next one.
fn follows<'a>(words: &[&'a Word], at: usize, index: usize) -> Option<&'a Word> {
    let word = words.get(at + index)?;
    (word.line <= words[at].line + 1).then_some(*word)
}

#[cfg(test)]
mod tests {
    use super::super::terms;
    use super::*;

    fn of(path: &str, text: &str) -> Vec<(String, usize)> {
        let terms = terms::all().expect("the list");
        let found = hits(path, text, &terms);
        found
            .iter()
            .map(|hit| (terms[hit.term].text.clone(), hit.line))
            .collect()
    }

    #[test]
    fn phrases_go_over_lines_and_names() {
        let found = of(
            "crates/cli/src/x.rs",
            "// what leaves the straight\n// line\nfn straight_line() {}\n",
        );
        let term = "straight line|lines".to_owned();
        assert_eq!(found, [(term.clone(), 1), (term, 3)]);
    }

    #[test]
    fn exceptions_and_other_meanings_do_not_count() {
        let path = "crates/engine/src/coll/x.rs";
        assert!(of(path, "let in_place = MPI_IN_PLACE; // state machine").is_empty());
        assert_eq!(of(path, "let place = 1; // a machine").len(), 2);
        assert_eq!(of(path, "const REQUEST: u8 = MPI_REQUEST;").len(), 1);
        assert!(of("CHANGELOG.md", "the straight line").is_empty());
    }
}
