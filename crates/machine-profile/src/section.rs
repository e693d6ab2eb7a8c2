// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a TOML file, whose errors name file, line, key and what was expected.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Kind};

/// A TOML file that was parsed.
pub struct Document<'t> {
    file: &'t Path,
    text: &'t str,
    table: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses a text; `file` is its name in errors.
    ///
    /// # Errors
    /// [`Kind::Syntax`] if it is no TOML.
    pub fn parse(text: &'t str, file: &'t Path) -> Result<Self, Error> {
        let table = DeTable::parse(text).map_err(|error| Error {
            kind: Kind::Syntax,
            file: file.to_owned(),
            line: error.span().map(|span| line_of(text, span.start)),
            key: String::new(),
            found: error.message().to_owned(),
            expected: "TOML".to_owned(),
        })?;
        Ok(Self { file, text, table })
    }

    /// An error at a place that a [`Section`] has told, for rules that are about several keys.
    pub fn error(&self, spot: Spot, key: impl Into<String>, found: &str, expected: &str) -> Error {
        Error {
            kind: Kind::Value,
            file: self.file.to_owned(),
            line: Some(self.line(spot)),
            key: key.into(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// The line of a place, counted from 1.
    pub(crate) fn line(&self, spot: Spot) -> usize {
        line_of(self.text, spot.0)
    }

    /// Its outermost table.
    pub fn root(&self) -> Section<'_> {
        Section {
            document: self,
            path: String::new(),
            start: self.table.span().start,
            table: self.table.get_ref(),
        }
    }
}

/// A place in the text of a [`Document`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spot(usize);

/// A table of a [`Document`]. Keys that nobody asks for are ignored, unless [`Section::only`] refuses them.
pub struct Section<'d> {
    document: &'d Document<'d>,
    path: String,
    start: usize,
    table: &'d DeTable<'d>,
}

/// A value with its key and its place in the file.
struct Value<'d> {
    key: String,
    start: usize,
    value: &'d DeValue<'d>,
}

impl<'d> Section<'d> {
    /// Whether it has a key.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Its document.
    pub const fn document(&self) -> &'d Document<'d> {
        self.document
    }

    /// The keys that lead to it, with points between them; empty for the outermost table.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its keys in the order of the file, and where they stand.
    pub fn keys(&self) -> Vec<(&'d str, Spot)> {
        let keys = self.table.keys();
        let mut keys: Vec<(&str, Spot)> = keys
            .map(|key| (&**key.get_ref(), Spot(key.span().start)))
            .collect();
        keys.sort_by_key(|(_, spot)| spot.0);
        keys
    }

    /// Refuses keys that are none of `known`.
    ///
    /// # Errors
    /// [`Kind::Value`] at the first of them.
    pub fn only(&self, known: &[&str]) -> Result<(), Error> {
        let keys = self.keys();
        let Some((key, spot)) = keys.into_iter().find(|(key, _)| !known.contains(key)) else {
            return Ok(());
        };
        let expected = format!("one of {}", known.join(", "));
        Err(self
            .document
            .error(spot, self.full(key), "unknown key", &expected))
    }

    /// Where the value of a key stands, or the table itself if it has no such key.
    pub fn spot(&self, key: &str) -> Spot {
        let value = self.table.get(key);
        Spot(value.map_or(self.start, |value| value.span().start))
    }

