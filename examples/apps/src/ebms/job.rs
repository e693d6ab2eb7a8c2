// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: its windows, and its workers.

use rankpoint::{AnyThread, Communicator, Endpoint, Threads};

use super::options::Options;
use super::problem::Problem;
use super::stock::{Holding, Map, Source, Stock};
use super::worker::{Node, Tally, Worker};
use crate::halo::Mode;
use crate::threads::together;
use crate::{Failure, Outcome};

/// Runs with one thread in each process. Called by all ranks of `world`.
///
/// # Errors
/// When options do not fit together, or a call fails.
pub fn run_alone<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let problem = problem(world, options)?;
    let has_threads = options.mode != Mode::Processes && options.workers > 1;
    if has_threads || options.mode == Mode::Endpoint {
        let why = "several threads and endpoints need a universe for any thread";
        return Err(Failure::Refused(why.to_owned()));
    }
    let tally = in_one_thread(world, options, problem)?;
    outcome(world, options, &problem, (1, &[tally]))
}

/// Runs with the threads that the options ask for. Called by all ranks of `world`, in one thread.
///
/// # Errors
/// As for [`run_alone`].
pub fn run_threads(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let problem = problem(world, options)?;
    let (windows, tallies) = match options.mode {
        Mode::Processes => (1, vec![in_one_thread(world, options, problem)?]),
        Mode::Endpoint => on_endpoints(world, options, problem)?,
        _ => on_windows(world, options, problem)?,
    };
    outcome(world, options, &problem, (windows, &tallies))
}

fn problem<T: Threads>(world: &Communicator<'_, T>, options: &Options) -> Result<Problem, Failure> {
    options.problem(world.size()).map_err(Failure::Refused)
}

fn outcome<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
    problem: &Problem,
    (windows, tallies): (usize, &[Tally]),
) -> Result<Outcome, Failure> {
    let (mode, bytes) = (options.mode.name(), options.size);
    let Problem {
        bands,
        nodes,
        workers,
        particles,
        lookups,
        ..
    } = problem;
    let about = format!(
        "ebms, mode {mode}, {workers} workers in each of {nodes} nodes, {bands} bands of {bytes} bytes, {particles} particles with {lookups} lookups a band"
    );
    Outcome::of(world, about, ("windows", windows), tallies)
}

/// A rank that is a worker.
fn in_one_thread<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
    problem: Problem,
) -> rankpoint::Result<Tally> {
    let ranks_of_node = options.ranks_of_node();
    let map = Map {
        holding: Holding::Share,
        ranks_of_node,
    };
    let node = Node::new(world, options, problem, 1)?;
    let number = world.rank() % ranks_of_node;
    let stock = Stock::new(world, &problem, map, (node.number, number))?;
    let tally = Worker {
        node: &node,
        number,
        source: &stock.source()?,
    }
    .work()?;
    stock.free()?;
    Ok(tally)
}

/// Threads that share a window, or have one each: number of windows, and what the threads counted.
fn on_windows(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
    problem: Problem,
) -> rankpoint::Result<(usize, Vec<Tally>)> {
    let (holding, windows) = match options.mode {
        Mode::Window => (Holding::Share, problem.workers),
        _ => (Holding::Block, 1),
    };
    let map = Map {
        holding,
        ranks_of_node: 1,
    };
    let node = Node::new(world, options, problem, problem.workers)?;
    let stocks = (0..windows).map(|it| Stock::new(world, &problem, map, (node.number, it)));
    let stocks = stocks.collect::<rankpoint::Result<Vec<_>>>()?;
    let tallies = {
        let sources = stocks.iter().map(Stock::source);
        let sources = sources.collect::<rankpoint::Result<Vec<_>>>()?;
        let (node, sources) = (&node, &sources);
        together(0..problem.workers, |number| {
            let source: &Source<'_, AnyThread> = &sources[number % windows];
            let worker = Worker {
                node,
                number,
                source,
            };
            worker.work()
        })?
    };
    let windows = stocks.len();
    stocks.into_iter().try_for_each(Stock::free)?;
    Ok((windows, tallies))
}

/// Threads that are members of a window, each with a handle of its own.
fn on_endpoints(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
    problem: Problem,
) -> rankpoint::Result<(usize, Vec<Tally>)> {
    let map = Map {
        holding: Holding::Share,
        ranks_of_node: problem.workers,
    };
    let node = Node::new(world, options, problem, problem.workers)?;
    let endpoints = world.endpoints(problem.workers)?.into_iter().enumerate();
    let tallies = together(endpoints, |(number, endpoint): (usize, Endpoint<'_>)| {
        let stock = Stock::new(&endpoint, &problem, map, (node.number, number))?;
        let tally = Worker {
            node: &node,
            number,
            source: &stock.source()?,
        }
        .work()?;
        stock.free()?;
        Ok(tally)
    })?;
    Ok((tallies.len(), tallies))
}
