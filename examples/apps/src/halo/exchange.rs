// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread's work. How its borders reach other processes is in [`super::messages`] and [`super::partitions`].

use std::sync::Mutex;
use std::time::Instant;

use commplan::{Channel, Direction, Grid, Neighbour, Place};
use rankpoint::{Endpoint, Op, Result, Threads};

use super::domain::{shift_of, start};
use super::job::Job;
use super::options::Fault;
use super::patch::{Patch, Side};
use super::tally::Tally;
use crate::hash::weighted;
use crate::threads::unpoisoned;

/// Where a thread leaves its borders for the other threads of its process: by direction, and by even and odd rounds, so that no
/// thread overwrites what another one still reads.
pub type Slots = Vec<[Mutex<Vec<u64>>; 2]>;

/// The neighbour in a direction.
pub(super) struct Link {
    /// Index of the direction.
    pub(super) direction: usize,
    /// Cells to send: places in the patch.
    pub(super) own: Vec<usize>,
    /// Cells to receive.
    pub(super) ghost: Vec<usize>,
    /// The owners of the cells to receive.
    owners: Vec<usize>,
    pub(super) to: Partner,
    pub(super) outgoing: Vec<u64>,
    pub(super) incoming: Vec<u64>,
}

impl Link {
    /// Bytes to send.
    pub(super) const fn bytes(&self) -> u64 {
        size_of::<u64>() as u64 * self.own.len() as u64
    }
}

pub(super) enum Partner {
    /// The thread of this number in the same process.
    Thread(usize),
    Process(Channel),
}

/// A thread at work.
pub struct Worker<'j, 'u, T: Threads> {
    pub(super) job: &'j Job<'u, T>,
    pub(super) place: Place,
    pub(super) id: usize,
    pub(super) patch: Patch,
    /// Places in the patch and numbers in the field of the own cells.
    cells: Vec<(usize, usize)>,
    pub(super) links: Vec<Link>,
    /// Whether there are cells of others below and above along each axis; beyond the domain all are zero.
    open: [[bool; 2]; 3],
    pub(super) tally: Tally,
    /// What the next step adds to each cell.
    shift: u64,
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
            open: [0, 1, 2].map(|axis| [-1, 1].map(|side| is_open(grid, place, axis, side))),
            tally: Tally::default(),
            shift: 0,
        }
    }

    /// All steps. With an endpoint the thread is a rank of its own: it sends and receives, waits for all and adds up by itself.
    ///
    /// # Errors
    /// The first one of a call, when errors do not end the job.
    pub fn run(mut self, endpoint: Option<&Endpoint<'u>>) -> Result<Tally> {
        let job = self.job;
        for round in 0..job.options.rounds() {
            self.wait_for_all(endpoint)?;
            match endpoint {
                Some(endpoint) => self.exchange(round, |_| endpoint)?,
                None => self.exchange(round, |object| &job.comms[object])?,
            }
            self.compute(round, endpoint)?;
        }
        Ok(self.finish())
    }

    /// The steps after an exchange: as many as halos are deep. Each leaves one ghost cell less on each side, where there are any.
    pub(super) fn compute(&mut self, round: usize, endpoint: Option<&Endpoint<'u>>) -> Result<()> {
        let (options, depth) = (self.job.options, self.job.domain.depth);
        let first = round * depth;
        if options.verify {
            self.verify_ghosts(first);
        }
        for left in (0..depth.min(options.steps - first)).rev() {
            let begin = Instant::now();
            let reach = self
                .open
                .map(|sides| sides.map(|is_open| left * usize::from(is_open)));
            self.patch.update(self.shift, reach);
            self.tally.times.compute += begin.elapsed();
            if self.job.app.has_sum() {
                self.shift = self.sum_over_cells(endpoint)?;
            }
        }
        Ok(())
    }

    /// What the thread counted, after all steps.
    pub(super) fn finish(mut self) -> Tally {
        if self.job.options.verify {
            self.verify_own();
        }
        let cells = self.cells.iter();
        let sum = |sum: u64, &(at, cell): &(usize, usize)| {
            sum.wrapping_add(weighted(cell, self.patch.at(at)))
        };
        self.tally.checksum = cells.fold(0, sum);
        self.tally
    }

    /// A barrier of all threads of all ranks, if the options ask for it.
    pub(super) fn wait_for_all(&mut self, endpoint: Option<&Endpoint<'u>>) -> Result<()> {
        if !self.job.options.barrier {
            return Ok(());
        }
        let begin = Instant::now();
        if let Some(endpoint) = endpoint {
            endpoint.barrier()?;
        } else {
            self.job.threads.wait();
            if self.id == 0 {
                self.job.world.barrier()?;
            }
            self.job.threads.wait();
        }
        self.tally.times.barrier += begin.elapsed();
        Ok(())
    }

    /// What the next step adds to each cell: threads add up what they have, and one of them adds up over all ranks; endpoints are ranks.
    fn sum_over_cells(&mut self, endpoint: Option<&Endpoint<'u>>) -> Result<u64> {
        let begin = Instant::now();
        let job = self.job;
        let cells = self.cells.iter().map(|&(at, _)| self.patch.at(at));
        let own = cells.fold(0, u64::wrapping_add);
        if let Some(endpoint) = endpoint {
            let shift = shift_of(endpoint.all_reduce_value(own, Op::SUM)?);
            self.tally.times.sum += begin.elapsed();
            return Ok(shift);
        }
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

/// Whether there are cells of a thread beside a place, along an axis to one side.
fn is_open(grid: &Grid, place: Place, axis: usize, side: i8) -> bool {
    let mut direction = [0; 3];
    direction[axis] = side;
    axis < grid.stencil().axes()
        && grid.neighbour(place, Direction(direction)) != Neighbour::Outside
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
            Some(Fault::WrongDirection) => Direction::opposite(direction),
            _ => direction,
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
