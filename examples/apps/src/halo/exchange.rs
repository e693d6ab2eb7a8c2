// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread's work.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use commplan::{Channel, Neighbour, Place};
use rankpoint::{Op, Result, Threads};

use super::domain::{shift_of, start, weighted};
use super::job::Job;
use super::options::Fault;
use super::patch::{Patch, Side};
use super::tally::Tally;

/// Where a thread leaves its borders for the other threads of its process: by direction, and by even and odd steps, so that no
/// thread overwrites what another one still reads.
pub type Slots = Vec<[Mutex<Vec<u64>>; 2]>;

/// The neighbour in a direction.
struct Link {
    direction: usize,
    /// Cells to send: places in the patch.
    own: Vec<usize>,
    /// Cells to receive.
    ghost: Vec<usize>,
    /// The owners of the cells to receive.
    owners: Vec<usize>,
    to: Partner,
    outgoing: Vec<u64>,
    incoming: Vec<u64>,
}

enum Partner {
    /// The thread of this number in the same process.
    Thread(usize),
    Process(Channel),
}

/// A thread at work.
pub struct Worker<'j, 'u, T: Threads> {
    job: &'j Job<'u, T>,
    place: Place,
    id: usize,
    patch: Patch,
    /// Places in the patch and numbers in the field of the own cells.
    cells: Vec<(usize, usize)>,
    links: Vec<Link>,
    tally: Tally,
}

impl<'j, 'u, T: Threads> Worker<'j, 'u, T> {
    /// The thread of a number, with its patch as it is at the start.
    pub fn new(job: &'j Job<'u, T>, id: usize) -> Self {
        let grid = &job.domain.grid;
        let place = Place {
            process: grid.process_of(job.world.rank()),
            thread: grid.thread_of(id),
        };
        let origin = job.domain.origin(place);
        let mut patch = Patch::new(&job.domain);
        let own = patch.own_cells().into_iter();
        let cells = own.filter_map(|(at, by)| Some((at, job.domain.cell(origin, by)?)));
        let cells: Vec<(usize, usize)> = cells.collect();
        for &(at, cell) in &cells {
            patch.set(&[at], &[start(cell)]);
        }
        let links = links(job, place, &patch);
        Self {
            job,
            place,
            id,
            patch,
            cells,
            links,
            tally: Tally::default(),
        }
    }

    /// All steps.
    ///
    /// # Errors
    /// The first one of a call, when errors do not end the job.
    pub fn run(mut self) -> Result<Tally> {
        let mut shift = 0;
        for step in 0..self.job.options.steps {
            if self.job.options.barrier {
                self.wait_for_all()?;
            }
            self.exchange(step)?;
            if self.job.options.verify {
                self.verify_ghosts(step);
            }
            let begin = Instant::now();
            self.patch.update(shift);
            self.tally.times.compute += begin.elapsed();
            if self.job.app.has_sum() {
                shift = self.sum_over_cells()?;
            }
        }
        if self.job.options.verify {
            self.verify_own();
        }
        let cells = self.cells.iter();
        let sum = |sum: u64, &(at, cell): &(usize, usize)| {
            sum.wrapping_add(weighted(cell, self.patch.at(at)))
        };
        self.tally.checksum = cells.fold(0, sum);
        Ok(self.tally)
    }

    /// A barrier of all threads of all ranks.
    fn wait_for_all(&mut self) -> Result<()> {
        let begin = Instant::now();
        self.job.threads.wait();
        if self.id == 0 {
            self.job.world.barrier()?;
        }
        self.job.threads.wait();
        self.tally.times.barrier += begin.elapsed();
        Ok(())
    }

    /// What the next step adds to each cell: threads add up what they have, and one of them adds up over all ranks.
    fn sum_over_cells(&mut self) -> Result<u64> {
        let begin = Instant::now();
        let job = self.job;
        let cells = self.cells.iter().map(|&(at, _)| self.patch.at(at));
        let own = cells.fold(0, u64::wrapping_add);
        {
            let mut sum = unpoisoned(&job.partial_sum);
            *sum = sum.wrapping_add(own);
        }
        job.threads.wait();
        if self.id == 0 {
            let sum = std::mem::take(&mut *unpoisoned(&job.partial_sum));
            *unpoisoned(&job.shift) = shift_of(job.world.all_reduce_value(sum, Op::SUM)?);
        }
        job.threads.wait();
        let shift = *unpoisoned(&job.shift);
        self.tally.times.sum += begin.elapsed();
        Ok(shift)
    }

