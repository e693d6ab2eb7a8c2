// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: what its threads share.

use std::sync::{Barrier, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rankpoint::{AnyThread, Communicator, Endpoint, Threads};

use super::options::{Collective, Options};
use super::tally::Tally;
use super::vectors::Vectors;
use super::worker::Worker;
use crate::halo::Mode;
use crate::threads::together;
use crate::{Failure, Outcome};

/// What the threads of a process share.
pub(super) struct Job<'u, T: Threads> {
    pub(super) world: &'u Communicator<'u, T>,
    pub(super) options: &'u Options,
    pub(super) vectors: Vectors,
    /// A communicator for each thread, in mode `comm`.
    pub(super) comms: Vec<Communicator<'u, T>>,
    /// What each thread contributes, and what its call gave.
    pub(super) contributions: Vec<RwLock<Vec<u64>>>,
    pub(super) results: Vec<RwLock<Vec<u64>>>,
    pub(super) barrier: Barrier,
}

impl<'u, T: Threads> Job<'u, T> {
    /// Creates the communicators. Called by all ranks.
    fn new(world: &'u Communicator<'u, T>, options: &'u Options) -> Result<Self, Failure> {
        let vectors = options.vectors(world.size()).map_err(Failure::Refused)?;
        let threads = options.threads as usize;
        let comms = match options.mode {
            Mode::Comm => threads,
            _ => 0,
        };
        let comms = (0..comms).map(|_| world.duplicate());
        let comms = comms.collect::<rankpoint::Result<Vec<_>>>()?;
        let empty = || (0..threads).map(|_| RwLock::default()).collect();
        Ok(Self {
            world,
            options,
            vectors,
            comms,
            contributions: empty(),
            results: empty(),
            barrier: Barrier::new(threads),
        })
    }

    /// Threads of the process.
    pub(super) const fn threads(&self) -> usize {
        self.options.threads as usize
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
    if options.threads > 1 || options.mode == Mode::Endpoint {
        let why = "several threads and endpoints need a universe for any thread";
        return Err(Failure::Refused(why.to_owned()));
    }
    let tally = Worker::new(&job, 0).work(None)?;
    outcome(&job, &[tally])
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
    let tallies = match options.mode {
        Mode::Endpoint => {
            let endpoints = world.endpoints(job.threads())?.into_iter().enumerate();
            together(endpoints, |(thread, endpoint): (usize, Endpoint<'_>)| {
                Worker::new(&job, thread).work(Some(&endpoint))
            })?
        }
        _ => together(0..job.threads(), |thread| {
            Worker::new(&job, thread).work(None)
        })?,
    };
    outcome(&job, &tallies)
}

fn outcome<T: Threads>(job: &Job<'_, T>, tallies: &[Tally]) -> Result<Outcome, Failure> {
    let options = job.options;
    let about = format!(
        "collectives, {} in mode {}, {} threads in each of {} processes, {} vectors of {} numbers, {} steps",
        match options.collective {
            Collective::Allreduce => "allreduce",
            Collective::Allgather => "allgather",
        },
        options.mode.name(),
        options.threads,
        job.world.size(),
        options.vectors,
        options.count,
        options.steps
    );
    let created = match options.mode {
        Mode::Endpoint => ("endpoints", job.threads()),
        _ => ("communicators", job.comms.len()),
    };
    Outcome::of(job.world, about, created, tallies)
}

/// What a lock guards. A thread that panicked ends the job, so no other one goes on with half a value for long.
pub(super) fn read(lock: &RwLock<Vec<u64>>) -> RwLockReadGuard<'_, Vec<u64>> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// As [`read`], to replace it.
pub(super) fn write(lock: &RwLock<Vec<u64>>) -> RwLockWriteGuard<'_, Vec<u64>> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
