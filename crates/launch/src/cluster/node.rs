// SPDX-License-Identifier: MIT OR Apache-2.0
//! One node of a job as the conductor sees it: the launcher command, the stream to the agent, and when the node is lost.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use super::channel::{Broken, Channel};
use super::launcher;
use super::message::{FromAgent, GREETING, NodeStart, Payload, ToAgent, greeting};
use crate::LaunchError;
use crate::input::{reads_input, set_nonblocking};
use crate::plan::{Hosts, Input};
use crate::report::RankState;

/// Bytes before the greeting: what start-up files of a shell may write.
const MAX_NOISE_BYTES: usize = 64 << 10;
/// Bytes of a launcher command's standard error that are kept for its failure.
const KEPT_BYTES: usize = 4096;
/// Lines of them that are told.
const TOLD_LINES: usize = 4;
/// How long a launcher command may take to end after its output has.
const END_TIME: Duration = Duration::from_millis(500);

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
    /// The name of the launcher command.
    command: String,
    child: Child,
    channel: Channel,
    errors: Option<ChildStderr>,
    /// The end of what came from there.
    tail: Vec<u8>,
    /// When the launcher command was started, or the agent last said anything.
    heard: Instant,
}

impl Node {
    /// Runs the launcher command for a node.
    ///
    /// # Errors
    /// When it cannot be started; the share comes back.
    pub(super) fn launch(
        hosts: &Hosts,
        share: NodeStart,
        is_here: bool,
        input: &Input,
    ) -> Result<Self, (Box<NodeStart>, LaunchError)> {
        let share = Box::new(share);
        match Self::try_launch(hosts, &share, is_here, input) {
            Ok(node) => Ok(Self {
                share: Some(share),
                ..node
            }),
            Err(error) => Err((share, error)),
        }
    }

    fn try_launch(
        hosts: &Hosts,
        share: &NodeStart,
        is_here: bool,
        input: &Input,
    ) -> Result<Self, LaunchError> {
        let name = hosts.names[share.node as usize].clone();
        let (mut command, called) = launcher::command(hosts, &name, is_here);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Signals from the terminal are for the conductor.
        command.process_group(0);
        sys::spawn::end_with_thread(&mut command);
        let program = command.get_program().display().to_string();
        let failed = |error: io::Error| LaunchError {
            text: format!("cannot start an agent on host {name}: {program} cannot be run: {error}"),
            exit_code: 1,
        };
        let mut child = command.spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let errors = child.stderr.take();
        let channel = Channel::new(stdout.into(), stdin.into()).map_err(failed)?;
        if let Some(errors) = &errors {
            set_nonblocking(errors).map_err(failed)?;
        }
        let ranks = share.world()?;
        Ok(Self {
            reads_input: ranks.iter().any(|&rank| reads_input(input, rank)),
            name,
            ranks,
            progress: Progress::Launching,
            in_mpi: false,
            cards: None,
            took_input: true,
            uncredited: 0,
            states: None,
            share: None,
            command: called,
            child,
            channel,
            errors,
            tail: Vec::new(),
            heard: Instant::now(),
        })
    }

    /// Whether the agent can be told something that it does.
    pub(super) fn is_reached(&self) -> bool {
        matches!(self.progress, Progress::Starting | Progress::Running)
    }

