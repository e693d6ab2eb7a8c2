// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the launcher, as users read them.

/// Why a job cannot start or go on: the sentence for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LaunchError {
    /// The fault, and what was expected.
    pub text: String,
    /// Exit status that fits it.
    pub exit_code: u8,
}

impl LaunchError {
    /// An error in how the launcher was called.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exit_code: 2,
        }
    }

    /// An error of the operating system while `doing` something.
    pub(crate) fn system(doing: &str, error: &std::io::Error) -> Self {
        Self {
            text: format!("cannot {doing}: {}", words(error)),
            exit_code: 1,
        }
    }
}

/// The system's words, and what a user can do about limits.
pub(crate) fn words(error: &std::io::Error) -> String {
    let limit = match error.raw_os_error() {
        Some(11) => {
            " (no further process is allowed: ulimit -u, or the limit of a container, says how many)"
        }
        Some(24) => " (ulimit -n says how many; each rank takes some of them here)",
        _ => "",
    };
    format!("{error}{limit}")
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for LaunchError {}
