// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agent of a node: starts the node's ranks, passes their output on, and does what the conductor says.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fabric::nodes::NodePlan;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use sys::signals::{self, SignalInbox};

use super::channel::{Broken, Channel};
use super::message::{
    Ended, FromAgent, GREETING, NodeStart, Payload, ToAgent, WINDOW_BYTES, alive_period, greeting,
};
use crate::failure::MpiState;
use crate::load::Load;
use crate::orphans::Orphans;
use crate::output::Streams;
use crate::ranks::Started;
use crate::start::{self, Share};
use crate::supervise::{POLL_INTERVAL, TICK, millis, take_signals};
use crate::{LaunchError, binding, notices, report};

/// How long the conductor may be silent before it sends the share.
const SHARE_TIME: Duration = Duration::from_secs(60);
/// How long the conductor may take to read the last messages.
const FAREWELL_TIME: Duration = Duration::from_secs(5);
/// Output in bytes that is sent at once.
const PIECE_BYTES: usize = 32 << 10;
/// Polling interval for cards at the start of a job, and when ranks take their time to call MPI_Init.
const CARD_PERIODS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// Serves as the agent of this node until the job has ended.
pub(crate) fn run() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            notices::say(&format!("agent: {}", error.text));
            ExitCode::from(error.exit_code)
        }
    }
}

fn serve() -> Result<(), LaunchError> {
    let system = |error: io::Error| LaunchError::system("talk to mpiexec", &error);
    sys::spawn::cease_to_lead().map_err(|error| LaunchError::system("start", &error))?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(system)?;
    let output = io::stdout().as_fd().try_clone_to_owned().map_err(system)?;
    let inbox = take_signals()?;
    let orphans = Orphans::adopt();
    let mut channel = Channel::new(input, output).map_err(system)?;
    channel.send_line(&greeting(GREETING));
    let share = wait_for_share(&mut channel)?;
    let begin = Instant::now();
    match start_share(&share) {
        Ok((job, streams, load, places)) => {
            // Linux shares out the cores among sessions (sched_autogroup_enabled): ranks that compute and yield in many
            // threads, in the session that they began in, keep neither the agent nor the conductor waiting.
            let left = rustix::process::setsid();
            debug_assert!(left.is_ok(), "the agent leads no process group");
            channel.send(&FromAgent::Started(places));
            let mut agent = Agent {
                channel,
                inbox,
                reads_input: job.input.is_some(),
                job,
                streams,
                load,
                window: WINDOW_BYTES,
                begin,
                offset_ms: share.elapsed_ms,
                heartbeat: share.heartbeat_ms.map(Duration::from_millis),
                heard: Instant::now(),
                polled: Instant::now(),
                ticked: Instant::now(),
                said: Instant::now(),
                held: false,
                in_mpi: false,
                gathers_cards: share.hosts.len() > 1,
                finished: false,
            };
            agent.watch();
            agent.end(orphans);
        }
        Err(error) => {
            channel.send(&FromAgent::Refused {
                text: error.text,
                exit_code: error.exit_code,
            });
            if let Some(orphans) = orphans {
                orphans.end();
            }
            channel.send(&FromAgent::Done);
            flush(&mut channel);
        }
    }
    Ok(())
}

/// The first message.
fn wait_for_share(channel: &mut Channel) -> Result<NodeStart, LaunchError> {
    let fault = |text: &str| LaunchError {
        text: text.to_owned(),
        exit_code: 1,
    };
    let mut until = Instant::now() + SHARE_TIME;
    loop {
        match channel.next() {
            Ok(Some(ToAgent::Start(share))) => return Ok(*share),
            // Other hosts are still awaited.
            Ok(Some(ToAgent::Alive)) => until = Instant::now() + SHARE_TIME,
            Ok(Some(_)) => return Err(fault("mpiexec began with another message than the job")),
            Ok(None) => {}
            Err(_) => return Err(fault("mpiexec sent something that is no message")),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(fault("mpiexec sent nothing"));
        }
        let time = Timespec::try_from(left).ok();
        let reader = channel.reader().into_iter();
        let mut fds: Vec<_> = reader
            .map(|reader| PollFd::from_borrowed_fd(reader, PollFlags::IN))
            .collect();
        if let Some(writer) = channel.waiting_writer() {
            fds.push(PollFd::from_borrowed_fd(writer, PollFlags::OUT));
        }
        // Any answer leads to a read, which tells.
        let _ = rustix::event::poll(&mut fds, time.as_ref());
        channel.write();
        if channel.read().is_err() {
            // The job has ended before it began.
            return Err(fault("mpiexec is gone"));
        }
    }
}

