// SPDX-License-Identifier: MIT OR Apache-2.0
//! The assertions of a program about a communicator (MPI-5.0, section 7.4.4), one bit each. This library makes no use of them, apart from
//! that of communicators which are spread over VCIs, so a program that breaks one runs as it does without it; `RANKPOINT_CHECK=hints` makes
//! that an error.

// account: argument-checks

use sys::sync::{AtomicU32, Ordering};

use super::Comm;
use crate::errors::{Error, ErrorClass, Result};

/// Receives and probes name their source.
const NO_ANY_SOURCE: u32 = 1;
/// Receives and probes name their tag.
const NO_ANY_TAG: u32 = 2;

/// Each message is as long as the buffer of its receive.
const EXACT_LENGTH: u32 = 4;
/// Messages of one sender with one tag may be received in any order. This library keeps them in order, and no program can break it.
const ALLOW_OVERTAKING: u32 = 8;

/// The supported hints and their keys.
const KEYS: [(&str, u32); 4] = [
    ("mpi_assert_no_any_source", NO_ANY_SOURCE),
    ("mpi_assert_no_any_tag", NO_ANY_TAG),
    ("mpi_assert_exact_length", EXACT_LENGTH),
    ("mpi_assert_allow_overtaking", ALLOW_OVERTAKING),
];

/// The hints of a communicator.
#[derive(Debug, Default)]
pub struct Hints(AtomicU32);

impl Hints {
    /// Takes over the hints for which `value_of` returns `true` or `false`; other values are ignored.
    pub fn set(&self, value_of: impl Fn(&str) -> Option<String>) {
        for (key, bit) in KEYS {
            match value_of(key).as_deref() {
                Some("true") => self.0.fetch_or(bit, Ordering::Relaxed),
                Some("false") => self.0.fetch_and(!bit, Ordering::Relaxed),
                _ => continue,
            };
        }
    }

    /// All supported hints and their values.
    pub fn pairs(&self) -> [(&'static str, &'static str); KEYS.len()] {
        let bits = self.0.load(Ordering::Relaxed);
        KEYS.map(|(key, bit)| (key, if bits & bit == 0 { "false" } else { "true" }))
    }

    /// The same as those of another communicator.
    pub(crate) fn inherit(&self, other: &Self) {
        self.0
            .store(other.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// No assertions.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Comm {
    /// Whether the messages of receives are to be compared with their buffers.
    #[inline(always)]
    pub(crate) fn checks_exact_length(&self) -> bool {
        self.hints.0.load(Ordering::Relaxed) & EXACT_LENGTH != 0 && self.vci().checks_hints()
    }

    /// Refuses wildcards that the program asserted not to use: with `RANKPOINT_CHECK=hints`, and where a receive would belong to no VCI.
    ///
    /// # Errors
    /// MPI_ERR_RANK, MPI_ERR_TAG.
    pub(crate) fn check_wildcards(&self, any_source: bool, any_tag: bool) -> Result<()> {
        let asserted = match self.vci().checks_hints() {
            true => self.hints.0.load(Ordering::Relaxed),
            false => 0,
        };
        let expected = |key: &str| format!("a value: the communicator has the hint {key}");
        if any_source && asserted & NO_ANY_SOURCE != 0 {
            let expected = expected(KEYS[0].0) + CHECKED;
            let class = ErrorClass::ERR_RANK;
            return Err(Error::argument(class, "source", "MPI_ANY_SOURCE", expected));
        }
        if any_tag && (asserted & NO_ANY_TAG != 0 || self.is_spread()) {
            let how = if self.is_spread() { "" } else { CHECKED };
            let expected = expected(KEYS[1].0) + how;
            let class = ErrorClass::ERR_TAG;
            return Err(Error::argument(class, "tag", "MPI_ANY_TAG", expected));
        }
        Ok(())
    }
}

/// The end of errors that only a check finds.
const CHECKED: &str = ": RANKPOINT_CHECK=hints";
