// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a program did not run.

use std::fmt;

/// Why a program did not run.
#[derive(Debug)]
pub enum Failure {
    /// Options do not fit together, or the library lacks something.
    Refused(String),
    /// A call failed.
    Call(rankpoint::Error),
}

impl From<rankpoint::Error> for Failure {
    fn from(error: rankpoint::Error) -> Self {
        Self::Call(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => f.write_str(why),
            Self::Call(error) => error.fmt(f),
        }
    }
}
