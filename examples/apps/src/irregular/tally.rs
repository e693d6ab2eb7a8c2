// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread counts.

use std::time::Duration;

use crate::outcome::{self, Figures, Findings};

/// What a thread counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Rounds, by the first thread only.
    pub(super) rounds: u64,
    /// Messages to other processes, and labels in them.
    pub(super) messages: u64,
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Labels left for other threads of the process.
    pub(super) inside: u64,
    pub(super) compute: Duration,
    /// Waiting for the other threads, and learning how many messages come.
    pub(super) agree: Duration,
    pub(super) exchange: Duration,
    pub(super) findings: Findings,
}

impl outcome::Tally for Tally {
    fn counts(&self) -> Figures {
        vec![
            ("rounds", self.rounds),
            ("messages", self.messages),
            ("labels sent", self.sent),
            ("labels received", self.received),
            ("labels left within processes", self.inside),
        ]
    }

    fn times(&self) -> Vec<(&'static str, Duration)> {
        vec![
            ("compute", self.compute),
            ("agree", self.agree),
            ("exchange", self.exchange),
        ]
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
