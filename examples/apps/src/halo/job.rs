// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: what its threads share.

use std::sync::{Barrier, Mutex};

use commplan::{Direction, Kind, Plan};
use rankpoint::{AnyThread, Communicator, Endpoint, Tag, Threads};

use super::app::App;
use super::domain::Domain;
use super::exchange::{Slots, Worker};
use super::mailboxes;
use super::mode::{MOST_VCIS, Mode};
use super::options::Options;
use super::outcome::Outcome;
use super::partitions;
use super::reference::Reference;
use super::tally::Tally;
use crate::Failure;

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
        let kind = app.plan(options.mode(app), options.plan);
        let kind = kind.map_err(Failure::Refused)?;
        let grid = options.grid(app, world.size()).map_err(Failure::Refused)?;
        let planned = Plan::new(&grid, kind, Tag::LARGEST);
        let plan = planned.map_err(|error| Failure::Refused(error.to_string()))?;
        let size = options.size as usize;
        let domain = Domain {
            stencil: options.stencil(app),
            depth: options.depth as usize,
            ..Domain::new(grid, size)
        };
        if domain.cells().is_none() {
            return Err(Failure::Refused(
                "more cells than can be counted".to_owned(),
            ));
        }
        let steps = if options.verify { options.steps } else { 0 };
        let reference = Reference::of(&domain, steps, app.has_sum());
        let hints = options.mode(app).hints(&plan);
        let objects = if plan.kind() == Kind::Endpoint {
            0
        } else {
            plan.objects()
        };
        let comms = (0..objects).map(|_| world.duplicate_with(hints));
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

impl<T: Threads> Job<'_, T> {
    /// The mode.
    pub fn mode(&self) -> Mode {
        self.options.mode(self.app)
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
    let needs_threads = matches!(options.mode(app), Mode::Endpoint | Mode::Partitioned);
    if needs_threads || job.domain.grid.thread_count() > 1 {
        let why = "several threads, endpoints and partitions need a universe for any thread";
        return Err(Failure::Refused(why.to_owned()));
    }
    let tally = match app.has_windows() {
        true => mailboxes::run_alone(&job)?,
        false => Worker::new(&job, 0).run(None)?,
    };
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
    let tallies = match options.mode(app) {
        Mode::Partitioned => partitions::run(&job)?,
        _ if app.has_windows() => mailboxes::run(&job)?,
        Mode::Endpoint => run_workers(&job, endpoints(&job)?.into_iter().map(Some).collect())?,
        _ => {
            let none = (0..job.domain.grid.thread_count()).map(|_| None);
            run_workers(&job, none.collect())?
        }
    };
    Outcome::of(&job, &tallies)
}

/// An endpoint for each thread. Called by all ranks.
pub(super) fn endpoints<'u>(job: &Job<'u, AnyThread>) -> Result<Vec<Endpoint<'u>>, Failure> {
    let count = job.domain.grid.thread_count();
    if count > MOST_VCIS {
        return Err(Failure::Refused(format!(
            "mode endpoint: {count} threads in a process, expected at most {MOST_VCIS}"
        )));
    }
    Ok(job.world.endpoints(count)?)
}

/// A thread for each endpoint, or for each absence of one.
fn run_workers<'u>(
    job: &Job<'u, AnyThread>,
    endpoints: Vec<Option<Endpoint<'u>>>,
) -> rankpoint::Result<Vec<Tally>> {
    let tallies: Vec<rankpoint::Result<Tally>> = std::thread::scope(|scope| {
        let all = endpoints.into_iter().enumerate();
        let run = |(id, endpoint): (usize, Option<Endpoint<'u>>)| {
            scope.spawn(move || Worker::new(job, id).run(endpoint.as_ref()))
        };
        let all: Vec<_> = all.map(run).collect();
        let ended = all.into_iter().map(|thread| match thread.join() {
            Ok(tally) => tally,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    tallies.into_iter().collect()
}
