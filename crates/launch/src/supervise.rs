// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event loop: watches the ranks of a job until the last one has ended.
//!
//! It sleeps in one `poll` over everything that can happen: ends of processes, output, input, signals; it wakes by
//! itself only to advance the job's clock, four times a second.

use std::io;
use std::time::{Duration, Instant};

use fabric::board::phase;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use sys::signals::{self, SignalInbox};

use crate::binding::{self, Places};
use crate::failure::{self, Ends, MpiState, Verdict};
use crate::host_names::HostNames;
use crate::load::Load;
use crate::orphans::Orphans;
use crate::outcome::{End, Exit, JobOutcome, RankOutcome, narrow};
use crate::output::{Outputs, Role};
use crate::plan::JobPlan;
use crate::ranks::Started;
use crate::start::{self, Share};
use crate::{LaunchError, notices, program, report};

/// How often the job's clock advances.
pub(crate) const TICK: Duration = Duration::from_millis(250);
/// Polling interval for the end of ranks that have no process descriptor.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Exit status when the time is up.
pub(crate) const TIMED_OUT: u8 = 124;

/// Runs a job of this node to its end.
///
/// # Errors
/// As for [`crate::run()`].
pub(crate) fn run(plan: &JobPlan, role: Role) -> Result<JobOutcome, LaunchError> {
    let ranks = program::total_ranks(&plan.programs)?;
    let places = binding::choose(&plan.binding, plan.core_order, ranks)?;
    let mut inbox = None;
    let mut orphans = None;
    if role == Role::CommandLine {
        inbox = Some(take_signals()?);
        orphans = Orphans::adopt();
    }
    let begin = Instant::now();
    let share = Share {
        world: (0..ranks).collect(),
        job_ranks: ranks,
        nodes: None,
    };
    let (job, wires) = start::start(plan, &share, &places)?;
    let mut supervisor = Supervisor {
        plan,
        load: Load::new(&places, ranks),
        begin,
        host: notices::host_name(),
        stage: Stage::Running,
        end: End::Finished,
        exit_code: None,
        alive: job.ranks.len(),
        outputs: Outputs::new(plan.output.clone(), role, wires),
        ends: Ends::default(),
        inbox,
        job,
    };
    supervisor.tell_places(&places);
    let watched = supervisor.watch();
    let outcome = supervisor.finish();
    if let Some(orphans) = orphans {
        orphans.end();
    }
    watched.map(|()| outcome)
}

/// Takes signals as data, and gives those back their default action that a parent or Rust's runtime changed.
///
/// # Errors
/// When the system refuses a descriptor for signals.
pub(crate) fn take_signals() -> Result<SignalInbox, LaunchError> {
    let watched = [
        signals::SIGINT,
        signals::SIGTERM,
        signals::SIGHUP,
        signals::SIGQUIT,
        signals::SIGUSR1,
        signals::SIGUSR2,
        signals::SIGTSTP,
        signals::SIGCONT,
    ];
    signals::restore_default(&[signals::SIGCHLD, signals::SIGSEGV, signals::SIGBUS]);
    SignalInbox::open(&watched).map_err(|error| LaunchError::system("receive signals", &error))
}

/// How far the end of a job has come.
#[derive(Debug)]
enum Stage {
    Running,
    /// The ranks were asked to end, and are killed at this time.
    Ending(Instant),
    Killed,
    /// The system forbids to kill them.
    Unkillable(io::Error),
}

/// An event that `poll` can report.
#[derive(Clone, Copy, Debug)]
enum Event {
    Signals,
    Life(usize),
    Stream(usize, usize),
    Input,
    Reader,
    Sink,
}

struct Supervisor<'a> {
    plan: &'a JobPlan,
    load: Load,
    begin: Instant,
    host: String,
    stage: Stage,
    end: End,
    exit_code: Option<u8>,
    alive: usize,
    ends: Ends,
    outputs: Outputs,
    inbox: Option<SignalInbox>,
    job: Started,
}

