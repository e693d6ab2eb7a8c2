// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a profile: every key is known, every value in its range, every error has its line.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, OPTIONAL, TABLES, TEXTS};
use crate::error::Error;

/// The values of a file.
pub(super) struct Values {
    texts: BTreeMap<&'static str, String>,
    numbers: BTreeMap<(&'static str, &'static str), f64>,
    tables: Vec<&'static str>,
}

struct File<'text> {
    name: &'text str,
    text: &'text str,
}

impl File<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn refused(
        &self,
        span: Option<Range<usize>>,
        key: String,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Error {
        Error::Key {
            file: self.name.to_owned(),
            line: span.map(|span| self.line(span)),
            key,
            found: found.into(),
            expected: expected.into(),
        }
    }

    fn value_text(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or("").trim()
    }
}

impl Values {
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Error> {
        let file = File { name, text };
        let table = DeTable::parse(text).map_err(|error| Error::Syntax {
            file: name.to_owned(),
            line: error.span().map_or(1, |span| file.line(span)),
            reason: error.message().to_owned(),
        })?;
        let mut values = Self {
            texts: BTreeMap::new(),
            numbers: BTreeMap::new(),
            tables: Vec::new(),
        };
        for (key, value) in table.get_ref() {
            let name = key.get_ref().as_ref();
            if let Some(&known) = TEXTS.iter().find(|&&known| known == name) {
                let DeValue::String(found) = value.get_ref() else {
                    let found = file.value_text(value.span());
                    return Err(file.refused(Some(value.span()), name.to_owned(), found, "a text"));
                };
                values.texts.insert(known, found.to_string());
            } else if let Some(&known) = TABLES.iter().find(|&&known| known == name) {
                values.tables.push(known);
                values.table(&file, known, value)?;
            } else {
                let all = [&TEXTS[..], &TABLES].concat().join(", ");
                let expected = format!("one of {all}");
                return Err(file.refused(Some(key.span()), name.to_owned(), "unknown", expected));
            }
        }
        values.complete(&file)?;
        Ok(values)
    }

    fn table(
        &mut self,
        file: &File<'_>,
        table: &'static str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Error> {
        let DeValue::Table(entries) = value.get_ref() else {
            let found = file.value_text(value.span());
            return Err(file.refused(Some(value.span()), table.to_owned(), found, "a table"));
        };
        for (key, value) in entries {
            let name = key.get_ref().as_ref();
            let path = format!("{table}.{name}");
            let mut keys = KEYS.iter().filter(|known| known.table == table);
            let Some(known) = keys.find(|known| known.name == name) else {
                let all = KEYS.iter().filter(|known| known.table == table);
                let all: Vec<&str> = all.map(|known| known.name).collect();
                let expected = format!("one of {}", all.join(", "));
                return Err(file.refused(Some(key.span()), path, "unknown", expected));
            };
            let number = match value.get_ref() {
                DeValue::Integer(_) | DeValue::Float(_) => {
                    file.value_text(value.span()).replace('_', "").parse().ok()
                }
                _ => None,
            };
            let fits = |number: &f64| {
                let is_whole = !known.is_whole || number.fract() == 0.0;
                is_whole && (known.least..=known.most).contains(number)
            };
            let Some(number) = number.filter(fits) else {
                let found = file.value_text(value.span());
                return Err(file.refused(Some(value.span()), path, found, known.expected()));
            };
            self.numbers.insert((known.table, known.name), number);
        }
        Ok(())
    }

    fn complete(&self, file: &File<'_>) -> Result<(), Error> {
        for text in TEXTS {
            if !self.texts.contains_key(text) {
                return Err(file.refused(None, text.to_owned(), "missing", "a text"));
            }
        }
        for key in KEYS.iter().filter(|key| key.table != OPTIONAL) {
            if self.has(key.table) && self.number(key.table, key.name).is_none() {
                let path = format!("{}.{}", key.table, key.name);
                return Err(file.refused(None, path, "missing", key.expected()));
            }
        }
        Ok(())
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains(&table)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.texts.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn number(&self, table: &'static str, name: &'static str) -> Option<f64> {
        self.numbers.get(&(table, name)).copied()
    }
}

#[cfg(test)]
mod tests {
    use crate::Profile;

    const GOOD: &str =
        "name = 'mine'\nabout = 'a NIC'\nsource = 'its manual'\n[limits]\ncontexts = 8\n";

    fn refused(text: &str) -> String {
        let read = Profile::read("mine.toml", text);
        read.expect_err(text).to_string()
    }

    #[test]
    fn shipped_profiles_are_right() {
        for name in Profile::shipped() {
            assert_eq!(Profile::named(name).expect("a profile").name, name);
        }
        let own = Profile::read("mine.toml", GOOD).expect("a profile");
        assert_eq!((own.limits.contexts, own.limits.uars), (Some(8), None));
        let error = own.emulation().expect_err("no times").to_string();
        assert!(error.contains("mine: [timing]: missing"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_told_with_file_line_and_key() {
        let wrong = |more: &str| refused(&format!("{GOOD}{more}"));
        assert_eq!(
            wrong("uars = -1\n"),
            "mine.toml, line 6: limits.uars: -1, expected a whole number from 1 to 4294967295"
        );
        assert_eq!(
            wrong("uars = 'many'\n"),
            "mine.toml, line 6: limits.uars: 'many', expected a whole number from 1 to 4294967295"
        );
        assert_eq!(
            wrong("\nuarz = 3\n"),
            "mine.toml, line 7: limits.uarz: unknown, expected one of uars, contexts, inline_bytes"
        );
        assert_eq!(
            wrong("[memroy]\n"),
            "mine.toml, line 6: memroy: unknown, expected one of name, about, source, limits, memory, timing, constants"
        );
        assert_eq!(
            wrong("[memory]\ncontext = 1.5\n"),
            "mine.toml, line 7: memory.context: 1.5, expected a whole number from 1 to 4294967295"
        );
        assert_eq!(
            wrong("[memory]\ncontext = 1\n"),
            "mine.toml: memory.protection_domain: missing, expected a whole number from 1 to 4294967295"
        );
        assert_eq!(
            refused("about = 'x'\nname = 3\n"),
            "mine.toml, line 2: name: 3, expected a text"
        );
        assert!(refused("name = \n").starts_with("mine.toml, line 1: "));
        assert!(wrong("contexts = 9\n").contains("line 6"));
    }
}
