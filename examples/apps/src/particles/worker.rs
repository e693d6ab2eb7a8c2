// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread does: it moves its particles, hands over those that leave its patch, first how many and then themselves, and takes others.

use std::ops::Range;
use std::time::Instant;

use commplan::{Channel, Direction, Neighbour, Place};
use rankpoint::{Communicator, Result, Threads};

use super::job::Job;
use super::space::Particle;
use super::tally::Tally;
use crate::outcome::end;
use crate::threads::unpoisoned;

/// A thread.
pub(super) struct Worker<'j, 'u, T: Threads> {
    job: &'j Job<'u, T>,
    id: usize,
    place: Place,
    patch: [Range<i32>; 3],
    particles: Vec<Particle>,
    /// For each direction where it leads, and what leaves there.
    exits: Vec<(Exit, Vec<Particle>)>,
    tally: Tally,
}

/// Where a direction leads.
#[derive(Clone, Copy)]
enum Exit {
    /// To the thread of this number in the same process.
    Thread(usize),
    Process(Channel),
}

impl<'j, 'u, T: Threads> Worker<'j, 'u, T> {
    /// The thread of a number, with the particles of its patch.
    pub(super) fn new(job: &'j Job<'u, T>, id: usize) -> Self {
        let grid = &job.space.grid;
        let place = Place {
            process: grid.process_of(job.world.rank()),
            thread: grid.thread_of(id),
        };
        let patch = job.space.patch(place);
        let all = (0..job.space.particles).map(|it| job.space.particle(it));
        let is_here = |it: &Particle| (0..3).all(|axis| patch[axis].contains(&it.at[axis]));
        let exit = |&direction: &Direction| match grid.neighbour(place, direction) {
            Neighbour::Inside(thread) => Some((Exit::Thread(grid.thread_id(thread)), Vec::new())),
            _ => {
                let channel = job.plan.comm_for(place, direction)?;
                Some((Exit::Process(channel), Vec::new()))
            }
        };
        Self {
            job,
            id,
            place,
            particles: all.filter(is_here).collect(),
            patch,
            // The box is periodic: each direction leads somewhere.
            exits: job.directions.iter().filter_map(exit).collect(),
            tally: Tally::default(),
        }
    }

    /// All steps; `comm_of` gives the communicator or endpoint of a number of the plan.
    pub(super) fn work<'c, 'v: 'c, C: Threads + 'c>(
        mut self,
        comm_of: impl Fn(usize) -> &'c Communicator<'v, C>,
    ) -> Result<Tally> {
        for step in 0..self.job.options.steps {
            self.advance();
            self.exchange(&comm_of)?;
            self.pick_up(step % 2);
        }
        self.compare();
        Ok(self.tally)
    }

    /// Moves all particles, and sorts out those that leave.
    fn advance(&mut self) {
        let mut since = Instant::now();
        let (space, patch, exits) = (&self.job.space, &self.patch, &mut self.exits);
        let directions = &self.job.directions;
        self.particles.retain_mut(|particle| {
            let direction = space.advance(particle, patch);
            let exit = directions.iter().position(|it| it.0 == direction);
            if let Some(exit) = exit {
                exits[exit].1.push(*particle);
            }
            exit.is_none()
        });
        end(&mut self.tally.advance, &mut since);
    }

    /// Hands particles over, and takes those of other processes.
    fn exchange<'c, 'v: 'c, C: Threads + 'c>(
        &mut self,
        comm_of: &impl Fn(usize) -> &'c Communicator<'v, C>,
    ) -> Result<()> {
        let mut since = Instant::now();
        let channels = self.exits.iter().filter_map(|(exit, _)| match exit {
            Exit::Process(channel) => Some(*channel),
            Exit::Thread(_) => None,
        });
        let channels: Vec<Channel> = channels.collect();
        let (mut counts, mut count_sends, mut list_sends) = (Vec::new(), Vec::new(), Vec::new());
        for Channel { receive, .. } in &channels {
            let (comm, tag) = (comm_of(receive.object), receive.tag as i32);
            counts.push(comm.irecv_owned(vec![0u64], receive.peer, tag)?);
        }
        for (exit, leaving) in &mut self.exits {
            let Exit::Process(Channel { send, .. }) = exit else {
                continue;
            };
            if !leaving.is_empty() && self.job.loses_one() {
                leaving.pop();
            }
            let (comm, tag) = (comm_of(send.object), send.tag as i32);
            let leaving = std::mem::take(leaving);
            let count = vec![leaving.len() as u64];
            count_sends.push(comm.isend_owned(count, send.peer, tag)?);
            self.tally.counts += 1;
            if !leaving.is_empty() {
                self.tally.away += leaving.len() as u64;
                self.tally.lists += 1;
                list_sends.push(comm.isend_owned(leaving, send.peer, tag)?);
            }
        }
        end(&mut self.tally.issue, &mut since);
        let mut lists = Vec::new();
        for (count, Channel { receive, .. }) in counts.into_iter().zip(&channels) {
            let count = count.wait()?.0[0] as usize;
            if count > 0 {
                let (comm, tag) = (comm_of(receive.object), receive.tag as i32);
                let list = vec![Particle::default(); count];
                lists.push(comm.irecv_owned(list, receive.peer, tag)?);
            }
        }
        for list in lists {
            self.particles.extend(list.wait()?.0);
        }
        for send in count_sends {
            send.wait()?;
        }
        for send in list_sends {
            send.wait()?;
        }
        end(&mut self.tally.completion, &mut since);
        Ok(())
    }

    /// Leaves particles for other threads of the process, waits for them, and takes what they left.
    fn pick_up(&mut self, parity: u64) {
        let mut since = Instant::now();
        let (job, parity) = (self.job, parity as usize);
        for (direction, (exit, leaving)) in self.exits.iter_mut().enumerate() {
            if matches!(exit, Exit::Thread(_)) {
                self.tally.inside += leaving.len() as u64;
                let slot = &job.slots[self.id][direction][parity];
                unpoisoned(slot).append(leaving);
            }
        }
        end(&mut self.tally.issue, &mut since);
        job.threads.wait();
        end(&mut self.tally.barrier, &mut since);
        for (direction, (exit, _)) in self.exits.iter().enumerate() {
            if let Exit::Thread(other) = exit {
                // The opposite direction, in which the other thread left them.
                let slot = &job.slots[*other][job.directions.len() - 1 - direction][parity];
                self.particles.append(&mut unpoisoned(slot));
            }
        }
        end(&mut self.tally.completion, &mut since);
    }

    /// Compares particles with where they should be.
    fn compare(&mut self) {
        let (job, place) = (self.job, self.place);
        let findings = &mut self.tally.findings;
        for particle in &self.particles {
            particle.add_to(&mut self.tally.sums);
            findings.checksum = findings.checksum.wrapping_add(particle.hash());
            if !job.options.verify {
                continue;
            }
            findings.verified += 1;
            let expected = job.space.after(job.options.steps, particle.id);
            let is_here = (0..3).all(|axis| self.patch[axis].contains(&particle.at[axis]));
            if *particle != expected || !is_here {
                let Place { process, thread } = place;
                findings.wrong(|| {
                    format!("process {process:?}, thread {thread:?}: {particle:?}, expected {expected:?} in the patch {:?}", self.patch)
                });
            }
        }
    }
}
