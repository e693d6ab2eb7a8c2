// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of a job of several nodes, and the messages of its agents.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::ending::Stage;
use super::job::Conductor;
use crate::LaunchError;
use crate::cluster::message::{Ended, FromAgent, ToAgent, alive_period};
use crate::cluster::node::{Node, Progress};
use crate::supervise::{TICK, millis};

/// An event that `poll` can report.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Signals,
    Input,
    Sink,
    Agent(usize),
    AgentErrors(usize),
    AgentWriter(usize),
    Branch(usize),
    BranchErrors(usize),
    BranchWriter(usize),
}

impl Conductor<'_> {
    pub(super) fn wait_for_events(&self) -> io::Result<Vec<Event>> {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let mut events = Vec::new();
        let mut fds = Vec::new();
        if let Some(inbox) = &self.inbox {
            events.push(Event::Signals);
            fds.push(PollFd::new(inbox, PollFlags::IN));
        }
        let nodes = self.nodes.iter().enumerate();
        let nodes = nodes
            .filter(|(_, node)| !node.is_over())
            .map(|(index, node)| {
                let kinds = [Event::AgentErrors, Event::Agent, Event::AgentWriter];
                (&node.launched, kinds.map(|kind| kind(index)))
            });
        let branches = self.branches.iter().enumerate();
        let branches = branches
            .filter(|(_, branch)| !branch.is_over())
            .map(|(index, branch)| {
                let kinds = [Event::BranchErrors, Event::Branch, Event::BranchWriter];
                (&branch.launched, kinds.map(|kind| kind(index)))
            });
        for (launched, kinds) in nodes.chain(branches) {
            // Errors first, so that what an agent says is known when its end is judged.
            let streams = [
                (launched.errors(), PollFlags::IN),
                (launched.channel.reader(), PollFlags::IN),
                (launched.channel.waiting_writer(), PollFlags::OUT),
            ];
            for (event, (stream, flags)) in kinds.into_iter().zip(streams) {
                if let Some(stream) = stream {
                    events.push(event);
                    fds.push(PollFd::from_borrowed_fd(stream, flags));
                }
            }
        }
        if self.wants_input() {
            events.push(Event::Input);
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        for target in self.outputs.waiting() {
            events.push(Event::Sink);
            let stream = target.descriptor(&stdout, &stderr);
            fds.push(PollFd::from_borrowed_fd(stream, PollFlags::OUT));
        }
        let time = Timespec::try_from(self.time_left()).ok();
        match rustix::event::poll(&mut fds, time.as_ref()) {
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = events
            .iter()
            .zip(&fds)
            .filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(event, _)| *event).collect())
    }

    /// The time until the loop acts without an event.
    pub(super) fn time_left(&self) -> Duration {
        if self.is_over() {
            return TICK;
        }
        let now = Instant::now();
        let stage = match self.ending.stage {
            Stage::Running => {
                let timeout = self.plan.timeout.filter(|_| self.report.is_none());
                timeout.and_then(|timeout| self.begin.checked_add(timeout))
            }
            Stage::Ending(time) | Stage::Killed(time) | Stage::Finishing(time) => Some(time),
        };
        let times = stage
            .into_iter()
            .chain(self.report.map(|report| report.until));
        times
            .map(|time| time.saturating_duration_since(now))
            .fold(TICK.min(alive_period(self.hosts.heartbeat)), Duration::min)
    }

    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Signals => self.take_signals(),
            Event::Input => self.read_input(),
            Event::Sink => self.outputs.write(),
            Event::AgentWriter(index) => self.nodes[index].launched.channel.write(),
            Event::AgentErrors(index) => self.nodes[index].launched.read_errors(),
            Event::BranchWriter(index) => self.branches[index].launched.channel.write(),
            Event::BranchErrors(index) => self.branches[index].launched.read_errors(),
            Event::Branch(index) if self.branches[index].is_over() => {}
            Event::Branch(index) => self.read_branch(index),
            Event::Agent(index) if self.nodes[index].is_over() => {}
            Event::Agent(index) => self.read_agent(index),
        }
    }

    pub(super) fn read_agent(&mut self, index: usize) {
        let (messages, end) = self.nodes[index].read();
        let are_ready = |node: &Node| node.progress == Progress::Greeted;
        if end.is_none() && self.are_all_launched() && self.nodes.iter().all(are_ready) {
            let elapsed_ms = millis(self.begin.elapsed());
            self.nodes
                .iter_mut()
                .for_each(|node| node.start(elapsed_ms));
        }
        self.take_all(index, messages);
        if let Some(why) = end.filter(|_| !self.nodes[index].is_over()) {
            let node = &self.nodes[index];
            // Not every host may log in to every other.
            let is_unreached = node.progress == Progress::Launching && node.launched.is_of_branch();
            if is_unreached && matches!(self.ending.stage, Stage::Running) {
                if let Err(error) = self.launch_without_branch(index) {
                    self.refuse(error);
                }
                return;
            }
            self.lose(index, &why);
        }
    }

    /// Takes messages of the agent of a node, as long as they make sense.
    pub(super) fn take_all(&mut self, index: usize, messages: Vec<FromAgent>) {
        for message in messages {
            if self.nodes[index].is_over() {
                return;
            }
            if let Err(why) = self.take(index, message) {
                let why = self.nodes[index].protocol_fault(&why);
                self.lose(index, &why);
            }
        }
    }

    /// Takes a message of the agent of a node.
    ///
    /// # Errors
    /// When the message makes no sense: why.
    fn take(&mut self, index: usize, message: FromAgent) -> Result<(), String> {
        let node = &mut self.nodes[index];
        match message {
            FromAgent::Started(told) => {
                if told.len() != node.ranks.len() || node.progress != Progress::Starting {
                    return Err(format!("it started {} ranks", told.len()));
                }
                node.progress = Progress::Running;
                self.note_start(index, told);
            }
            FromAgent::Refused { text, exit_code } => {
                let text = format!("host {}: {}", node.name, printable(&text));
                node.progress = Progress::Running;
                self.refuse(LaunchError { text, exit_code });
            }
            FromAgent::Output { rank, error, bytes } => {
                let rank = own_rank(node, rank)?;
                node.uncredited += bytes.0.len();
                self.outputs.take(rank, usize::from(error), &bytes.0);
            }
            FromAgent::Ended(ended) => self.take_end(index, &ended)?,
            FromAgent::InMpi(in_mpi) => node.in_mpi = in_mpi,
            FromAgent::Cards(cards) => {
                let fits = cards.iter().map(|(rank, _)| rank).eq(&node.ranks)
                    && cards
                        .iter()
                        .all(|(_, card)| card.0.len() <= fabric::board::CARD_BYTES);
                if !fits {
                    return Err("the addresses that it sent are not those of its ranks".to_owned());
                }
                node.cards = Some(cards);
                self.spread_cards();
            }
            FromAgent::InputTaken => node.took_input = true,
            FromAgent::InputClosed => node.reads_input = false,
            FromAgent::State(states) => {
                if states.len() != node.ranks.len() {
                    return Err(format!("it sent the states of {} ranks", states.len()));
                }
                node.states = Some(states);
            }
            FromAgent::Notice(text) => {
                if self.plan.talk.verbose {
                    let text = format!("host {}: {}", node.name, printable(&text));
                    self.outputs.say(&text);
                }
            }
            FromAgent::Fault(text) => {
                let text = printable(&text);
                let text = format!("lost the agent on host {}: {text}", node.name);
                self.lose(index, &text);
            }
            FromAgent::Alive => {}
            FromAgent::Done => {
                node.finish();
                self.settle(index);
            }
        }
        Ok(())
    }

    pub(super) fn note_start(&mut self, index: usize, told: Vec<(u32, String)>) {
        let talk = self.plan.talk;
        for (local, (pid, place)) in told.into_iter().enumerate() {
            let rank = self.nodes[index].ranks[local] as usize;
            self.ranks[rank].pid = pid;
            self.outputs.set_pid(rank, pid);
            if talk.verbose || talk.bindings {
                let text = format!("{} is {}", self.name(rank), printable(&place));
                self.outputs.say(&text);
            }
        }
        let all = self
            .nodes
            .iter()
            .all(|node| node.progress == Progress::Running);
        if all && (talk.verbose || talk.progress) {
            self.outputs.say(&format!(
                "started {} ranks {} in {:.1} ms",
                self.ranks.len(),
                self.names.text(),
                1e3 * self.begin.elapsed().as_secs_f64()
            ));
        }
    }

    pub(super) fn take_end(&mut self, index: usize, ended: &Ended) -> Result<(), String> {
        let node = &mut self.nodes[index];
        let rank = own_rank(node, ended.rank)?;
        node.in_mpi = ended.in_mpi;
        let view = &mut self.ranks[rank];
        if view.exit.is_some() {
            return Err(format!("rank {rank} ended twice"));
        }
        view.exit = Some(ended.exit);
        view.state = ended.state;
        for (to, from) in view.counters.iter_mut().zip(&ended.counters) {
            *to = *from;
        }
        self.alive -= 1;
        if self.plan.talk.verbose || self.plan.talk.exits {
            let text = format!(
                "{} {} after {:.3} s",
                self.name(rank),
                ended.exit,
                self.begin.elapsed().as_secs_f64()
            );
            self.outputs.say(&text);
        }
        if matches!(self.ending.stage, Stage::Running) {
            let in_mpi = self.nodes.iter().any(|node| node.in_mpi);
            let ended = [(rank, ended.exit, ended.state)];
            if let Some((rank, verdict)) = self.ending.ends.judge(&ended, in_mpi) {
                self.fail(rank, &verdict);
            }
        }
        Ok(())
    }

    /// Sends every node the cards of all ranks once all are known.
    pub(super) fn spread_cards(&mut self) {
        if self.cards_sent || self.nodes.iter().any(|node| node.cards.is_none()) {
            return;
        }
        self.cards_sent = true;
        let all = self.nodes.iter_mut().filter_map(|node| node.cards.take());
        let all = ToAgent::Cards(all.flatten().collect());
        self.tell_all(&all);
    }
}

/// The index of a rank of a node.
///
/// # Errors
/// When the rank is another node's.
fn own_rank(node: &Node, rank: u32) -> Result<usize, String> {
    match node.ranks.binary_search(&rank) {
        Ok(_) => Ok(rank as usize),
        Err(_) => Err(format!("it speaks of rank {rank}, which is not its own")),
    }
}

/// A text of an agent without what could change a terminal.
fn printable(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control() || *letter == '\n')
        .collect()
}
