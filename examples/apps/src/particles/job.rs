// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: what its threads share.

use std::sync::{Barrier, Mutex};

use commplan::{Direction, Kind, Plan};
use rankpoint::{AnyThread, Communicator, Endpoint, Op, Tag, Threads};

use super::options::Options;
use super::space::{Particle, SUMS, Space, Sums};
use super::tally::Tally;
use super::worker::Worker;
use crate::halo::Mode;
use crate::halo::mode::MOST_VCIS;
use crate::threads::{together, unpoisoned};
use crate::{Failure, Outcome};

/// Where a thread leaves particles for the others of its process: by direction, and by even and odd steps, so that no thread adds to what
/// another one still takes.
type Slots = Vec<[Mutex<Vec<Particle>>; 2]>;

/// What the threads of a process share.
pub(super) struct Job<'u, T: Threads> {
    pub(super) world: &'u Communicator<'u, T>,
    pub(super) options: &'u Options,
    pub(super) space: Space,
    pub(super) plan: Plan,
    pub(super) directions: Vec<Direction>,
    /// For each thread what it leaves for the others.
    pub(super) slots: Vec<Slots>,
    pub(super) threads: Barrier,
    comms: Vec<Communicator<'u, T>>,
    /// Whether a particle is still to be lost.
    loses: Mutex<bool>,
}

impl<'u, T: Threads> Job<'u, T> {
    /// Plans, and creates the communicators. Called by all ranks.
    fn new(world: &'u Communicator<'u, T>, options: &'u Options) -> Result<Self, Failure> {
        let kind = options.plan().map_err(Failure::Refused)?;
        let space = options.space(world.size()).map_err(Failure::Refused)?;
        let threads = space.grid.thread_count();
        if kind == Kind::Endpoint && threads > MOST_VCIS {
            return Err(Failure::Refused(format!(
                "mode endpoint: {threads} threads in a process, expected at most {MOST_VCIS}"
            )));
        }
        let plan = Plan::new(&space.grid, kind, Tag::LARGEST);
        let plan = plan.map_err(|error| Failure::Refused(error.to_string()))?;
        let objects = match kind {
            Kind::Endpoint => 0,
            _ => plan.objects(),
        };
        let hints = options.mode.hints(&plan);
        let comms = (0..objects).map(|_| world.duplicate_with(hints));
        let comms = comms.collect::<rankpoint::Result<Vec<_>>>()?;
        let directions = space.grid.stencil().directions();
        let slot = || [Mutex::default(), Mutex::default()];
        let slots = || directions.iter().map(|_| slot()).collect();
        Ok(Self {
            world,
            options,
            plan,
            slots: (0..threads).map(|_| slots()).collect(),
            directions,
            threads: Barrier::new(threads),
            comms,
            loses: Mutex::new(options.fault.is_some() && world.rank() == 0),
            space,
        })
    }

    /// Whether the caller has to lose a particle, because that is the error to seed.
    pub(super) fn loses_one(&self) -> bool {
        std::mem::take(&mut unpoisoned(&self.loses))
    }
}

/// Runs with one thread in each process. Called by all ranks of `world`.
///
/// # Errors
/// When options do not fit together, or a call fails.
pub fn run_alone<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let job = Job::new(world, options)?;
    if job.space.grid.thread_count() > 1 || options.mode == Mode::Endpoint {
        let why = "several threads and endpoints need a universe for any thread";
        return Err(Failure::Refused(why.to_owned()));
    }
    let tally = Worker::new(&job, 0).work(|object| &job.comms[object])?;
    outcome(&job, vec![tally])
}

/// Runs with the threads that the options ask for. Called by all ranks of `world`, in one thread.
///
/// # Errors
/// As for [`run_alone`].
pub fn run_threads(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let job = Job::new(world, options)?;
    let threads = job.space.grid.thread_count();
    let tallies = match options.mode {
        Mode::Endpoint => {
            let endpoints = world.endpoints(threads)?.into_iter().enumerate();
            together(endpoints, |(id, endpoint): (usize, Endpoint<'_>)| {
                Worker::new(&job, id).work(|_| &endpoint)
            })?
        }
        _ => together(0..threads, |id| {
            Worker::new(&job, id).work(|object| &job.comms[object])
        })?,
    };
    outcome(&job, tallies)
}

/// Compares the sums over all particles, and sums up.
fn outcome<T: Threads>(job: &Job<'_, T>, mut tallies: Vec<Tally>) -> Result<Outcome, Failure> {
    let (options, grid) = (job.options, &job.space.grid);
    let mut sums = Sums::default();
    for tally in &tallies {
        let all = sums.iter_mut().zip(tally.sums);
        all.for_each(|(sum, it)| *sum = sum.wrapping_add(it));
    }
    job.world.all_reduce_in_place(&mut sums, Op::SUM)?;
    if options.verify && job.world.rank() == 0 {
        let pairs = sums.into_iter().zip(job.space.sums()).zip(SUMS);
        for ((found, expected), name) in pairs {
            let findings = &mut tallies[0].findings;
            findings.compare(found, expected, || name.to_owned());
        }
    }
    let about = format!(
        "particles, mode {}, {:?} threads in each of {:?} processes, {} particles in {size} x {size} x {size} cells, {} steps",
        options.mode.name(),
        grid.threads(),
        grid.processes(),
        options.particles,
        options.steps,
        size = options.size
    );
    let created = match options.mode {
        Mode::Endpoint => ("endpoints", grid.thread_count()),
        _ => ("communicators", job.comms.len()),
    };
    Outcome::of(job.world, about, created, &tallies)
}
