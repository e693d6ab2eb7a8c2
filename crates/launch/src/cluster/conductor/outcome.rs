// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of a job of several nodes.

use super::events::Event;
use super::job::Conductor;
use crate::LaunchError;
use crate::outcome::{Exit, JobOutcome, RankOutcome};
use crate::report;

impl Conductor<'_> {
    pub(super) fn finish(mut self) -> Result<JobOutcome, LaunchError> {
        for rank in 0..self.ranks.len() {
            self.outputs.close(rank);
        }
        if let Some(error) = self.ending.error {
            return Err(error);
        }
        if self.ending.exit_code.is_none()
            && let Some((rank, verdict)) = self.ending.ends.first_failure.take()
        {
            self.ending.exit_code = Some(verdict.exit_code);
            let words = self.outputs.last_words(rank).unwrap_or_default();
            let text = format!("{} {}{words}", self.name(rank), verdict.text);
            self.outputs.say(&text);
        }
        if self.plan.talk.stats {
            let counters: Vec<_> = self.ranks.iter().map(|rank| rank.counters).collect();
            self.outputs.say(&report::counter_table(&counters));
        }
        while self.outputs.waiting().next().is_some() {
            let Ok(ready) = self.wait_for_events() else {
                break;
            };
            if ready.iter().any(|event| matches!(event, Event::Signals)) {
                break;
            }
            self.outputs.write();
        }
        let outputs = std::mem::take(&mut self.outputs.captured);
        let ranks = self.ranks.iter().zip(outputs).enumerate();
        let ranks = ranks.map(|(rank, (view, output))| RankOutcome {
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
            pid: view.pid,
            exit: view.exit.unwrap_or(Exit::Unknown),
            phase: view.state.phase,
            counters: view.counters,
            output,
        });
        Ok(JobOutcome {
            ranks: ranks.collect(),
            end: self.ending.end,
            messages: self.outputs.messages,
            exit_code: self.ending.exit_code.unwrap_or(u8::from(self.outputs.lost)),
        })
    }
}