    /// A text.
    ///
    /// # Errors
    /// [`Kind::Value`] if it is missing or something else, as for all the following.
    pub fn text(&self, key: &str) -> Result<String, Error> {
        const EXPECTED: &str = "a text in quotes";
        let value = self.value(key, EXPECTED)?;
        match value.value {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.wrong(&value, EXPECTED)),
        }
    }

    /// One of several names, and what it stands for.
    ///
    /// # Errors
    /// Also if it is another name.
    pub fn name<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, Error> {
        let found = self.text(key)?;
        let known = all.iter().copied().find(|&item| name(item) == found);
        known.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|&item| name(item)).collect();
            self.error(
                key,
                &format!("'{found}'"),
                &format!("one of {}", names.join(", ")),
            )
        })
    }

    /// True or false.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn truth(&self, key: &str) -> Result<bool, Error> {
        const EXPECTED: &str = "true or false";
        let value = self.value(key, EXPECTED)?;
        match value.value {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.wrong(&value, EXPECTED)),
        }
    }

    /// A whole number, 0 or larger.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn count(&self, key: &str) -> Result<u64, Error> {
        let value = self.value(key, COUNT)?;
        count(value.value).ok_or_else(|| self.wrong(&value, COUNT))
    }

    /// A finite number, 0 or larger.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn number(&self, key: &str) -> Result<f64, Error> {
        let value = self.value(key, NUMBER)?;
        number(value.value).ok_or_else(|| self.wrong(&value, NUMBER))
    }

    /// Finite numbers, each 0 or larger.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn numbers(&self, key: &str) -> Result<Vec<f64>, Error> {
        const EXPECTED: &str = "an array of numbers";
        let value = self.value(key, EXPECTED)?;
        let read = |item: &Value<'d>| number(item.value).ok_or_else(|| self.wrong(item, NUMBER));
        self.items(&value, EXPECTED, read)
    }

    /// Texts, and where each stands.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn texts(&self, key: &str) -> Result<Vec<(String, Spot)>, Error> {
        const EXPECTED: &str = "an array of texts in quotes";
        let value = self.value(key, EXPECTED)?;
        self.items(&value, EXPECTED, |item| match item.value {
            DeValue::String(text) => Ok((text.to_string(), Spot(item.start))),
            _ => Err(self.wrong(item, EXPECTED)),
        })
    }

    /// Whole numbers, each 0 or larger.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn counts(&self, key: &str) -> Result<Vec<u64>, Error> {
        let value = self.value(key, "an array of whole numbers")?;
        let read = |item: &Value<'d>| count(item.value).ok_or_else(|| self.wrong(item, COUNT));
        self.items(&value, "an array of whole numbers", read)
    }

    /// Rows of finite numbers that are 0 or larger; `nan` stands for none.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn rows(&self, key: &str) -> Result<Vec<Vec<Option<f64>>>, Error> {
        const EXPECTED: &str = "an array of arrays of numbers";
        let cell = |item: &Value<'d>| match item.value {
            DeValue::Float(float) if float.as_str().ends_with("nan") => Ok(None),
            value => match number(value) {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(item, NUMBER)),
            },
        };
        let value = self.value(key, EXPECTED)?;
        self.items(&value, EXPECTED, |row| self.items(row, EXPECTED, cell))
    }

    /// A table.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn section(&self, key: &str) -> Result<Section<'d>, Error> {
        let expected = format!("a table [{}]", self.full(key));
        let value = self.value(key, &expected)?;
        self.as_section(&value, &expected)
    }

    /// The tables in a table, by their keys and in the order of the file; none if it is missing.
    ///
    /// # Errors
    /// If it, or something in it, is no table.
    pub fn named_sections(&self, key: &str) -> Result<Vec<(&'d str, Section<'d>)>, Error> {
        let Some(inner) = self.optional(key, Self::section)? else {
            return Ok(Vec::new());
        };
        let keys = inner.keys().into_iter();
        keys.map(|(name, _)| Ok((name, inner.section(name)?)))
            .collect()
    }

    /// An array of tables; none if it is missing.
    ///
    /// # Errors
    /// If it is something else.
    pub fn sections(&self, key: &str) -> Result<Vec<Section<'d>>, Error> {
        if !self.has(key) {
            return Ok(Vec::new());
        }
        let expected = format!("tables [[{}]]", self.full(key));
        let value = self.value(key, &expected)?;
        self.items(&value, &expected, |item| self.as_section(item, "a table"))
    }

    /// What `read` gives for a key, or nothing if it is missing.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn optional<T>(
        &self,
        key: &str,
        read: impl Fn(&Self, &str) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if self.has(key) {
            read(self, key).map(Some)
        } else {
            Ok(None)
        }
    }

    /// An error about the value of a key, for rules that go beyond its type.
    pub fn error(&self, key: &str, found: &str, expected: &str) -> Error {
        let start = self
            .table
            .get(key)
            .map_or(self.start, |value| value.span().start);
        self.error_at(self.full(key), start, found.to_owned(), expected)
    }

    fn value(&self, key: &str, expected: &str) -> Result<Value<'d>, Error> {
        let key_path = self.full(key);
        match self.table.get(key) {
            Some(value) => Ok(Value {
                key: key_path,
                start: value.span().start,
                value: value.get_ref(),
            }),
            None => Err(self.error_at(key_path, self.start, "missing".to_owned(), expected)),
        }
    }

    fn items<T>(
        &self,
        value: &Value<'d>,
        expected: &str,
        read: impl Fn(&Value<'d>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let DeValue::Array(items) = value.value else {
            return Err(self.wrong(value, expected));
        };
        let items = items.iter().enumerate().map(|(index, item)| {
            read(&Value {
                key: format!("{}[{index}]", value.key),
                start: item.span().start,
                value: item.get_ref(),
            })
        });
        items.collect()
    }

    fn as_section(&self, value: &Value<'d>, expected: &str) -> Result<Section<'d>, Error> {
        match value.value {
            DeValue::Table(table) => Ok(Section {
                document: self.document,
                path: value.key.clone(),
                start: value.start,
                table,
            }),
            _ => Err(self.wrong(value, expected)),
        }
    }

    fn wrong(&self, value: &Value<'_>, expected: &str) -> Error {
        let found = match value.value {
            DeValue::String(text) => format!("the text \"{text}\""),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Datetime(time) => format!("the time {time}"),
            DeValue::Array(_) => "an array".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.error_at(value.key.clone(), value.start, found, expected)
    }

    fn error_at(&self, key: String, start: usize, found: String, expected: &str) -> Error {
        self.document.error(Spot(start), key, &found, expected)
    }

    /// A key with the keys that lead to it.
    pub fn full(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

const COUNT: &str = "a whole number, 0 or larger";
const NUMBER: &str = "a finite number, 0 or larger";

fn count(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse().ok()?,
        value => count(value)? as f64,
    };
    (f64::is_finite(number) && number >= 0.0).then_some(number)
}

fn line_of(text: &str, start: usize) -> usize {
    let before = text.as_bytes().iter().take(start);
    1 + before.filter(|&&byte| byte == b'\n').count()
}
