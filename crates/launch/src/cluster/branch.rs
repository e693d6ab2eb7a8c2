// SPDX-License-Identifier: MIT OR Apache-2.0
//! The branch on a host of a large job: runs launcher commands for other hosts and the agent of its own one, and carries their streams
//! to the conductor and back. It understands none of what they say.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::channel::{Broken, Channel};
use super::launched::{how_it_ended, spawn};
use super::message::{BRANCH_GREETING, FromBranch, Payload, ToBranch, greeting};
use crate::input::set_nonblocking;
use crate::notices;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 32 << 10;
/// Bytes for the conductor beyond which nothing more is read: it is behind.
const MOST_QUEUED: usize = 4 << 20;
/// How long the commands may take to end after the conductor has.
const END_TIME: Duration = Duration::from_secs(4);
/// How often ends of commands are looked for whose streams stay open.
const PERIOD: Duration = Duration::from_millis(200);

/// Serves as the branch of this host until the conductor closes its stream.
pub(crate) fn run() -> ExitCode {
    let streams = || -> io::Result<Channel> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        Channel::new(input, output)
    };
    match streams() {
        Ok(channel) => {
            let mut branch = Branch {
                channel,
                relays: Vec::new(),
            };
            branch.channel.send_line(&greeting(BRANCH_GREETING));
            branch.serve();
            branch.end();
            ExitCode::SUCCESS
        }
        Err(error) => {
            notices::say(&format!("branch: cannot talk to mpiexec: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// A command that the branch has started.
struct Relay {
    child: Child,
    /// Its standard input, until it is closed.
    input: Option<File>,
    /// What waits to be written there.
    queue: Vec<u8>,
    /// Whether its input is to be closed once the queue is written.
    closing: bool,
    /// Its standard output and error, until they end.
    outputs: [Option<File>; 2],
    has_ended: bool,
}

struct Branch {
    channel: Channel,
    /// By their numbers; `None` could not be started.
    relays: Vec<Option<Relay>>,
}

/// An event that `poll` can report.
#[derive(Clone, Copy)]
enum Event {
    Conductor,
    Writer,
    Input(usize),
    Output(usize, usize),
}

impl Branch {
    fn serve(&mut self) {
        loop {
            let Ok(ready) = self.wait_for_events() else {
                return;
            };
            for event in ready {
                match event {
                    Event::Conductor => {
                        if self.obey_all().is_err() {
                            return;
                        }
                    }
                    Event::Writer => self.channel.write(),
                    Event::Input(index) => self.write(index),
                    Event::Output(index, which) => self.pass_on(index, which),
                }
            }
            self.tell_ends();
        }
    }

    fn wait_for_events(&self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        let mut fds = Vec::new();
        if let Some(reader) = self.channel.reader() {
            events.push(Event::Conductor);
            fds.push(PollFd::from_borrowed_fd(reader, PollFlags::IN));
        }
        if let Some(writer) = self.channel.waiting_writer() {
            events.push(Event::Writer);
            fds.push(PollFd::from_borrowed_fd(writer, PollFlags::OUT));
        }
        let is_behind = self.channel.queued() > MOST_QUEUED;
        for (index, relay) in self.relays.iter().enumerate() {
            let Some(relay) = relay else { continue };
            if let Some(input) = relay.input.as_ref().filter(|_| !relay.queue.is_empty()) {
                events.push(Event::Input(index));
                fds.push(PollFd::new(input, PollFlags::OUT));
            }
            let outputs = relay.outputs.iter().enumerate().filter(|_| !is_behind);
            for (which, output) in outputs {
                if let Some(output) = output {
                    events.push(Event::Output(index, which));
                    fds.push(PollFd::new(output, PollFlags::IN));
                }
            }
        }
        let time = Timespec::try_from(PERIOD).ok();
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

    /// # Errors
    /// When the conductor is gone, or sends nonsense.
    fn obey_all(&mut self) -> Result<(), Broken> {
        let read = self.channel.read();
        while let Some(message) = self.channel.next()? {
            match message {
                ToBranch::Open { child, words } => {
                    if child as usize != self.relays.len() {
                        return Err(Broken::Closed);
                    }
                    let relay = start(&words);
                    if let Err(how) = &relay {
                        let how = how.clone();
                        self.channel.send(&FromBranch::Ended { child, how });
                    }
                    self.relays.push(relay.ok());
                }
                ToBranch::Bytes { child, bytes } => {
                    if let Some(relay) = self.relay(child) {
                        relay.queue.extend_from_slice(&bytes.0);
                        self.write(child as usize);
                    }
                }
                ToBranch::Close { child } => {
                    if let Some(relay) = self.relay(child) {
                        relay.closing = true;
                        self.write(child as usize);
                    }
                }
                ToBranch::Kill { child } => {
                    if let Some(relay) = self.relay(child) {
                        relay.input = None;
                        // It may have ended by itself.
                        let _ = relay.child.kill();
                    }
                }
            }
        }
        read
    }

    fn relay(&mut self, child: u32) -> Option<&mut Relay> {
        self.relays.get_mut(child as usize)?.as_mut()
    }

    /// Writes what a command's input takes.
    fn write(&mut self, index: usize) {
        let Some(relay) = &mut self.relays[index] else {
            return;
        };
        while let Some(input) = relay.input.as_ref().filter(|_| !relay.queue.is_empty()) {
            match rustix::io::write(input, &relay.queue) {
                Ok(bytes) => drop(relay.queue.drain(..bytes)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // Its end tells the rest.
                Err(_) => relay.input = None,
            }
        }
        if relay.closing {
            relay.input = None;
        }
    }

    /// Passes on a part of what a command has written.
    fn pass_on(&mut self, index: usize, which: usize) {
        let Some(relay) = &mut self.relays[index] else {
            return;
        };
        let Some(output) = &mut relay.outputs[which] else {
            return;
        };
        let mut bytes = vec![0; PIECE_BYTES];
        match output.read(&mut bytes) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
                self.channel.send(&FromBranch::Bytes {
                    child: number(index),
                    error: which == 1,
                    bytes: Payload(bytes),
                });
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            _ => relay.outputs[which] = None,
        }
    }

    /// Tells the ends of commands whose output has ended and has been passed on.
    fn tell_ends(&mut self) {
        for (index, relay) in self.relays.iter_mut().enumerate() {
            let Some(relay) = relay else { continue };
            if relay.has_ended || relay.outputs[0].is_some() {
                continue;
            }
            let how = how_it_ended(&mut relay.child);
            // Processes in the background may keep the standard error of a command that has ended.
            if relay.outputs[1].is_some() && how.is_none() {
                continue;
            }
            if let Some(errors) = &mut relay.outputs[1] {
                let mut bytes = Vec::new();
                // What is there; the rest does not matter.
                let _ = errors.read_to_end(&mut bytes);
                self.channel.send(&FromBranch::Bytes {
                    child: number(index),
                    error: true,
                    bytes: Payload(bytes),
                });
            }
            relay.has_ended = true;
            relay.outputs = [None, None];
            let how = how.unwrap_or_else(|| "has closed its output".to_owned());
            self.channel.send(&FromBranch::Ended {
                child: number(index),
                how,
            });
        }
    }

    /// Ends all commands: agents end their ranks when their streams end.
    fn end(mut self) {
        let mut relays: Vec<_> = self.relays.iter_mut().flatten().collect();
        for relay in &mut relays {
            relay.input = None;
        }
        let until = Instant::now() + END_TIME;
        for relay in relays {
            while relay.child.try_wait().is_ok_and(|status| status.is_none()) {
                if Instant::now() >= until {
                    let _ = relay.child.kill();
                    let _ = relay.child.wait();
                    break;
                }
                // A command that cannot write would not end.
                relay.outputs = [None, None];
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Starts a command.
///
/// # Errors
/// Why that is not possible, as the end of a sentence.
fn start(words: &[OsString]) -> Result<Relay, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("has no name".to_owned());
    };
    let failed = |error: io::Error| format!("cannot be run ({}): {error}", program.display());
    let mut command = Command::new(program);
    command.args(arguments);
    let mut child = spawn(&mut command).map_err(failed)?;
    let input = child
        .stdin
        .take()
        .map(|input| File::from(OwnedFd::from(input)));
    let output = child
        .stdout
        .take()
        .map(|output| File::from(OwnedFd::from(output)));
    let errors = child
        .stderr
        .take()
        .map(|errors| File::from(OwnedFd::from(errors)));
    for stream in [&input, &output, &errors].into_iter().flatten() {
        set_nonblocking(stream).map_err(failed)?;
    }
    Ok(Relay {
        child,
        input,
        queue: Vec::new(),
        closing: false,
        outputs: [output, errors],
        has_ended: false,
    })
}
