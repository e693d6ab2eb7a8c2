// SPDX-License-Identifier: MIT OR Apache-2.0
//! Borders as messages: of communicators that threads share, or of a thread's endpoint.

use std::time::Instant;

use commplan::Channel;
use rankpoint::{Communicator, Result, Threads};

use super::exchange::{Link, Partner, Worker};
use crate::threads::unpoisoned;

impl<T: Threads> Worker<'_, '_, T> {
    /// Exchanges borders by messages; `comm_of` gives the communicator or endpoint of a number of the plan.
    pub(super) fn exchange<'c, 'v: 'c, C: Threads + 'c>(
        &mut self,
        round: usize,
        comm_of: impl Fn(usize) -> &'c Communicator<'v, C>,
    ) -> Result<()> {
        let begin = Instant::now();
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for (index, link) in self.links.iter_mut().enumerate() {
            if let Partner::Process(Channel { receive, .. }) = link.to {
                let buffer = std::mem::take(&mut link.incoming);
                let comm = comm_of(receive.object);
                receives.push((
                    index,
                    comm.irecv_owned(buffer, receive.peer, code(receive.tag))?,
                ));
            }
        }
        for (index, link) in self.links.iter_mut().enumerate() {
            if let Partner::Process(Channel { send, .. }) = link.to {
                let mut buffer = std::mem::take(&mut link.outgoing);
                self.patch.get(&link.own, &mut buffer);
                let comm = comm_of(send.object);
                sends.push((index, comm.isend_owned(buffer, send.peer, code(send.tag))?));
                self.tally.messages_away += 1;
                self.tally.bytes_away += link.bytes();
            }
        }
        self.leave_borders(round);
        self.tally.times.issue += begin.elapsed();

        let begin = Instant::now();
        for (index, receive) in receives {
            let link = &mut self.links[index];
            link.incoming = receive.wait()?.0;
            self.patch.set(&link.ghost, &link.incoming);
        }
        for (index, send) in sends {
            self.links[index].outgoing = send.wait()?.0;
        }
        self.tally.times.completion += begin.elapsed();
        self.pick_up_borders(round);
        Ok(())
    }

    /// Leaves borders where the other threads of the process pick them up.
    pub(super) fn leave_borders(&mut self, round: usize) {
        let slots = &self.job.slots[self.id];
        for link in self.links.iter().filter(|link| link.is_inside()) {
            let mut slot = unpoisoned(&slots[link.direction][round % 2]);
            self.patch.get(&link.own, &mut slot);
            self.tally.messages_inside += 1;
            self.tally.bytes_inside += link.bytes();
        }
    }

    /// Waits for the other threads of the process, and takes what they left for this one.
    pub(super) fn pick_up_borders(&mut self, round: usize) {
        let begin = Instant::now();
        self.job.threads.wait();
        self.tally.times.barrier += begin.elapsed();

        let begin = Instant::now();
        let directions = self.job.directions.len();
        for link in &self.links {
            if let Partner::Thread(other) = link.to {
                // The opposite direction, in which the other thread sent.
                let slot = &self.job.slots[other][directions - 1 - link.direction][round % 2];
                let slot = unpoisoned(slot);
                self.patch.set(&link.ghost, &slot);
            }
        }
        self.tally.times.completion += begin.elapsed();
    }
}

impl Link {
    const fn is_inside(&self) -> bool {
        matches!(self.to, Partner::Thread(_))
    }
}

/// A tag of a plan, which all are at most [`rankpoint::Tag::LARGEST`].
const fn code(tag: usize) -> i32 {
    tag as i32
}
