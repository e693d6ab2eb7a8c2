// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: its windows, and its threads.

use rankpoint::{AccumulateOrder, AnyThread, Communicator, Endpoint, Threads};

use super::options::Options;
use super::outcome::Outcome;
use super::problem::Problem;
use super::windows::{FactorEpochs, Factors, Sums};
use super::work::{Tally, Task};
use crate::Failure;
use crate::halo::Mode;
use crate::threads::together;

/// What the threads of a process counted, and what is in its memory after them.
#[derive(Default)]
pub(super) struct Found {
    pub(super) tallies: Vec<Tally>,
    pub(super) wrong_tiles: u64,
    pub(super) next: u64,
    /// The order of accumulates to C.
    pub(super) order: AccumulateOrder,
}

/// Multiplies with one thread in each process. Called by all ranks of `world`.
///
/// # Errors
/// When options do not fit together, or a call fails.
pub fn run_alone<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let problem = problem(world, options)?;
    if options.threads > 1 || options.mode == Mode::Endpoint {
        let why = "several threads and endpoints need a universe for any thread";
        return Err(Failure::Refused(why.to_owned()));
    }
    let task = task(&problem, options, 1);
    let process = world.rank();
    let factors = Factors::new(world, &problem, Some(process))?;
    let sums = Sums::new(world, &problem, Some(process), options.order())?;
    let tally = task.work(&factors.lock_all()?, &sums.lock_all()?)?;
    world.barrier()?;
    let found = Found {
        tallies: vec![tally],
        wrong_tiles: sums.wrong_tiles(&problem, process),
        next: sums.next(),
        order: sums.order(),
    };
    factors.free()?;
    sums.free()?;
    Outcome::of(world, options, &problem, &found)
}

/// Multiplies with the threads that the options ask for. Called by all ranks of `world`, in one thread.
///
/// # Errors
/// As for [`run_alone`].
pub fn run_threads(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let problem = problem(world, options)?;
    let found = match options.mode {
        Mode::Endpoint => on_endpoints(world, options, &problem)?,
        _ => on_windows(world, options, &problem)?,
    };
    Outcome::of(world, options, &problem, &found)
}

fn problem<T: Threads>(world: &Communicator<'_, T>, options: &Options) -> Result<Problem, Failure> {
    options.check().map_err(Failure::Refused)?;
    let [tiles, band, edge] = [options.tiles, options.band, options.edge].map(|it| it as usize);
    Ok(Problem::new(tiles, band, edge, world.size()))
}

const fn task<'p>(problem: &'p Problem, options: &Options, ranks_of_process: usize) -> Task<'p> {
    Task {
        problem,
        fault: options.fault,
        ranks_of_process,
        order: options.order(),
    }
}

/// Threads that share windows, or have windows of their own for the factors.
fn on_windows(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
    problem: &Problem,
) -> rankpoint::Result<Found> {
    let (task, process) = (task(problem, options, 1), world.rank());
    let own = match options.mode {
        Mode::Window => options.threads,
        _ => 1,
    };
    let factors = (0..own).map(|_| Factors::new(world, problem, Some(process)));
    let factors = factors.collect::<rankpoint::Result<Vec<_>>>()?;
    let sums = Sums::new(world, problem, Some(process), options.order())?;
    let tallies = {
        let of_factors = factors.iter().map(Factors::lock_all);
        let of_factors = of_factors.collect::<rankpoint::Result<Vec<_>>>()?;
        let of_sums = sums.lock_all()?;
        let (task, of_sums) = (&task, &of_sums);
        let work = |epochs: &FactorEpochs<'_, AnyThread>| task.work(epochs, of_sums);
        let each =
            (0..options.threads as usize).map(|thread| &of_factors[thread % of_factors.len()]);
        together(each, work)?
    };
    world.barrier()?;
    let found = Found {
        tallies,
        wrong_tiles: sums.wrong_tiles(problem, process),
        next: sums.next(),
        order: sums.order(),
    };
    factors.into_iter().try_for_each(Factors::free)?;
    sums.free()?;
    Ok(found)
}

/// Threads that are members of the windows.
fn on_endpoints(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
    problem: &Problem,
) -> rankpoint::Result<Found> {
    let threads = options.threads as usize;
    let task = task(problem, options, threads);
    let endpoints = world.endpoints(threads)?.into_iter().enumerate();
    let process = world.rank();
    let all = together(endpoints, |(thread, endpoint)| {
        let process = (thread == 0).then_some(process);
        on_endpoint(&task, &endpoint, process)
    })?;
    let mut found = Found::default();
    for one in all {
        found.tallies.extend(one.tallies);
        found.wrong_tiles += one.wrong_tiles;
        found.next += one.next;
        found.order = one.order;
    }
    Ok(found)
}

/// A member of the windows; `process` if it is the one with the tiles.
fn on_endpoint(
    task: &Task<'_>,
    endpoint: &Endpoint<'_>,
    process: Option<usize>,
) -> rankpoint::Result<Found> {
    let factors = Factors::new(endpoint, task.problem, process)?;
    let sums = Sums::new(endpoint, task.problem, process, task.order)?;
    let tally = task.work(&factors.lock_all()?, &sums.lock_all()?)?;
    endpoint.barrier()?;
    let found = Found {
        tallies: vec![tally],
        wrong_tiles: process.map_or(0, |it| sums.wrong_tiles(task.problem, it)),
        next: sums.next(),
        order: sums.order(),
    };
    factors.free()?;
    sums.free()?;
    Ok(found)
}
