// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input, credit for output, and reports of a job of several nodes.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use sys::signals;

use super::ending::Stage;
use super::job::Conductor;
use crate::cluster::message::{Payload, ToAgent, WINDOW_BYTES};
use crate::cluster::node::Progress;
use crate::input::{self, in_foreground};
use crate::outcome::End;
use crate::report::{self, RankState};
use crate::supervise::TIMED_OUT;

/// How long agents may take to send the states of their ranks.
const REPORT_TIME: Duration = Duration::from_secs(1);
/// Output in bytes for which an agent gets credit at once.
const CREDIT_BYTES: usize = WINDOW_BYTES / 8;

/// A report for which states are still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) until: Instant,
    /// Whether the job's time is up.
    pub(super) ends_job: bool,
}

impl Conductor<'_> {
    /// Tells the agents when nobody reads what ranks write.
    pub(super) fn pass_on_closing(&mut self) {
        let unread = self.outputs.unread();
        let known = std::mem::replace(&mut self.unread, unread);
        for (error, (now, before)) in [false, true].into_iter().zip(unread.iter().zip(known)) {
            if *now && !before {
                self.tell_all(&ToAgent::Unread { error });
            }
        }
    }

    /// Lets agents send more output where enough has been passed on.
    pub(super) fn give_credit(&mut self) {
        if self.outputs.is_full() {
            return;
        }
        for node in &mut self.nodes {
            if node.uncredited >= CREDIT_BYTES {
                let bytes = u32::try_from(node.uncredited).unwrap_or(u32::MAX);
                node.uncredited = 0;
                node.tell(&ToAgent::Credit(bytes));
            }
        }
    }

    /// Whether the next piece of standard input should be read when there is one.
    pub(super) fn wants_input(&self) -> bool {
        let mut readers = self
            .nodes
            .iter()
            .filter(|node| node.reads_input && !node.is_over());
        let are_ready = readers
            .clone()
            .all(|node| node.progress == Progress::Running && node.took_input);
        self.input_open
            && readers.next().is_some()
            && are_ready
            && (!io::stdin().is_terminal() || in_foreground())
    }

    pub(super) fn read_input(&mut self) {
        let mut bytes = vec![0; input::PIECE_BYTES];
        match rustix::io::read(io::stdin(), &mut bytes[..]) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
                let message = ToAgent::Input(Payload(bytes));
                for node in self.nodes.iter_mut().filter(|node| node.reads_input) {
                    node.took_input = false;
                    node.tell(&message);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            // The job went to the background of the terminal.
            Err(Errno::IO) if io::stdin().is_terminal() && !in_foreground() => {}
            _ => {
                self.input_open = false;
                self.tell_all(&ToAgent::InputEnd);
            }
        }
    }

    pub(super) fn ask_for_report(&mut self, ends_job: bool) {
        let pending = self.report.is_some();
        let report = self.report.get_or_insert(Report {
            until: Instant::now() + REPORT_TIME,
            ends_job,
        });
        report.ends_job |= ends_job;
        if !pending {
            self.nodes.iter_mut().for_each(|node| node.states = None);
            self.tell_all(&ToAgent::Report);
        }
    }

    /// Prints a report once all states are here, or the time for them is up.
    pub(super) fn keep_report(&mut self) {
        let Some(report) = self.report else {
            return;
        };
        let mut awaited = self.nodes.iter().filter(|node| node.is_reached());
        if awaited.any(|node| node.states.is_none()) && Instant::now() < report.until {
            return;
        }
        self.report = None;
        let mut states = vec![RankState::default(); self.ranks.len()];
        let mut silent = Vec::new();
        for node in &mut self.nodes {
            if node.states.is_none() {
                silent.push(node.name.clone());
            }
            let own = node.states.take().unwrap_or_default();
            for (&rank, state) in node.ranks.iter().zip(own) {
                states[rank as usize] = state;
            }
        }
        let mut text = report::state_table(&states, self.begin.elapsed(), &self.names);
        if !silent.is_empty() {
            text.push_str(&format!("\n  no answer from: {}", silent.join(", ")));
        }
        self.outputs.say(&text);
        if report.ends_job && matches!(self.ending.stage, Stage::Running) {
            self.outputs.say(&format!(
                "the job's time of {} s is up; ending it",
                self.plan.timeout.unwrap_or_default().as_secs_f64()
            ));
            self.ending.end = End::TimedOut;
            self.ending.exit_code = Some(TIMED_OUT);
            self.ask_to_end(signals::SIGTERM);
        }
    }
}
