// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a model, a trace, or a question about them.

use std::fmt;

/// What is wrong, as the sentence a user reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A file that does not say what it must.
    Input {
        /// Name of the file, or of the preset.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Key, as `component.PIO.ns`, or the column of a trace.
        key: String,
        /// What stands there.
        found: String,
        /// What was expected instead.
        expected: String,
    },
    /// A name that the model does not have.
    Unknown {
        /// What the name should be one of.
        what: &'static str,
        /// The name.
        name: String,
        /// Names that would do.
        known: Vec<String>,
    },
    /// A change, or an option, that cannot be carried out.
    Change {
        /// The change as it was given.
        change: String,
        /// What was expected instead.
        expected: String,
    },
    /// A quantity whose own measurement fed a component: to predict it would prove nothing.
    Circular {
        /// The quantity.
        quantity: String,
        /// The experiment that measures it.
        experiment: String,
        /// The component that was taken from the same experiment.
        component: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input {
                file,
                line,
                key,
                found,
                expected,
            } => write!(out, "{file}:{line}: {key}: {found}: expected {expected}"),
            Self::Unknown { what, name, known } => {
                write!(out, "{name}: no such {what}: expected {}", known.join(", "))
            }
            Self::Change { change, expected } => write!(out, "{change}: expected {expected}"),
            Self::Circular {
                quantity,
                experiment,
                component,
            } => write!(
                out,
                "{quantity}: its experiment, {experiment}, gave the component {component}: expected a quantity that no component was taken from"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<machine_profile::Error> for Error {
    fn from(error: machine_profile::Error) -> Self {
        Self::Input {
            file: error.file.display().to_string(),
            line: error.line.unwrap_or(1),
            key: match error.key.is_empty() {
                true => "file".to_owned(),
                false => error.key,
            },
            found: error.found,
            expected: error.expected,
        }
    }
}
