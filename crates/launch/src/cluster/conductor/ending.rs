// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a job of several nodes: which of its causes, and how all nodes come to theirs.

use std::time::Instant;

use sys::signals::{self, SignalInbox};

use super::job::{Conductor, FINISH_TIME};
use crate::LaunchError;
use crate::cluster::message::{ToAgent, alive_period};
use crate::cluster::node::{Node, Progress};
use crate::failure::{self, Ends, Verdict};
use crate::outcome::{End, Exit, narrow};
use crate::supervise::TICK;

/// How far the end of a job has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Running,
    /// The ranks were asked to end, and are killed at this time.
    Ending(Instant),
    /// They were killed, and count as ended at this time.
    Killed(Instant),
    /// All have ended; the agents have ended what is left of the job, or are given up at this time.
    Finishing(Instant),
}

/// How and why a job ends.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) stage: Stage,
    pub(super) end: End,
    pub(super) exit_code: Option<u8>,
    /// Why the job could not start.
    pub(super) error: Option<LaunchError>,
    pub(super) ends: Ends,
}

impl Default for Ending {
    fn default() -> Self {
        Self {
            stage: Stage::Running,
            end: End::Finished,
            exit_code: None,
            error: None,
            ends: Ends::default(),
        }
    }
}

impl Conductor<'_> {
    /// A rank's end is the end of the job.
    pub(super) fn fail(&mut self, rank: usize, verdict: &Verdict) {
        let number = u32::try_from(rank).unwrap_or(u32::MAX);
        self.tell_all(&ToAgent::Death(number));
        let ending = failure::ending(self.alive);
        let words = self.outputs.last_words(rank).unwrap_or_default();
        let text = format!("{} {}{ending}{words}", self.name(rank), verdict.text);
        self.outputs.say(&text);
        self.ending.exit_code = Some(verdict.exit_code);
        self.ending.end = End::RankFailed { rank: number };
        self.ask_to_end(signals::SIGTERM);
    }

    pub(super) fn ask_to_end(&mut self, signal: i32) {
        self.ending.stage = Stage::Ending(Instant::now() + self.plan.grace);
        self.tell_all(&ToAgent::Signal(signal));
        self.tell_all(&ToAgent::Signal(signals::SIGCONT));
        self.leave_unreached();
    }

    /// Gives up nodes whose agents have no share yet.
    pub(super) fn leave_unreached(&mut self) {
        let of_branches = self.branches.iter_mut();
        let of_branches = of_branches.map(|branch| std::mem::take(&mut branch.waiting));
        let shares: Vec<_> = of_branches
            .chain(std::mem::take(&mut self.waiting))
            .collect();
        for share in shares.iter().flatten() {
            self.count_ended(&share.world().unwrap_or_default());
        }
        for index in 0..self.nodes.len() {
            if matches!(
                self.nodes[index].progress,
                Progress::Launching | Progress::Greeted
            ) {
                self.nodes[index].lose();
                self.settle(index);
            }
        }
    }

    pub(super) fn kill(&mut self) {
        self.tell_all(&ToAgent::Signal(signals::SIGKILL));
        self.ending.stage = Stage::Killed(Instant::now() + FINISH_TIME);
        self.leave_unreached();
    }

    /// The job cannot start.
    pub(super) fn refuse(&mut self, error: LaunchError) {
        if self.ending.error.is_none() && self.ending.exit_code.is_none() {
            self.ending.error = Some(error);
        }
        self.finish_nodes();
    }

    /// Has the agents end what is left of the job.
    pub(super) fn finish_nodes(&mut self) {
        if matches!(self.ending.stage, Stage::Finishing(_)) {
            return;
        }
        self.ending.stage = Stage::Finishing(Instant::now() + FINISH_TIME);
        self.tell_all(&ToAgent::Finish);
        self.leave_unreached();
    }

    /// A node cannot be reached any more, for the reason that `why` tells.
    pub(super) fn lose(&mut self, index: usize, why: &str) {
        let before = self.nodes[index].progress;
        self.nodes[index].lose();
        let alive_there = self.settle(index);
        match self.ending.stage {
            Stage::Running if before == Progress::Running && alive_there > 0 => {
                let first = self.nodes[index].ranks[0];
                self.tell_all(&ToAgent::Death(first));
                let text = format!("{why}{}", failure::ending(self.alive));
                self.outputs.say(&text);
                self.ending.exit_code = Some(1);
                self.ending.end = End::HostLost {
                    node: self.nodes[index].number,
                };
                self.ask_to_end(signals::SIGTERM);
            }
            Stage::Running => self.refuse(LaunchError {
                text: why.to_owned(),
                exit_code: 1,
            }),
            // The job ends already, and for another reason.
            _ if self.plan.talk.verbose => self.outputs.say(why),
            _ => {}
        }
    }

    /// Counts the ranks of a node that is over as ended; how many had not.
    pub(super) fn settle(&mut self, index: usize) -> usize {
        let ranks = self.nodes[index].ranks.clone();
        self.count_ended(&ranks)
    }

    pub(super) fn count_ended(&mut self, ranks: &[u32]) -> usize {
        let before = self.alive;
        for &rank in ranks {
            let exit = &mut self.ranks[rank as usize].exit;
            if exit.is_none() {
                *exit = Some(Exit::Unknown);
                self.alive -= 1;
            }
        }
        before - self.alive
    }

    pub(super) fn take_signals(&mut self) {
        while let Some(signal) = self.inbox.as_mut().and_then(SignalInbox::next_signal) {
            match signal {
                signals::SIGUSR1 => self.ask_for_report(false),
                signals::SIGUSR2 => self.tell_all(&ToAgent::Signal(signal)),
                signals::SIGTSTP => {
                    self.tell_all(&ToAgent::Signal(signal));
                    self.tell_all(&ToAgent::Hold);
                    let _ = rustix::process::kill_process(
                        rustix::process::getpid(),
                        rustix::process::Signal::STOP,
                    );
                    self.tell_all(&ToAgent::Alive);
                }
                signals::SIGCONT => self.tell_all(&ToAgent::Signal(signal)),
                _ if matches!(self.ending.stage, Stage::Running) => {
                    let name = signals::describe(signal).map_or("a signal", |(name, _)| name);
                    self.outputs.say(&format!("got {name}; ending the job"));
                    self.ending.end = End::Interrupted { signal };
                    self.ending.exit_code = Some(narrow(128 + signal));
                    self.ask_to_end(signal);
                }
                _ => self.kill(),
            }
        }
    }

    pub(super) fn keep_time(&mut self) {
        let now = Instant::now();
        let paused = now.duration_since(std::mem::replace(&mut self.polled, now));
        if paused > 4 * TICK {
            self.nodes.iter_mut().for_each(Node::forgive);
        }
        if now.duration_since(self.said) >= alive_period(self.hosts.heartbeat) {
            self.said = now;
            self.nodes.iter_mut().for_each(Node::tell_alive);
        }
        for index in 0..self.nodes.len() {
            if let Some(why) = self.nodes[index].silence(self.hosts) {
                self.lose(index, &why);
            }
        }
        self.keep_branches();
        self.launch_more();
        self.pass_on_closing();
        self.give_credit();
        self.keep_report();
        self.keep_stage(now);
        self.feed_branches();
    }

    pub(super) fn keep_stage(&mut self, now: Instant) {
        if self.alive == 0 {
            self.finish_nodes();
        }
        match self.ending.stage {
            Stage::Running => {
                let in_mpi = self.nodes.iter().any(|node| node.in_mpi);
                let elapsed = self.begin.elapsed();
                if self.ending.ends.has_absent() && in_mpi {
                    if let Some((rank, verdict)) = self.ending.ends.judge_absent() {
                        self.fail(rank, &verdict);
                    }
                } else if self.plan.timeout.is_some_and(|timeout| elapsed >= timeout) {
                    self.ask_for_report(true);
                }
            }
            Stage::Ending(time) if now >= time => self.kill(),
            Stage::Killed(time) if now >= time => self.finish_nodes(),
            Stage::Finishing(time) if now >= time => {
                for index in 0..self.nodes.len() {
                    if !self.nodes[index].is_over() {
                        let text = format!(
                            "host {} has not said that the job has ended there",
                            self.nodes[index].name
                        );
                        self.outputs.say(&text);
                        self.nodes[index].lose();
                        self.settle(index);
                    }
                }
            }
            _ => {}
        }
    }
}
