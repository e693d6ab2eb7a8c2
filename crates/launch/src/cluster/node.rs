// SPDX-License-Identifier: MIT OR Apache-2.0
//! One node of a job as the conductor sees it: the launcher command, the stream to the agent, and when the node is lost.

use std::time::Instant;

use super::channel::Broken;
use super::launched::Launched;
use super::message::{FromAgent, GREETING, NodeStart, Payload, ToAgent};
use crate::input::reads_input;
use crate::plan::{Hosts, Input};
use crate::report::RankState;

/// How far a node has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Progress {
    /// The launcher command runs; the agent has not greeted.
    Launching,
    /// The agent waits for its share, which it gets when all agents have greeted: no rank starts before.
    Greeted,
    /// The agent has its share.
    Starting,
    /// The ranks run, or have ended.
    Running,
    /// The agent has said farewell.
    Done,
    /// The agent cannot be reached any more.
    Lost,
}

/// A node of the job.
pub(super) struct Node {
    /// Its index among the hosts.
    pub(super) number: u32,
    pub(super) name: String,
    /// Its world ranks, in order.
    pub(super) ranks: Vec<u32>,
    pub(super) progress: Progress,
    /// Whether a rank of the node is between MPI_Init and MPI_Finalize.
    pub(super) in_mpi: bool,
    /// The cards of its ranks, once they are here.
    pub(super) cards: Option<Vec<(u32, Payload)>>,
    /// Whether ranks of the node read standard input.
    pub(super) reads_input: bool,
    /// Whether they have taken what they were given.
    pub(super) took_input: bool,
    /// Output in bytes that has arrived and has not been credited.
    pub(super) uncredited: usize,
    /// The answer to the newest request for a report.
    pub(super) states: Option<Vec<RankState>>,
    /// The node's share, until it is sent.
    share: Option<Box<NodeStart>>,
    /// The launcher command, and the stream to the agent.
    pub(super) launched: Launched,
}

impl Node {
    /// A node for which a launcher command was started.
    pub(super) fn new(
        name: &str,
        share: Box<NodeStart>,
        launched: Launched,
        input: &Input,
    ) -> Self {
        // A share without ranks is refused by the agent.
        let ranks = share.world().unwrap_or_default();
        Self {
            number: share.node,
            reads_input: ranks.iter().any(|&rank| reads_input(input, rank)),
            name: name.to_owned(),
            ranks,
            progress: Progress::Launching,
            in_mpi: false,
            cards: None,
            took_input: true,
            uncredited: 0,
            states: None,
            share: Some(share),
            launched,
        }
    }

    /// Whether the agent can be told something that it does.
    pub(super) fn is_reached(&self) -> bool {
        matches!(self.progress, Progress::Starting | Progress::Running)
    }

    /// Whether nothing more is expected of the node.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.progress, Progress::Done | Progress::Lost)
    }

    /// Tells the agent something, if it is reached.
    pub(super) fn tell(&mut self, message: &ToAgent) {
        if self.is_reached() {
            self.launched.channel.send(message);
        }
    }

    /// Tells the agent that the conductor lives.
    pub(super) fn tell_alive(&mut self) {
        if self.progress == Progress::Greeted || self.is_reached() {
            self.launched.channel.send(&ToAgent::Alive);
        }
    }

    /// Sends the agent its share of the job, which began so many milliseconds ago.
    pub(super) fn start(&mut self, elapsed_ms: u64) {
        if let Some(mut share) = self.share.take() {
            share.elapsed_ms = elapsed_ms;
            self.progress = Progress::Starting;
            self.forgive();
            self.launched.channel.send(&ToAgent::Start(share));
        }
    }

    /// Reads what has arrived from the agent: messages, and why the node is lost, if it is.
    pub(super) fn read(&mut self) -> (Vec<FromAgent>, Option<String>) {
        let read = self.launched.channel.read();
        self.launched.heard = Instant::now();
        let mut messages = Vec::new();
        if self.progress == Progress::Launching
            && let Err(why) = self.await_greeting()
        {
            return (messages, Some(why));
        }
        while self.progress != Progress::Launching {
            match self.launched.channel.next() {
                Ok(Some(message)) => messages.push(message),
                Err(Broken::Malformed(why)) => return (messages, Some(self.protocol_fault(&why))),
                Ok(None) | Err(Broken::Closed) => break,
            }
        }
        let has_ended = messages
            .iter()
            .any(|message| matches!(message, FromAgent::Done));
        let end = (read.is_err() && !has_ended).then(|| self.end_text());
        (messages, end)
    }

    /// The sentence about an agent that sends nonsense.
    pub(super) fn protocol_fault(&self, why: &str) -> String {
        format!(
            "the agent on host {} does not keep to the protocol: {why}",
            self.name
        )
    }

    /// Compares versions once the greeting has arrived.
    fn await_greeting(&mut self) -> Result<(), String> {
        if self.launched.has_greeted(GREETING)? {
            self.progress = Progress::Greeted;
        }
        Ok(())
    }

    /// Why the node is lost because of time, if it is.
    pub(super) fn silence(&self, hosts: &Hosts) -> Option<String> {
        let silent = self.launched.heard.elapsed();
        match (self.progress, hosts.heartbeat) {
            (Progress::Launching, _) => self.launched.lateness(hosts.connect),
            (Progress::Starting, Some(limit)) if silent > limit => Some(format!(
                "the agent on host {} has not answered for {} s while it starts ranks",
                self.name,
                limit.as_secs_f64()
            )),
            (Progress::Running, Some(limit)) if silent > limit => Some(format!(
                "host {} has not answered for {} s: its agent hangs, or the network to it is down",
                self.name,
                limit.as_secs_f64()
            )),
            _ => None,
        }
    }

    /// The conductor itself was stopped, and knows nothing about the node's silence.
    pub(super) fn forgive(&mut self) {
        self.launched.heard = Instant::now();
    }

    /// The sentence about an agent whose stream has ended.
    fn end_text(&mut self) -> String {
        let ran = !matches!(self.progress, Progress::Launching | Progress::Greeted);
        self.launched.end_text(ran)
    }

    /// Gives the node up: what the launcher command started ends when its streams do.
    pub(super) fn lose(&mut self) {
        self.progress = Progress::Lost;
        self.in_mpi = false;
        self.launched.kill();
    }

    /// The agent has said farewell; the launcher command has nothing left to do.
    pub(super) fn finish(&mut self) {
        self.progress = Progress::Done;
        self.launched.channel.close();
    }
}
