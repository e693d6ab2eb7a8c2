// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why numbers, names or files are refused.

use std::fmt;

/// A refused request. Displayed, it is the sentence that a user reads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Error {
    /// A name that names nothing.
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The name.
        text: String,
        /// What was expected.
        expected: String,
    },
    /// A number of uUARs that makes no pages.
    Total {
        /// The number.
        total: usize,
    },
    /// A number of low-latency uUARs that leaves none for others.
    Low {
        /// The number.
        low: usize,
        /// uUARs of the context.
        total: usize,
    },
    /// A value of a file.
    Key {
        /// The file.
        file: String,
        /// Its line, from 1; none where a key is missing.
        line: Option<usize>,
        /// The key, with its table.
        key: String,
        /// What is there.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A file that is no TOML.
    Syntax {
        /// The file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// The parser's reason.
        reason: String,
    },
    /// Values that do not go together.
    Disagree {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What was expected.
        expected: String,
    },
    /// A limit of the network interface that is exceeded.
    Exhausted {
        /// The network interface.
        nic: String,
        /// Which objects.
        what: &'static str,
        /// How many there would be.
        needed: usize,
        /// How many there are.
        available: usize,
    },
    /// A device or library that cannot do what is asked for.
    Device {
        /// The call.
        call: &'static str,
        /// Its reason.
        reason: String,
    },
}

impl Error {
    pub(crate) fn unknown(what: &'static str, text: &str, expected: impl Into<String>) -> Self {
        Self::Unknown {
            what,
            text: text.to_owned(),
            expected: expected.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown {
                what,
                text,
                expected,
            } => write!(f, "{what} '{text}': expected {expected}"),
            Self::Total { total } => {
                write!(f, "{total} uUARs: expected an even number from 2 to 512")
            }
            Self::Low { low, total } => write!(
                f,
                "{low} low-latency uUARs of {total}: expected at most {}, because one serves the other queue pairs",
                total.saturating_sub(1)
            ),
            Self::Key {
                file,
                line,
                key,
                found,
                expected,
            } => {
                let line = line.map_or(String::new(), |line| format!(", line {line}"));
                write!(f, "{file}{line}: {key}: {found}, expected {expected}")
            }
            Self::Syntax { file, line, reason } => write!(f, "{file}, line {line}: {reason}"),
            Self::Disagree {
                option,
                value,
                expected,
            } => write!(f, "{option} {value}: expected {expected}"),
            Self::Exhausted {
                nic,
                what,
                needed,
                available,
            } => write!(f, "{nic} has {available} {what}, but {needed} are needed"),
            Self::Device { call, reason } => write!(f, "{call}: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
