// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a profile is refused.

use std::fmt;
use std::path::{Path, PathBuf};

/// What is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// The file cannot be read or written.
    File,
    /// The text is no TOML.
    Syntax,
    /// A key is missing, or its value is none that it may have.
    Value,
    /// The file has a newer schema than this program reads.
    Newer,
    /// The profile is that of another machine.
    Foreign,
    /// The profile is that of this machine under another kernel.
    Stale,
    /// The profile does not have what was asked for.
    Missing,
}

/// A refused profile, or one that lacks a value. Displayed, it is the sentence that a user reads: file, line, key, what was found
/// and what was expected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    /// What is wrong.
    pub kind: Kind,
    /// The file; empty for a profile that was not read from one.
    pub file: PathBuf,
    /// The line, counted from 1, where there is one.
    pub line: Option<usize>,
    /// The key, such as `curves[2].points[0].ns`; empty where none is at fault.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl Error {
    /// An error about a whole file.
    pub(crate) fn of_file(kind: Kind, file: &Path, found: String, expected: String) -> Self {
        Self {
            kind,
            file: file.to_owned(),
            line: None,
            key: String::new(),
            found,
            expected,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.as_os_str().is_empty() {
            f.write_str("the profile: ")?;
        } else {
            match self.line {
                Some(line) => write!(f, "{}:{line}: ", self.file.display())?,
                None => write!(f, "{}: ", self.file.display())?,
            }
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.found)?;
        if !self.expected.is_empty() {
            write!(f, ", expected {}", self.expected)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
