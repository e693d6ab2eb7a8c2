// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that mean nothing.

use std::fmt;

/// A text that names no stencil, plan or axis.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unknown {
    /// The text.
    pub text: String,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': expected {}", self.text, self.expected)
    }
}

impl std::error::Error for Unknown {}
