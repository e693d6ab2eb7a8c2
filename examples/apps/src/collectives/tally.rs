// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread counts.

use std::time::Duration;

use crate::outcome::{self, Figures, Findings};

/// What a thread counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Calls of collectives, and numbers given to them.
    pub(super) calls: u64,
    pub(super) numbers: u64,
    pub(super) call: Duration,
    /// Combining in the memory of the process.
    pub(super) combine: Duration,
    pub(super) barrier: Duration,
    pub(super) findings: Findings,
}

impl outcome::Tally for Tally {
    fn counts(&self) -> Figures {
        vec![("calls", self.calls), ("numbers in calls", self.numbers)]
    }

    fn times(&self) -> Vec<(&'static str, Duration)> {
        vec![
            ("call", self.call),
            ("combine", self.combine),
            ("barrier", self.barrier),
        ]
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
