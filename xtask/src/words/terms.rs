// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of terms: `terms.tsv`.

use super::lexer::Scope;

/// A term, what to write instead, and where it counts.
pub(super) struct Term {
    /// As the list has it.
    pub(super) text: String,
    pub(super) instead: String,
    pub(super) pattern: Pattern,
    pub(super) scopes: Vec<Scope>,
    /// Folders that it counts in; none for all.
    folders: Vec<String>,
    /// Phrases in which its words mean something else.
    pub(super) but: Vec<Vec<String>>,
    /// Files and folders that may use it.
    except: Vec<String>,
}

pub(super) enum Pattern {
    /// One of some words after the other.
    Words(Vec<Vec<String>>),
    /// A whole name.
    Name(String),
}

/// Folders whose subject is the terms themselves.
const NOWHERE: &[&str] = &["xtask/src/words", "CHANGELOG.md"];

impl Term {
    /// Whether it counts in a file.
    pub(super) fn counts_in(&self, path: &str) -> bool {
        let below = |folder: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        (self.folders.is_empty() || self.folders.iter().any(|folder| below(folder)))
            && !self.except.iter().any(|folder| below(folder))
            && !NOWHERE.iter().any(|folder| below(folder))
    }
}

/// All terms.
pub(super) fn all() -> Result<Vec<Term>, String> {
    read(include_str!("terms.tsv"))
}

fn read(text: &str) -> Result<Vec<Term>, String> {
    let rows = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| term(row).ok_or_else(|| format!("terms.tsv: '{row}' is no row of 6 columns")))
        .collect()
}

fn term(row: &str) -> Option<Term> {
    let columns: Vec<&str> = row.split('\t').collect();
    let [text, instead, scopes, folders, but, except] = columns[..] else {
        return None;
    };
    let words = |phrase: &str| -> Vec<String> {
        phrase.split_whitespace().map(str::to_lowercase).collect()
    };
    let list = |text: &str, by: char| -> Vec<String> {
        let parts = text.split(by).filter(|part| *part != "-");
        parts.map(str::to_owned).collect()
    };
    let pattern = match text.strip_prefix('=') {
        Some(name) => Pattern::Name(name.to_owned()),
        None => Pattern::Words(
            text.split_whitespace()
                .map(|word| list(word, '|'))
                .collect(),
        ),
    };
    Some(Term {
        text: text.to_owned(),
        instead: instead.to_owned(),
        pattern,
        scopes: scopes
            .split(',')
            .map(Scope::of)
            .collect::<Option<Vec<Scope>>>()?,
        folders: list(folders, ','),
        but: list(but, ';').iter().map(|phrase| words(phrase)).collect(),
        except: list(except, ','),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_and_rows_have_six_columns() {
        assert!(all().is_ok_and(|terms| terms.len() > 20));
        assert!(read("a\tb\tnames\t-\t-").is_err());
        assert!(read("a\tb\tplaces\t-\t-\t-").is_err());
    }

    #[test]
    fn folders_and_exceptions_decide_where_a_term_counts() {
        let terms = read("a\tb\tnames\tcrates/x,docs\t-\tcrates/x/src/y\n").expect("a row");
        let counts = |path: &str| terms[0].counts_in(path);
        assert!(counts("crates/x/src/z.rs") && counts("docs/a.md"));
        assert!(!counts("crates/xy/z.rs") && !counts("crates/x/src/y/mod.rs"));
    }
}