/// The ranks, their streams, the load of their cores, and process id and binding of each.
type Parts = (Started, Vec<Streams>, Load, Vec<(u32, String)>);

fn start_share(share: &NodeStart) -> Result<Parts, LaunchError> {
    let world = share.world()?;
    share.settle()?;
    let plan = share.plan();
    let ranks = u32::try_from(world.len()).unwrap_or(u32::MAX);
    let places = binding::choose(&plan.binding, plan.core_order, ranks)?;
    let nodes = NodePlan {
        node: share.node,
        node_of: &share.node_of,
        hosts: &share.hosts,
        secret: share.secret,
    };
    let own = Share {
        world,
        job_ranks: u32::try_from(share.node_of.len()).unwrap_or(u32::MAX),
        nodes: Some(nodes),
    };
    let (job, wires) = start::start(&plan, &own, &places)?;
    let told = wires.streams.iter().zip(0..);
    let told = told.map(|((pid, _), local)| (*pid, places.text(local)));
    let told = told.collect();
    let streams = wires.streams.into_iter().map(|(_, streams)| streams);
    Ok((job, streams.collect(), Load::new(&places, ranks), told))
}

/// Writes what is queued, as long as the conductor reads.
fn flush(channel: &mut Channel) {
    let until = Instant::now() + FAREWELL_TIME;
    while let Some(writer) = channel.waiting_writer() {
        let left = until.saturating_duration_since(Instant::now());
        let time = Timespec::try_from(left).ok();
        let mut fds = [PollFd::from_borrowed_fd(writer, PollFlags::OUT)];
        if left.is_zero() || rustix::event::poll(&mut fds, time.as_ref()) == Ok(0) {
            return;
        }
        channel.write();
    }
}

/// An event that `poll` can report.
#[derive(Clone, Copy, Debug)]
enum Event {
    Conductor,
    Writer,
    Signals,
    Life(usize),
    Stream(usize, usize),
    Reader,
}

struct Agent {
    channel: Channel,
    inbox: SignalInbox,
    job: Started,
    streams: Vec<Streams>,
    load: Load,
    /// Output in bytes that may be sent before the conductor has passed it on.
    window: usize,
    begin: Instant,
    /// The job's time in milliseconds at `begin`.
    offset_ms: u64,
    heartbeat: Option<Duration>,
    /// When the conductor last said anything.
    heard: Instant,
    /// When this loop last ran.
    polled: Instant,
    /// When it last read the boards of the ranks.
    ticked: Instant,
    /// When this agent last said anything.
    said: Instant,
    /// Whether the conductor said that it is going to be silent.
    held: bool,
    /// What the conductor believes about ranks in MPI.
    in_mpi: bool,
    /// Whether ranks read input.
    reads_input: bool,
    /// Whether the cards of the ranks are still to be sent.
    gathers_cards: bool,
    finished: bool,
}

impl Agent {
    /// Serves until the job ends or the conductor is lost.
    fn watch(&mut self) {
        while !self.finished {
            let Ok(ready) = self.wait_for_events() else {
                let text = "the agent cannot wait for its ranks (poll)".to_owned();
                self.channel.send(&FromAgent::Fault(text));
                return;
            };
            for event in ready {
                if self.handle(event).is_err() {
                    return;
                }
            }
            if self.keep_time().is_err() {
                return;
            }
        }
    }

    /// Ends what is left, sends what the ranks have still written, and says farewell.
    fn end(mut self, orphans: Option<Orphans>) {
        self.job.end();
        if let Some(orphans) = orphans {
            orphans.end();
        }
        if self.finished {
            for index in 0..self.streams.len() {
                self.drain(index);
            }
            self.channel.send(&FromAgent::Done);
        }
        flush(&mut self.channel);
    }