    fn exchange(&mut self, step: usize) -> Result<()> {
        let (job, slots) = (self.job, &self.job.slots[self.id]);
        let tally = &mut self.tally;
        let begin = Instant::now();
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for (index, link) in self.links.iter_mut().enumerate() {
            if let Partner::Process(Channel { receive, .. }) = link.to {
                let buffer = std::mem::take(&mut link.incoming);
                let comm = &job.comms[receive.object];
                receives.push((
                    index,
                    comm.irecv_owned(buffer, receive.peer, code(receive.tag))?,
                ));
            }
        }
        for (index, link) in self.links.iter_mut().enumerate() {
            let bytes = size_of::<u64>() as u64 * link.own.len() as u64;
            match link.to {
                Partner::Process(Channel { send, .. }) => {
                    let mut buffer = std::mem::take(&mut link.outgoing);
                    self.patch.get(&link.own, &mut buffer);
                    let comm = &job.comms[send.object];
                    sends.push((index, comm.isend_owned(buffer, send.peer, code(send.tag))?));
                    tally.messages_away += 1;
                    tally.bytes_away += bytes;
                }
                Partner::Thread(_) => {
                    let slot = &slots[link.direction][step % 2];
                    let mut slot = unpoisoned(slot);
                    self.patch.get(&link.own, &mut slot);
                    tally.messages_inside += 1;
                    tally.bytes_inside += bytes;
                }
            }
        }
        tally.times.issue += begin.elapsed();

        let begin = Instant::now();
        for (index, receive) in receives {
            let link = &mut self.links[index];
            link.incoming = receive.wait()?.0;
            self.patch.set(&link.ghost, &link.incoming);
        }
        for (index, send) in sends {
            self.links[index].outgoing = send.wait()?.0;
        }
        tally.times.completion += begin.elapsed();

        let begin = Instant::now();
        job.threads.wait();
        tally.times.barrier += begin.elapsed();

        let begin = Instant::now();
        let directions = job.directions.len();
        for link in &self.links {
            if let Partner::Thread(other) = link.to {
                // The opposite direction, in which the other thread sent.
                let slot = &job.slots[other][directions - 1 - link.direction][step % 2];
                let slot = unpoisoned(slot);
                self.patch.set(&link.ghost, &slot);
            }
        }
        tally.times.completion += begin.elapsed();
        Ok(())
    }

    /// Compares ghost cells with the values that their owners have before a step.
    fn verify_ghosts(&mut self, step: usize) {
        for link in &self.links {
            for (&at, &owner) in link.ghost.iter().zip(&link.owners) {
                let what = || {
                    format!(
                        "ghost cell in direction {:?}",
                        self.job.directions[link.direction].0
                    )
                };
                let found = self.patch.at(at);
                verify(
                    self.job,
                    &mut self.tally,
                    self.place,
                    step,
                    owner,
                    found,
                    what,
                );
            }
        }
    }

    /// Compares own cells with their values after all steps.
    fn verify_own(&mut self) {
        let steps = self.job.options.steps;
        for &(at, cell) in &self.cells {
            let found = self.patch.at(at);
            verify(
                self.job,
                &mut self.tally,
                self.place,
                steps,
                cell,
                found,
                || "own cell".to_owned(),
            );
        }
    }
}

fn verify<T: Threads>(
    job: &Job<'_, T>,
    tally: &mut Tally,
    place: Place,
    steps: usize,
    cell: usize,
    found: u64,
    what: impl Fn() -> String,
) {
    let Some(expected) = job.reference.value(steps, cell) else {
        return;
    };
    tally.verified += 1;
    if found == expected {
        return;
    }
    tally.wrong += 1;
    tally.first_wrong.get_or_insert_with(|| {
        let Place { process, thread } = place;
        format!(
            "after {steps} steps, process {process:?}, thread {thread:?}: {} is {found}, expected {expected} of cell {:?}",
            what(),
            job.domain.coords(cell)
        )
    });
}

/// The neighbours of a thread.
fn links<T: Threads>(job: &Job<'_, T>, place: Place, patch: &Patch) -> Vec<Link> {
    let grid = &job.domain.grid;
    let origin = job.domain.origin(place);
    let link = |(index, &direction)| {
        let to = match grid.neighbour(place, direction) {
            Neighbour::Outside => return None,
            Neighbour::Inside(thread) => Partner::Thread(grid.thread_id(thread)),
            Neighbour::Away(_) => Partner::Process(job.plan.comm_for(place, direction)?),
        };
        let sent = match job.options.fault {
            Some(Fault::WrongDirection) => commplan::Direction::opposite(direction),
            None => direction,
        };
        let ghost = patch.side(direction, Side::Ghost);
        let owners = patch.steps(direction, Side::Ghost);
        let owners = owners.filter_map(|by| job.domain.cell(origin, by));
        Some(Link {
            direction: index,
            own: patch.side(sent, Side::Own),
            owners: owners.collect(),
            to,
            outgoing: Vec::new(),
            incoming: vec![0; ghost.len()],
            ghost,
        })
    };
    job.directions.iter().enumerate().filter_map(link).collect()
}

/// What a mutex holds. A thread that panicked ends the job, so no other one goes on with half a value for long.
fn unpoisoned<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tag of a plan, which all are at most [`rankpoint::Tag::LARGEST`].
const fn code(tag: usize) -> i32 {
    tag as i32
}
