// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command that was started for a host: its streams, its greeting, and what it says when it fails.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::channel::Channel;
use super::message::greeting;
use crate::LaunchError;
use crate::input::set_nonblocking;

/// Bytes before the greeting: what start-up files of a shell may write.
const MAX_NOISE_BYTES: usize = 64 << 10;
/// Bytes of a command's standard error that are kept for its failure.
const KEPT_BYTES: usize = 4096;
/// Lines of them that are told.
const TOLD_LINES: usize = 4;
/// How long a command may take to end after its output has.
const END_TIME: Duration = Duration::from_millis(500);

/// A launcher command, or the agent itself on this node.
pub(super) struct Launched {
    pub(super) channel: Channel,
    /// When it was started, or last said anything.
    pub(super) heard: Instant,
    /// Its host.
    host: String,
    /// Its name for messages.
    command: String,
    process: Process,
    errors: Option<ChildStderr>,
    /// The end of what came from there.
    tail: Vec<u8>,
}

/// Who runs the command.
enum Process {
    Own(Child),
    /// A branch, which tells how it ended.
    OfBranch(Option<String>),
}

impl Launched {
    /// Starts a command for a host, whose name for messages is `called`.
    ///
    /// # Errors
    /// When it cannot be run.
    pub(super) fn start(
        mut command: Command,
        called: String,
        host: &str,
    ) -> Result<Self, LaunchError> {
        let program = command.get_program().display().to_string();
        let failed = |error: io::Error| LaunchError {
            text: format!("cannot start an agent on host {host}: {program} cannot be run: {error}"),
            exit_code: 1,
        };
        let mut child = spawn(&mut command).map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let errors = child.stderr.take();
        let channel = Channel::new(stdout.into(), stdin.into()).map_err(failed)?;
        if let Some(errors) = &errors {
            set_nonblocking(errors).map_err(failed)?;
        }
        Ok(Self {
            channel,
            command: called,
            process: Process::Own(child),
            errors,
            ..Self::of_branch(host)
        })
    }

    /// A command that a branch starts for a host.
    pub(super) fn of_branch(host: &str) -> Self {
        Self {
            channel: Channel::of_branch(),
            heard: Instant::now(),
            host: host.to_owned(),
            command: "its launcher".to_owned(),
            process: Process::OfBranch(None),
            errors: None,
            tail: Vec::new(),
        }
    }

    /// Whether a branch runs it.
    pub(super) fn is_of_branch(&self) -> bool {
        matches!(self.process, Process::OfBranch(_))
    }

    /// The branch says how the command has ended, or is gone itself.
    pub(super) fn end(&mut self, how: String) {
        self.process = Process::OfBranch(Some(how));
        self.channel.end();
    }

    pub(super) fn errors(&self) -> Option<BorrowedFd<'_>> {
        self.errors.as_ref().map(AsFd::as_fd)
    }

    /// Keeps what the command writes to standard error.
    pub(super) fn read_errors(&mut self) {
        let mut bytes = [0; 1024];
        while let Some(errors) = &mut self.errors {
            match errors.read(&mut bytes) {
                Ok(count) if count > 0 => self.keep(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => self.errors = None,
            }
        }
    }

    /// Keeps the end of what the command has written to standard error.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let surplus = self.tail.len().saturating_sub(KEPT_BYTES);
        self.tail.drain(..surplus);
    }

    /// Looks for the greeting, a line that begins so; whether it has come.
    ///
    /// # Errors
    /// When the other side has another version, or is none of ours: the sentence for the user.
    pub(super) fn has_greeted(&mut self, begin: &str) -> Result<bool, String> {
        while let Some(line) = self.channel.next_line() {
            let line = String::from_utf8_lossy(&line).into_owned();
            // A shell may end its own text without a line end.
            let Some(at) = line.find(begin) else {
                continue;
            };
            let told = line[at..].trim_end();
            if told != greeting(begin) {
                return Err(format!(
                    "host {} runs another version of Rankpoint: it says '{}', expected '{}'",
                    self.host,
                    told.chars().take(80).collect::<String>(),
                    greeting(begin)
                ));
            }
            return Ok(true);
        }
        if self.channel.unread() > MAX_NOISE_BYTES {
            return Err(format!(
                "cannot start an agent on host {}: {} writes something else",
                self.host, self.command
            ));
        }
        Ok(false)
    }

    /// The sentence about a command that has not reached its host in time, if it has not.
    pub(super) fn lateness(&self, limit: Duration) -> Option<String> {
        (self.heard.elapsed() > limit).then(|| {
            format!(
                "cannot start an agent on host {}: {} has not reached it within {} s \
                 (RANKPOINT_LAUNCH_CONNECT says how long){}",
                self.host,
                self.command,
                limit.as_secs_f64(),
                self.told()
            )
        })
    }

    /// The sentence about a command whose output has ended. It was only on its way, unless the agent ran already.
    pub(super) fn end_text(&mut self, ran: bool) -> String {
        let how = match &mut self.process {
            Process::Own(child) => how_it_ended(child),
            Process::OfBranch(how) => how.clone(),
        };
        let how = how.unwrap_or_else(|| "has closed its output".to_owned());
        self.read_errors();
        let what = match ran {
            true => "lost the agent on host",
            false => "cannot start an agent on host",
        };
        let (host, command, told) = (&self.host, &self.command, self.told());
        format!("{what} {host}: {command} {how}{told}")
    }

    /// The last lines of what the command has written to standard error.
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

    /// Gives it up: what it started ends when its streams do.
    pub(super) fn kill(&mut self) {
        self.channel.close();
        if let Process::Own(child) = &mut self.process {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits for its end, and kills it if that takes too long.
    pub(super) fn reap(&mut self, until: Instant) {
        let Process::Own(child) = &mut self.process else {
            return;
        };
        while child.try_wait().is_ok_and(|status| status.is_none()) {
            if Instant::now() >= until {
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Starts a command whose streams are pipes and which ends with this thread.
///
/// # Errors
/// The kernel's.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Signals from the terminal are for the conductor.
    sys::spawn::lead_session(command);
    sys::spawn::end_with_thread(command);
    command.spawn()
}

/// How a command whose output has ended did so, if it soon does.
pub(super) fn how_it_ended(child: &mut Child) -> Option<String> {
    let until = Instant::now() + END_TIME;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(format!("ended ({status})")),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}
