// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: its windows, and its threads.

use rankpoint::{AnyThread, Communicator, Endpoint, Threads};

use super::arrays::{Access, Arrays};
use super::options::Options;
use super::problem::Problem;
use super::worker::{Tally, Worker};
use crate::halo::Mode;
use crate::threads::together;
use crate::{Failure, Outcome};

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
    let tally = as_member(world, worker(world, options, problem, 0), world.rank() == 0)?;
    outcome(world, options, &problem, (1, &[tally]))
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
    let (windows, tallies) = match options.mode {
        Mode::Endpoint => on_endpoints(world, options, problem)?,
        _ => on_windows(world, options, problem)?,
    };
    outcome(world, options, &problem, (windows, &tallies))
}

fn problem<T: Threads>(world: &Communicator<'_, T>, options: &Options) -> Result<Problem, Failure> {
    options.problem(world.size()).map_err(Failure::Refused)
}

fn worker<'o, T: Threads>(
    world: &Communicator<'_, T>,
    options: &'o Options,
    problem: Problem,
    thread: usize,
) -> Worker<'o> {
    Worker {
        options,
        problem,
        client: problem.client(world.rank(), world.size()),
        thread,
    }
}

fn outcome<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
    problem: &Problem,
    (windows, tallies): (usize, &[Tally]),
) -> Result<Outcome, Failure> {
    let (mode, Problem { tiles, edge, .. }) = (options.mode.name(), problem);
    let about = format!(
        "ga-dgemm, mode {mode}, {} threads in each of {} clients, {tiles} x {tiles} tiles of {edge} x {edge} numbers",
        problem.threads, problem.clients
    );
    Outcome::of(world, about, ("windows", windows), tallies)
}

/// A thread that is a rank of the window.
fn as_member<T: Threads>(
    comm: &Communicator<'_, T>,
    worker: Worker<'_>,
    has_arrays: bool,
) -> rankpoint::Result<Tally> {
    let arrays = Arrays::new(comm, &worker.problem)?;
    let mut tally = worker.work(&arrays.access()?)?;
    comm.barrier()?;
    if has_arrays {
        worker.compare(std::slice::from_ref(&arrays), &mut tally);
    }
    arrays.free()?;
    Ok(tally)
}

/// Threads that share a window, or have one each: number of windows, and what the threads counted.
fn on_windows(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
    problem: Problem,
) -> rankpoint::Result<(usize, Vec<Tally>)> {
    let windows = match options.mode {
        Mode::Window => problem.threads,
        _ => 1,
    };
    let all = (0..windows).map(|_| Arrays::new(world, &problem));
    let all = all.collect::<rankpoint::Result<Vec<_>>>()?;
    let mut tallies = {
        let accesses = all.iter().map(Arrays::access);
        let accesses = accesses.collect::<rankpoint::Result<Vec<_>>>()?;
        let accesses = &accesses;
        together(0..problem.threads, |thread| {
            let access: &Access<'_, AnyThread> = &accesses[thread % windows];
            worker(world, options, problem, thread).work(access)
        })?
    };
    world.barrier()?;
    if world.rank() == 0 {
        worker(world, options, problem, 0).compare(&all, &mut tallies[0]);
    }
    all.into_iter().try_for_each(Arrays::free)?;
    Ok((windows, tallies))
}

/// Threads that are members of a window, each with a handle of its own.
fn on_endpoints(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
    problem: Problem,
) -> rankpoint::Result<(usize, Vec<Tally>)> {
    let endpoints = world.endpoints(problem.threads)?.into_iter().enumerate();
    let tallies = together(endpoints, |(thread, endpoint): (usize, Endpoint<'_>)| {
        let has_arrays = world.rank() == 0 && thread == 0;
        let worker = worker(world, options, problem, thread);
        as_member(&endpoint, worker, has_arrays)
    })?;
    Ok((tallies.len(), tallies))
}
