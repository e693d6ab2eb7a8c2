// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the polling thread of a process does: it receives active messages, runs their handlers, and receives again.

use std::time::Instant;

use rankpoint::{AnyThread, Communicator, Op, OwnedRequest, Result, Source, Status, Threads};

use super::job::Job;
use super::message::{COMMAND_WORDS, Kind, Outlet};
use super::options::Fault;
use super::tally::Tally;

/// A receive that is posted again after each message.
pub(super) struct Inlet<'c, 'u, T: Threads> {
    pub(super) outlet: Outlet<'c, 'u, T>,
    /// The tag of its commands.
    pub(super) tag: i32,
}

/// The polling thread.
pub(super) struct Poller<'j, 'c, 'u, T: Threads> {
    job: &'j Job<'j>,
    inlets: &'j [Inlet<'c, 'u, T>],
    receives: Vec<OwnedRequest<'c, 'u, u64, T>>,
    /// A command's buffer, which the next receive takes.
    spare: Vec<u64>,
    /// Charges that other processes have taken from this one.
    taken: u64,
    tally: Tally,
}

impl<'c, 'u, T: Threads> Inlet<'c, 'u, T> {
    fn post(&self, buffer: Vec<u64>) -> Result<OwnedRequest<'c, 'u, u64, T>> {
        self.outlet.comm.irecv_owned(buffer, Source::Any, self.tag)
    }
}

impl<'j, 'c, 'u, T: Threads> Poller<'j, 'c, 'u, T> {
    /// Posts the receives.
    pub(super) fn new(job: &'j Job<'j>, inlets: &'j [Inlet<'c, 'u, T>]) -> Result<Self> {
        let buffer = || vec![0; COMMAND_WORDS];
        let receives = inlets.iter().map(|inlet| inlet.post(buffer()));
        Ok(Self {
            job,
            inlets,
            receives: receives.collect::<Result<_>>()?,
            spare: buffer(),
            taken: 0,
            tally: Tally::default(),
        })
    }

    /// Handles messages until the tasks of all processes have ended, and all messages are handled: when two rounds have found as many
    /// handled as sent, and the same as the other.
    pub(super) fn work(mut self, world: &Communicator<'_, AnyThread>) -> Result<Tally> {
        let ended = loop {
            if !self.poll()? {
                if let Some(ended) = self.job.board.ended(self.job.tasks) {
                    break ended;
                }
                std::thread::yield_now();
            }
        };
        let mut last = None;
        loop {
            while self.poll()? {}
            let sent = ended.sent + self.tally.traffic.commands;
            let mut sums = [sent, self.tally.handled];
            world.all_reduce_in_place(&mut sums, Op::SUM)?;
            if sums[0] == sums[1] && last == Some(sums) {
                break;
            }
            last = Some(sums);
            std::thread::yield_now();
        }
        let process = self.job.process;
        self.tally.findings.compare(self.taken, ended.charges, || {
            format!("process {process}: the number of charges that others have taken from it")
        });
        Ok(self.tally)
    }

    /// Handles a message of each receive that has one, and says whether there was one.
    fn poll(&mut self) -> Result<bool> {
        let mut is_any = false;
        for (at, inlet) in self.inlets.iter().enumerate() {
            if !self.receives[at].is_complete() {
                continue;
            }
            let begin = Instant::now();
            let next = inlet.post(std::mem::take(&mut self.spare))?;
            let done = std::mem::replace(&mut self.receives[at], next);
            let (command, status) = done.wait()?;
            self.handle(&inlet.outlet, &command, status)?;
            self.spare = command;
            self.tally.event(begin.elapsed());
            is_any = true;
        }
        Ok(is_any)
    }

    fn handle(
        &mut self,
        outlet: &Outlet<'_, '_, T>,
        command: &[u64],
        status: Status,
    ) -> Result<()> {
        let board = &self.job.board;
        let (kind, count, values) = outlet.open(command, status)?;
        match kind {
            Kind::Charges => {
                let times = 1 + usize::from(self.is_doubled());
                for pair in (0..times).flat_map(|_| values.chunks_exact(2)) {
                    board.add_charge(pair[0] as usize, pair[1]);
                }
                board.handled(kind, count);
                let to = status.source() / outlet.ranks_of_process;
                let traffic = &mut self.tally.traffic;
                outlet.send(to, Kind::Taken, (count, &[]), traffic)?;
            }
            Kind::Voltages => {
                for pair in values.chunks_exact(2) {
                    board.set_voltage(pair[0] as usize, pair[1]);
                }
                board.handled(kind, count);
            }
            Kind::Taken => self.taken += count,
        }
        Ok(())
    }

    /// Whether a message is handled twice, because that is the error to seed: the first one with charges, which is answered like all.
    fn is_doubled(&self) -> bool {
        let is_seeded = self.job.options.fault == Some(Fault::DoubledMessage);
        is_seeded && self.job.process == 0 && self.tally.traffic.commands == 0
    }
}