    /// Whether nothing more is expected of the node.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.progress, Progress::Done | Progress::Lost)
    }

    pub(super) fn reader(&self) -> BorrowedFd<'_> {
        self.channel.reader()
    }

    pub(super) fn waiting_writer(&self) -> Option<BorrowedFd<'_>> {
        self.channel.waiting_writer()
    }

    pub(super) fn errors(&self) -> Option<BorrowedFd<'_>> {
        self.errors.as_ref().map(AsFd::as_fd)
    }

    /// Tells the agent something, if it is reached.
    pub(super) fn tell(&mut self, message: &ToAgent) {
        if self.is_reached() {
            self.channel.send(message);
        }
    }

    /// Tells the agent that the conductor lives.
    pub(super) fn tell_alive(&mut self) {
        if self.progress == Progress::Greeted || self.is_reached() {
            self.channel.send(&ToAgent::Alive);
        }
    }

    /// Sends the agent its share of the job, which began so many milliseconds ago.
    pub(super) fn start(&mut self, elapsed_ms: u64) {
        if let Some(mut share) = self.share.take() {
            share.elapsed_ms = elapsed_ms;
            self.progress = Progress::Starting;
            self.forgive();
            self.channel.send(&ToAgent::Start(share));
        }
    }

    pub(super) fn write(&mut self) {
        self.channel.write();
    }

    /// Keeps what the launcher command writes to standard error.
    pub(super) fn read_errors(&mut self) {
        let mut bytes = [0; 1024];
        while let Some(errors) = &mut self.errors {
            match errors.read(&mut bytes) {
                Ok(count) if count > 0 => self.tail.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => self.errors = None,
            }
            let surplus = self.tail.len().saturating_sub(KEPT_BYTES);
            self.tail.drain(..surplus);
        }
    }

    /// Reads what has arrived from the agent: messages, and why the node is lost, if it is.
    pub(super) fn read(&mut self) -> (Vec<FromAgent>, Option<String>) {
        let read = self.channel.read();
        self.heard = Instant::now();
        let mut messages = Vec::new();
        if self.progress == Progress::Launching
            && let Err(why) = self.await_greeting()
        {
            return (messages, Some(why));
        }
        while self.progress != Progress::Launching {
            match self.channel.next() {
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
        while let Some(line) = self.channel.next_line() {
            let line = String::from_utf8_lossy(&line).into_owned();
            // A shell may end its own text without a line end.
            let Some(at) = line.find(GREETING) else {
                continue;
            };
            let told = line[at..].trim_end();
            if told != greeting() {
                return Err(format!(
                    "host {} runs another version of Rankpoint: it says '{}', expected '{}'",
                    self.name,
                    told.chars().take(80).collect::<String>(),
                    greeting()
                ));
            }
            self.progress = Progress::Greeted;
            return Ok(());
        }
        if self.channel.unread() > MAX_NOISE_BYTES {
            return Err(format!(
                "cannot start an agent on host {}: {} writes something else",
                self.name, self.command
            ));
        }
        Ok(())
    }

    /// Why the node is lost because of time, if it is.
    pub(super) fn silence(&self, hosts: &Hosts) -> Option<String> {
        let silent = self.heard.elapsed();
        match (self.progress, hosts.heartbeat) {
            (Progress::Launching, _) if silent > hosts.connect => Some(format!(
                "cannot start an agent on host {}: {} has not reached it within {} s \
                 (RANKPOINT_LAUNCH_CONNECT says how long){}",
                self.name,
                self.command,
                hosts.connect.as_secs_f64(),
                self.told()
            )),
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
        self.heard = Instant::now();
    }

    /// The sentence about an agent whose stream has ended.
    fn end_text(&mut self) -> String {
        let until = Instant::now() + END_TIME;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                _ => break None,
            }
        };
        self.read_errors();
        let how = status.map_or_else(
            || "has closed its output".to_owned(),
            |status| format!("ended ({status})"),
        );
        let what = match self.progress {
            Progress::Launching | Progress::Greeted => {
                format!("cannot start an agent on host {}", self.name)
            }
            _ => format!("lost the agent on host {}", self.name),
        };
        format!("{what}: {} {how}{}", self.command, self.told())
    }

    /// The last lines of what the launcher command has written to standard error.
    fn told(&self) -> String {
        let text = String::from_utf8_lossy(&self.tail);
        let lines: Vec<_> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let last = &lines[lines.len().saturating_sub(TOLD_LINES)..];
        let printable = |line: &&str| -> String {
            line.chars().filter(|letter| !letter.is_control()).collect()
        };
        let last: Vec<_> = last.iter().map(printable).collect();
        match last.is_empty() {
            true => String::new(),
            false => format!("; it says: {}", last.join("; ")),
        }
    }

    /// Gives the node up: what the launcher command started ends when its streams do.
    pub(super) fn lose(&mut self) {
        self.progress = Progress::Lost;
        self.in_mpi = false;
        self.channel.close();
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The agent has said farewell; the launcher command has nothing left to do.
    pub(super) fn finish(&mut self) {
        self.progress = Progress::Done;
        self.channel.close();
    }

    /// Waits for the launcher command of a node that is over, and kills it if that takes too long.
    pub(super) fn reap(&mut self, until: Instant) {
        while self.child.try_wait().is_ok_and(|status| status.is_none()) {
            if Instant::now() >= until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
