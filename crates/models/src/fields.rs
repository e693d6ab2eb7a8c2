// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields of a TOML file, read with errors that name file, line, key, and what was expected.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Error;

/// A key or a value with its place.
type Entry<'a, 'i> = (&'a str, Range<usize>, &'a Spanned<DeValue<'i>>);

/// A text and its place.
type Placed = (String, Range<usize>);

/// The text of a file and its name, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Place<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

/// A table of the file and the path that leads to it.
pub(crate) struct Fields<'a, 'i> {
    pub(crate) place: Place<'i>,
    pub(crate) path: String,
    table: &'a DeTable<'i>,
    span: Range<usize>,
}

impl Place<'_> {
    pub(crate) fn error(
        self,
        span: &Range<usize>,
        key: &str,
        found: &str,
        expected: &str,
    ) -> Error {
        let end = span.start.min(self.text.len());
        let line = 1 + self.text.as_bytes()[..end]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Error::Input {
            file: self.file.to_owned(),
            line,
            key: key.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }
}

impl<'a, 'i> Fields<'a, 'i> {
    /// The whole file.
    pub(crate) fn root(place: Place<'i>, table: &'a Spanned<DeTable<'i>>) -> Self {
        Self {
            place,
            path: String::new(),
            table: table.get_ref(),
            span: 0..0,
        }
    }

    /// Refuses keys that are none of `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Error> {
        let stray = self
            .entries()
            .into_iter()
            .find(|(key, ..)| !known.contains(key));
        let Some((key, span, _)) = stray else {
            return Ok(());
        };
        let expected = format!("one of {}", known.join(", "));
        Err(self
            .place
            .error(&span, &self.key(key), "unknown key", &expected))
    }

    /// Keys and values in the order of the file.
    pub(crate) fn entries(&self) -> Vec<Entry<'a, 'i>> {
        let all = self.table.iter();
        let all = all.map(|(key, value)| (key.get_ref().as_ref(), key.span(), value));
        let mut all: Vec<Entry<'a, 'i>> = all.collect();
        all.sort_by_key(|(_, span, _)| span.start);
        all
    }

    /// Whether there is a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The tables below a key, by name and in the order of the file; none without the key.
    pub(crate) fn tables(&self, key: &str) -> Result<Vec<(String, Self)>, Error> {
        let Some(inner) = self.table(key)? else {
            return Ok(Vec::new());
        };
        let all = inner.entries().into_iter().map(|(name, _, _)| {
            let table = inner.table(name)?;
            Ok(table.map(|table| (name.to_owned(), table)))
        });
        all.filter_map(Result::transpose).collect()
    }

    /// The table below a key.
    pub(crate) fn table(&self, key: &str) -> Result<Option<Self>, Error> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::Table(table) => Ok(Some(Fields {
                place: self.place,
                path: self.key(key),
                table,
                span: value.span(),
            })),
            other => Err(self.wrong(key, value, other, "a table")),
        }
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Error> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(text.to_string())),
            other => Err(self.wrong(key, value, other, "a text in quotes")),
        }
    }

    /// One of several words.
    pub(crate) fn word<T: Copy>(
        &self,
        key: &str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| *word == text);
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        match found {
            Some((_, value)) => Ok(Some(*value)),
            None => Err(self.error(key, &text, &format!("one of {}", names.join(", ")))),
        }
    }

    /// A number that is finite and at least 0.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, Error> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        self.as_number(key, value).map(Some)
    }

    pub(crate) fn as_number(&self, key: &str, value: &Spanned<DeValue<'i>>) -> Result<f64, Error> {
        let expected = "a number, at least 0";
        let number = match value.get_ref() {
            DeValue::Integer(digits) => digits.to_string().parse::<f64>().ok(),
            DeValue::Float(digits) => digits.as_str().parse::<f64>().ok(),
            other => return Err(self.wrong(key, value, other, expected)),
        };
        let right = number.filter(|number| number.is_finite() && *number >= 0.0);
        right.ok_or_else(|| {
            let found = &self.place.text[value.span()];
            self.place
                .error(&value.span(), &self.key(key), found, expected)
        })
    }

    /// A list of numbers.
    pub(crate) fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>, Error> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.wrong(key, value, value.get_ref(), "a list of numbers"));
        };
        list.iter()
            .map(|one| self.as_number(key, one))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A list of texts, with the place of each.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<Placed>>, Error> {
        let Some(value) = self.table.get(key) else {
            return Ok(None);
        };
        let expected = "a list of terms in quotes";
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.wrong(key, value, value.get_ref(), expected));
        };
        let texts = list.iter().map(|one| match one.get_ref() {
            DeValue::String(text) => Ok((text.to_string(), one.span())),
            other => Err(self.wrong(key, one, other, expected)),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// An error at a key of this table, or at the table when it has no such key.
    pub(crate) fn error(&self, key: &str, found: &str, expected: &str) -> Error {
        let own = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.place.error(&own, &self.key(key), found, expected)
    }

    pub(crate) fn key(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    /// Place of a key's value.
    pub(crate) fn span(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or(self.span.clone(), Spanned::span)
    }

    fn wrong(
        &self,
        key: &str,
        value: &Spanned<DeValue<'i>>,
        found: &DeValue<'i>,
        expected: &str,
    ) -> Error {
        let found = match found {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.place
            .error(&value.span(), &self.key(key), found, expected)
    }
}
