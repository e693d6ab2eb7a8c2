// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: what its threads share.

use std::sync::{Barrier, Mutex};

use commplan::{Direction, Plan};
use rankpoint::{AnyThread, Communicator, Tag, Threads};

use super::app::App;
use super::domain::Domain;
use super::exchange::{Slots, Worker};
use super::options::Options;
use super::outcome::{Failure, Outcome};
use super::reference::Reference;
use super::tally::Tally;

/// What the threads of a process share.
pub struct Job<'u, T: Threads> {
    /// The program.
    pub app: App,
    /// All ranks.
    pub world: &'u Communicator<'u, T>,
    /// Communicators of the plan, by number.
    pub comms: Vec<Communicator<'u, T>>,
    /// The options.
    pub options: &'u Options,
    /// The field.
    pub domain: Domain,
    /// Which communicator each message uses.
    pub plan: Plan,
    /// Directions of messages.
    pub directions: Vec<Direction>,
    /// The field computed serially; empty without verification.
    pub reference: Reference,
    /// For each thread, its borders for the others.
    pub slots: Vec<Slots>,
    /// The threads.
    pub threads: Barrier,
    /// Sum of the cells of threads that have come so far.
    pub partial_sum: Mutex<u64>,
    /// What the last sum over all cells adds to each cell.
    pub shift: Mutex<u64>,
}

impl<'u, T: Threads> Job<'u, T> {
    /// Plans, and creates the communicators. Called by all ranks.
    fn new(
        world: &'u Communicator<'u, T>,
        options: &'u Options,
        app: App,
    ) -> Result<Self, Failure> {
        let kind = options.mode.plan(options.plan).map_err(Failure::Refused)?;
        let grid = options.grid(app, world.size()).map_err(Failure::Refused)?;
        let planned = Plan::new(&grid, kind, Tag::LARGEST);
        let plan = planned.map_err(|error| Failure::Refused(error.to_string()))?;
        let size = options.size as usize;
        let domain = Domain { grid, size };
        if domain.cells().is_none() {
            return Err(Failure::Refused(
                "more cells than can be counted".to_owned(),
            ));
        }
        let steps = if options.verify { options.steps } else { 0 };
        let reference = Reference::of(&domain, steps, app.has_sum());
        let hints = options.mode.hints();
        let comms = (0..plan.objects()).map(|_| world.duplicate_with(hints));
        let comms = comms.collect::<rankpoint::Result<Vec<_>>>()?;
        let directions = domain.grid.stencil().directions();
        let slot = || [Mutex::default(), Mutex::default()];
        let slots = || directions.iter().map(|_| slot()).collect();
        let count = domain.grid.thread_count();
        Ok(Self {
            app,
            world,
            comms,
            options,
            plan,
            reference,
            slots: (0..count).map(|_| slots()).collect(),
            threads: Barrier::new(count),
            partial_sum: Mutex::default(),
            shift: Mutex::default(),
            domain,
            directions,
        })
    }
}

/// Runs a halo exchange with one thread in each process. Called by all ranks of `world`.
///
/// # Errors
/// When options do not fit together, the library lacks what the mode needs, or a call fails.
pub fn run_alone<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
    app: App,
) -> Result<Outcome, Failure> {
    let job = Job::new(world, options, app)?;
    if job.domain.grid.thread_count() > 1 {
        let why = "several threads need a universe for any thread";
        return Err(Failure::Refused(why.to_owned()));
    }
    let tally = Worker::new(&job, 0).run()?;
    Outcome::of(&job, &[tally])
}

/// Runs a halo exchange with the threads that the options ask for. Called by all ranks of `world`, in one thread. Errors of calls
/// in threads end the job if that is `world`'s error mode; otherwise other threads may wait for a thread that has failed.
///
/// # Errors
/// As for [`run_alone`].
pub fn run_threads(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
    app: App,
) -> Result<Outcome, Failure> {
    let job = Job::new(world, options, app)?;
    let count = job.domain.grid.thread_count();
    let tallies = std::thread::scope(|scope| {
        let job = &job;
        let others = (1..count).map(|id| scope.spawn(move || Worker::new(job, id).run()));
        let others: Vec<_> = others.collect();
        let mut tallies = vec![Worker::new(job, 0).run()];
        for other in others {
            match other.join() {
                Ok(tally) => tallies.push(tally),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        tallies
    });
    let tallies: rankpoint::Result<Vec<Tally>> = tallies.into_iter().collect();
    Outcome::of(&job, &tallies?)
}