    fn wait_for_events(&self) -> io::Result<Vec<Event>> {
        let mut events = vec![Event::Signals];
        let mut fds = vec![PollFd::new(&self.inbox, PollFlags::IN)];
        if let Some(reader) = self.channel.reader() {
            events.push(Event::Conductor);
            fds.push(PollFd::from_borrowed_fd(reader, PollFlags::IN));
        }
        if let Some(writer) = self.channel.waiting_writer() {
            events.push(Event::Writer);
            fds.push(PollFd::from_borrowed_fd(writer, PollFlags::OUT));
        }
        let mut unwatched = Vec::new();
        for (index, rank) in self.job.ranks.iter().enumerate() {
            match &rank.life {
                _ if rank.exit.is_some() => {}
                Some(life) => {
                    events.push(Event::Life(index));
                    fds.push(PollFd::new(life, PollFlags::IN));
                }
                None => unwatched.push(Event::Life(index)),
            }
        }
        let sources = self.streams.iter().enumerate().filter(|_| self.window > 0);
        for (index, streams) in sources {
            for (which, stream) in streams.iter().enumerate() {
                if let Some(stream) = stream {
                    events.push(Event::Stream(index, which));
                    fds.push(PollFd::new(stream, PollFlags::IN));
                }
            }
        }
        for (_, reader) in self
            .job
            .input
            .iter()
            .flat_map(|input| input.waiting_readers())
        {
            events.push(Event::Reader);
            fds.push(PollFd::from_borrowed_fd(reader, PollFlags::OUT));
        }
        let tick = if self.gathers_cards {
            self.card_period()
        } else {
            TICK
        };
        let tick = tick.min(alive_period(self.heartbeat));
        let interval = if unwatched.is_empty() {
            tick
        } else {
            tick.min(POLL_INTERVAL)
        };
        let time = Timespec::try_from(interval).ok();
        match rustix::event::poll(&mut fds, time.as_ref()) {
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = events
            .iter()
            .zip(&fds)
            .filter(|(_, fd)| !fd.revents().is_empty());
        let ready = ready.map(|(event, _)| *event);
        Ok(ready.chain(unwatched).collect())
    }

    /// # Errors
    /// When the agent must end.
    fn handle(&mut self, event: Event) -> Result<(), Broken> {
        match event {
            Event::Conductor => {
                let read = self.channel.read();
                while let Some(message) = self.channel.next()? {
                    self.heard = Instant::now();
                    self.held = false;
                    self.obey(message);
                }
                // What arrived before the end counts.
                read.or(if self.finished {
                    Ok(())
                } else {
                    Err(Broken::Closed)
                })?;
            }
            Event::Writer => self.channel.write(),
            Event::Signals => return self.take_signals(),
            Event::Life(index) => self.reap(index),
            Event::Stream(index, which) => {
                self.pass_on(index, which, self.window.min(PIECE_BYTES));
            }
            Event::Reader => {
                if let Some(input) = &mut self.job.input {
                    input.give();
                }
                self.tell_input();
            }
        }
        Ok(())
    }

    fn obey(&mut self, message: ToAgent) {
        match message {
            // Ranks that do not get a signal are killed in the end.
            ToAgent::Signal(signal) => drop(self.job.signal(signal)),
            ToAgent::Input(bytes) => {
                if let Some(input) = &mut self.job.input {
                    input.put(bytes.0);
                }
                self.tell_input();
            }
            ToAgent::InputEnd => {
                if let Some(input) = &mut self.job.input {
                    input.close();
                }
                self.job.input = None;
            }
            // The ranks learn it as they would from a reader of their own.
            ToAgent::Unread { error } => {
                let which = usize::from(error);
                self.streams.iter_mut().for_each(|both| both[which] = None);
            }
            ToAgent::Credit(bytes) => {
                self.window = WINDOW_BYTES.min(self.window.saturating_add(bytes as usize));
            }
            ToAgent::Cards(cards) => self.put_cards(&cards),
            // Ranks that do not read the word are signalled as well.
            ToAgent::Death(rank) => drop(self.job.node.set_death(rank)),
            ToAgent::Report => {
                let states = report::states_of(&self.job);
                self.say(&FromAgent::State(states));
            }
            ToAgent::Hold => self.held = true,
            ToAgent::Finish => self.finished = true,
            ToAgent::Alive | ToAgent::Start(_) => {}
        }
    }

    fn say(&mut self, message: &FromAgent) {
        self.said = Instant::now();
        self.channel.send(message);
    }

    /// A signal from outside the job ends this node's part of it.
    fn take_signals(&mut self) -> Result<(), Broken> {
        while let Some(signal) = self.inbox.next_signal() {
            if [
                signals::SIGINT,
                signals::SIGTERM,
                signals::SIGHUP,
                signals::SIGQUIT,
            ]
            .contains(&signal)
            {
                let name = signals::describe(signal).map_or("a signal", |(name, _)| name);
                self.say(&FromAgent::Fault(format!("the agent got {name}")));
                return Err(Broken::Closed);
            }
        }
        Ok(())
    }

    fn reap(&mut self, index: usize) {
        let Some(exit) = self.job.reap(index) else {
            return;
        };
        self.drain(index);
        let board = self.job.board(index);
        self.in_mpi = self.job.is_any_in_mpi();
        let ended = Ended {
            rank: self.job.ranks[index].rank,
            exit,
            state: board.as_ref().map_or(MpiState::STARTED, MpiState::from),
            counters: board.map_or_else(Vec::new, |board| board.counters.to_vec()),
            in_mpi: self.in_mpi,
        };
        self.say(&FromAgent::Ended(ended));
    }

    /// Sends what a rank has written, however full the window is: no more than its pipes held.
    fn drain(&mut self, index: usize) {
        for which in 0..2 {
            let mut left = WINDOW_BYTES;
            while left > 0 {
                match self.pass_on(index, which, PIECE_BYTES) {
                    0 => break,
                    bytes => left = left.saturating_sub(bytes),
                }
            }
        }
    }

    /// Sends a piece of a rank's output, at most so many bytes; how many.
    fn pass_on(&mut self, index: usize, which: usize, most: usize) -> usize {
        let Some(stream) = &mut self.streams[index][which] else {
            return 0;
        };
        if most == 0 {
            return 0;
        }
        let mut bytes = vec![0; most];
        match stream.read(&mut bytes) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
                self.window = self.window.saturating_sub(count);
                let rank = self.job.ranks[index].rank;
                self.say(&FromAgent::Output {
                    rank,
                    error: which == 1,
                    bytes: Payload(bytes),
                });
                count
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                0
            }
            _ => {
                self.streams[index][which] = None;
                0
            }
        }
    }

    /// Asks for more input when the readers have taken all, or says that none is left.
    fn tell_input(&mut self) {
        let Some(input) = &self.job.input else {
            return;
        };
        if input.is_done() {
            self.job.input = None;
            if std::mem::take(&mut self.reads_input) {
                self.say(&FromAgent::InputClosed);
            }
        } else if input.is_taken() {
            self.say(&FromAgent::InputTaken);
        }
    }

    fn card_period(&self) -> Duration {
        let [first, last] = CARD_PERIODS;
        (self.begin.elapsed() / 100).clamp(first, last)
    }

    /// Sends the cards of the node's ranks once all are there.
    fn gather_cards(&mut self) {
        let ranks = self.job.ranks.len();
        let published = self.job.node.cards_published().unwrap_or(0) as usize;
        if published < ranks {
            return;
        }
        let cards = self.job.ranks.iter().map(|process| {
            let card = self.job.node.card(process.rank).unwrap_or_default();
            (process.rank, Payload(card))
        });
        let cards = cards.collect();
        self.gathers_cards = false;
        self.say(&FromAgent::Cards(cards));
    }

    fn put_cards(&mut self, cards: &[(u32, Payload)]) {
        let own: Vec<_> = self.job.ranks.iter().map(|process| process.rank).collect();
        let mut others = cards.iter().filter(|(rank, _)| !own.contains(rank));
        let put = others.try_for_each(|(rank, card)| self.job.node.put_card(*rank, &card.0));
        if let Err(error) = put.and_then(|()| self.job.node.announce_cards()) {
            let text = format!("cannot pass on the addresses of ranks: {error}");
            self.say(&FromAgent::Fault(text));
        }
    }

    /// # Errors
    /// When the conductor has been silent for too long.
    fn keep_time(&mut self) -> Result<(), Broken> {
        let now = Instant::now();
        let paused = now.duration_since(std::mem::replace(&mut self.polled, now));
        if self.gathers_cards {
            self.gather_cards();
        }
        if now.duration_since(self.ticked) >= TICK {
            self.ticked = now;
            self.tick();
        }
        if now.duration_since(self.said) >= alive_period(self.heartbeat) {
            self.say(&FromAgent::Alive);
        }
        if let Some(limit) = self.heartbeat.filter(|_| !self.held) {
            // A node that slept itself knows nothing about the conductor.
            if paused > limit / 2 {
                self.heard = now;
            }
            if now.duration_since(self.heard) > limit {
                return Err(Broken::Closed);
            }
        }
        Ok(())
    }

    /// Advances the job's clock, and reads the ranks' boards and the load of their cores.
    fn tick(&mut self) {
        let job_ms = self.offset_ms.saturating_add(millis(self.begin.elapsed()));
        // The clock is for reports only: a rank that outlives a failed write shows wrong ages.
        let _ = self.job.node.set_clock_ms(job_ms);
        if let Some(why) = self.load.poll(&self.job.node, &self.job.ranks) {
            let text = format!("{why}: ranks are no longer bound to cores");
            self.say(&FromAgent::Notice(text));
        }
        let in_mpi = self.job.is_any_in_mpi();
        if in_mpi != self.in_mpi {
            self.in_mpi = in_mpi;
            self.say(&FromAgent::InMpi(in_mpi));
        }
    }
}