impl Supervisor<'_> {
    /// Supervises the ranks until all have ended. When the system refuses a call that this needs, the ranks are killed.
    fn watch(&mut self) -> Result<(), LaunchError> {
        let watched = self.watch_ranks();
        // Processes that ranks left behind end with the job; they also hold its output open.
        self.job.end();
        for rank in 0..self.job.ranks.len() {
            self.outputs.close(rank);
        }
        watched
    }

    fn watch_ranks(&mut self) -> Result<(), LaunchError> {
        while self.alive > 0 {
            let ready = self
                .wait_for_events(self.next_time())
                .map_err(|error| LaunchError::system("wait for the ranks (poll)", &error))?;
            self.handle(&ready);
            self.keep_time();
            if let Stage::Unkillable(error) = &self.stage {
                let doing = "end the ranks (kill, pidfd_send_signal), which end with mpiexec";
                return Err(LaunchError::system(doing, error));
            }
        }
        Ok(())
    }

    /// Sleeps until something happens, at most until `until`.
    fn wait_for_events(&self, until: Option<Instant>) -> io::Result<Vec<Event>> {
        let mut sources = Vec::new();
        let mut fds = Vec::new();
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        if let Some(inbox) = &self.inbox {
            sources.push(Event::Signals);
            fds.push(PollFd::new(inbox, PollFlags::IN));
        }
        for (index, rank) in self.job.ranks.iter().enumerate() {
            if let (Some(life), None) = (&rank.life, rank.exit) {
                sources.push(Event::Life(index));
                fds.push(PollFd::new(life, PollFlags::IN));
            }
        }
        let ranks = self.job.ranks.iter().enumerate();
        let unwatched = ranks.filter(|(_, rank)| rank.life.is_none() && rank.exit.is_none());
        let unwatched: Vec<_> = unwatched.map(|(index, _)| Event::Life(index)).collect();
        for (rank, which, stream) in self.outputs.readable() {
            sources.push(Event::Stream(rank, which));
            fds.push(PollFd::new(stream, PollFlags::IN));
        }
        if let Some(input) = &self.job.input {
            if input.wants_source() {
                sources.push(Event::Input);
                fds.push(PollFd::new(&stdin, PollFlags::IN));
            }
            for (_, reader) in input.waiting_readers() {
                sources.push(Event::Reader);
                fds.push(PollFd::from_borrowed_fd(reader, PollFlags::OUT));
            }
        }
        for target in self.outputs.waiting() {
            sources.push(Event::Sink);
            let stream = target.descriptor(&stdout, &stderr);
            fds.push(PollFd::from_borrowed_fd(stream, PollFlags::OUT));
        }
        let time = until.map(|until| until.saturating_duration_since(Instant::now()));
        let interval = (!unwatched.is_empty()).then_some(POLL_INTERVAL);
        let time = time.into_iter().chain(interval).min();
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        match rustix::event::poll(&mut fds, time.as_ref()) {
            Ok(0) | Err(Errno::INTR | Errno::AGAIN) => return Ok(unwatched),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = sources
            .iter()
            .zip(&fds)
            .filter(|(_, fd)| !fd.revents().is_empty());
        let ready = ready.map(|(source, _)| *source);
        Ok(ready.chain(unwatched).collect())
    }

    fn handle(&mut self, ready: &[Event]) {
        let mut ended = Vec::new();
        for &source in ready {
            match source {
                Event::Signals => self.take_signals(),
                Event::Life(rank) => {
                    if self.reap(rank) {
                        ended.push(rank);
                    }
                }
                Event::Stream(rank, which) => {
                    self.outputs.read(rank, which);
                }
                Event::Input => {
                    if let Some(input) = &mut self.job.input {
                        input.read_source();
                    }
                }
                Event::Reader => {
                    if let Some(input) = &mut self.job.input {
                        input.give();
                    }
                }
                Event::Sink => self.outputs.write(),
            }
        }
        self.job.input = self.job.input.take().filter(|input| !input.is_done());
        self.judge_ended(&ended);
    }

    fn reap(&mut self, rank: usize) -> bool {
        let Some(exit) = self.job.reap(rank) else {
            return false;
        };
        self.alive -= 1;
        if self.plan.talk.verbose || self.plan.talk.exits {
            self.outputs.say(&format!(
                "{} {exit} after {:.3} s",
                self.name(rank),
                self.begin.elapsed().as_secs_f64()
            ));
        }
        true
    }

    /// Judges the ends of ranks that ended together, and ends the job if one of them is its end.
    fn judge_ended(&mut self, ended: &[usize]) {
        if !matches!(self.stage, Stage::Running) || ended.is_empty() {
            return;
        }
        let in_mpi = self.job.is_any_in_mpi();
        let ended = ended.iter().filter_map(|&rank| {
            let state = self.job.board(rank).as_ref().map(MpiState::from);
            let exit = self.job.ranks[rank].exit?;
            Some((rank, exit, state.unwrap_or(MpiState::STARTED)))
        });
        let ended: Vec<_> = ended.collect();
        if let Some((rank, verdict)) = self.ends.judge(&ended, in_mpi) {
            self.fail(rank, &verdict);
        }
    }

    fn fail(&mut self, rank: usize, verdict: &Verdict) {
        let number = u32::try_from(rank).unwrap_or(u32::MAX);
        // Ranks that wait poll this word; all others are signalled below.
        let _ = self.job.node.set_death(number);
        self.outputs.drain(rank);
        let ending = failure::ending(self.alive);
        let words = self.outputs.last_words(rank).unwrap_or_default();
        self.outputs.say(&format!(
            "{} {}{ending}{words}",
            self.name(rank),
            verdict.text
        ));
        self.exit_code = Some(verdict.exit_code);
        self.end = End::RankFailed { rank: number };
        self.ask_to_end(signals::SIGTERM);
    }

    fn ask_to_end(&mut self, signal: i32) {
        self.stage = Stage::Ending(Instant::now() + self.plan.grace);
        self.tell_all(signal);
        self.tell_all(signals::SIGCONT);
    }

    fn kill(&mut self) {
        self.stage = match self.job.signal(signals::SIGKILL) {
            Ok(()) => Stage::Killed,
            Err(error) => Stage::Unkillable(error),
        };
    }

    /// Signals the ranks; those that do not get it are killed in the end, or that fails with an error.
    fn tell_all(&self, signal: i32) {
        let _ = self.job.signal(signal);
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.inbox.as_mut().and_then(SignalInbox::next_signal) {
            match signal {
                signals::SIGUSR1 => self.outputs.say(&self.report()),
                signals::SIGUSR2 => self.tell_all(signal),
                signals::SIGTSTP => {
                    self.tell_all(signal);
                    let _ = rustix::process::kill_process(
                        rustix::process::getpid(),
                        rustix::process::Signal::STOP,
                    );
                }
                signals::SIGCONT => self.tell_all(signal),
                _ if matches!(self.stage, Stage::Running) => {
                    let name = signals::describe(signal).map_or("a signal", |(name, _)| name);
                    self.outputs.say(&format!("got {name}; ending the job"));
                    self.end = End::Interrupted { signal };
                    self.exit_code = Some(narrow(128 + signal));
                    self.ask_to_end(signal);
                }
                _ => self.kill(),
            }
        }
    }

    /// The time at which the event loop acts without an event.
    fn next_time(&self) -> Option<Instant> {
        match self.stage {
            Stage::Running => {
                let elapsed = self.begin.elapsed();
                let ticks =
                    u32::try_from(elapsed.as_millis() / TICK.as_millis()).unwrap_or(u32::MAX);
                let tick = self.begin + TICK * ticks.saturating_add(1);
                let timeout = self
                    .plan
                    .timeout
                    .and_then(|timeout| self.begin.checked_add(timeout));
                Some(timeout.map_or(tick, |timeout| timeout.min(tick)))
            }
            Stage::Ending(time) => Some(time),
            Stage::Killed | Stage::Unkillable(_) => None,
        }
    }

    fn keep_time(&mut self) {
        let elapsed = self.begin.elapsed();
        // The clock is for reports only: a rank that outlives a failed write shows wrong ages.
        let _ = self.job.node.set_clock_ms(millis(elapsed));
        self.keep_load();
        match self.stage {
            Stage::Running if self.alive > 0 => {
                if self.ends.has_absent() && self.job.is_any_in_mpi() {
                    if let Some((rank, verdict)) = self.ends.judge_absent() {
                        self.fail(rank, &verdict);
                    }
                } else if self.plan.timeout.is_some_and(|timeout| elapsed >= timeout) {
                    self.outputs.say(&self.report());
                    self.outputs.say(&format!(
                        "the job's time of {} s is up; ending it",
                        self.plan.timeout.unwrap_or(elapsed).as_secs_f64()
                    ));
                    self.end = End::TimedOut;
                    self.exit_code = Some(TIMED_OUT);
                    self.ask_to_end(signals::SIGTERM);
                }
            }
            Stage::Ending(time) if Instant::now() >= time => self.kill(),
            _ => {}
        }
    }

    /// Ends the binding of ranks when the load is against it.
    fn keep_load(&mut self) {
        let why = self.load.poll(&self.job.node, &self.job.ranks);
        if let Some(why) = why.filter(|_| self.plan.talk.verbose) {
            self.outputs
                .say(&format!("{why}: ranks are no longer bound to cores"));
        }
    }

    fn report(&self) -> String {
        let states = report::states_of(&self.job);
        report::state_table(&states, self.begin.elapsed(), &HostNames::here())
    }

    fn name(&self, rank: usize) -> String {
        format!(
            "rank {rank} (pid {} on {})",
            self.job.ranks[rank].pid, self.host
        )
    }

    fn tell_places(&mut self, places: &Places) {
        let talk = self.plan.talk;
        if talk.verbose || talk.progress {
            let ranks = self.job.ranks.len();
            self.outputs.say(&format!(
                "started {ranks} ranks on {} in {:.1} ms",
                self.host,
                1e3 * self.begin.elapsed().as_secs_f64()
            ));
        }
        if talk.verbose || talk.bindings {
            for rank in 0..self.job.ranks.len() {
                let place = places.text(u32::try_from(rank).unwrap_or(u32::MAX));
                self.outputs.say(&format!("{} is {place}", self.name(rank)));
            }
        }
    }

    fn finish(mut self) -> JobOutcome {
        if self.exit_code.is_none()
            && let Some((rank, verdict)) = self.ends.first_failure.take()
        {
            self.exit_code = Some(verdict.exit_code);
            let words = self.outputs.last_words(rank).unwrap_or_default();
            self.outputs
                .say(&format!("{} {}{words}", self.name(rank), verdict.text));
        }
        if self.plan.talk.stats {
            let ranks = 0..self.job.ranks.len();
            let counters = ranks.map(|rank| {
                let board = self.job.board(rank);
                board.map_or([0; 64], |board| board.counters)
            });
            let table = report::counter_table(&counters.collect::<Vec<_>>());
            self.outputs.say(&table);
        }
        while self.outputs.waiting().next().is_some() {
            let Ok(ready) = self.wait_for_events(None) else {
                break;
            };
            if ready.iter().any(|source| matches!(source, Event::Signals)) {
                break;
            }
            self.outputs.write();
        }
        let boards: Vec<_> = (0..self.job.ranks.len())
            .map(|rank| {
                self.job
                    .board(rank)
                    .map_or((phase::STARTED, [0; 64]), |board| {
                        (board.phase, board.counters)
                    })
            })
            .collect();
        let ranks = self
            .job
            .ranks
            .iter()
            .zip(boards)
            .zip(self.outputs.captured)
            .enumerate();
        let ranks = ranks.map(
            |(rank, ((process, (phase, counters)), output))| RankOutcome {
                rank: u32::try_from(rank).unwrap_or(u32::MAX),
                pid: process.pid,
                exit: process.exit.unwrap_or(Exit::Unknown),
                phase,
                counters,
                output,
            },
        );
        JobOutcome {
            ranks: ranks.collect(),
            end: self.end,
            messages: self.outputs.messages,
            exit_code: self.exit_code.unwrap_or(u8::from(self.outputs.lost)),
        }
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
