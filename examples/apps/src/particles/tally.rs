// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread counts.

use std::time::Duration;

use super::space::Sums;
use crate::outcome::{self, Figures, Findings};

/// What a thread counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Messages with numbers of particles, and with particles.
    pub(super) counts: u64,
    pub(super) lists: u64,
    /// Particles handed to other processes, and to threads of the same one.
    pub(super) away: u64,
    pub(super) inside: u64,
    /// Sums of the particles that it has in the end.
    pub(super) sums: Sums,
    pub(super) advance: Duration,
    pub(super) issue: Duration,
    pub(super) completion: Duration,
    pub(super) barrier: Duration,
    pub(super) findings: Findings,
}

impl outcome::Tally for Tally {
    fn counts(&self) -> Figures {
        vec![
            ("particles", self.sums[0]),
            ("handed to other processes", self.away),
            ("handed within processes", self.inside),
            ("messages with numbers", self.counts),
            ("messages with particles", self.lists),
        ]
    }

    fn times(&self) -> Vec<(&'static str, Duration)> {
        vec![
            ("advance", self.advance),
            ("issue", self.issue),
            ("completion", self.completion),
            ("barrier", self.barrier),
        ]
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
