// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: its communicators and its threads, of which number 0 polls.

use rankpoint::{AnyThread, Communicator, Endpoint, Hints, TagVcis, Threads};

use super::board::Board;
use super::graph::{Circuit, Part};
use super::message::{Outlet, Tags};
use super::options::Options;
use super::poller::{Inlet, Poller};
use super::tally::Tally;
use super::task::Task;
use crate::halo::Mode;
use crate::threads::together;
use crate::{Failure, Outcome};

/// What the threads of a process share.
pub(super) struct Job<'o> {
    pub(super) options: &'o Options,
    pub(super) circuit: Circuit,
    pub(super) part: Part,
    pub(super) board: Board,
    /// Voltages by the serial computation; none without verification.
    pub(super) expected: Vec<u64>,
    pub(super) process: usize,
    pub(super) processes: usize,
    pub(super) tasks: usize,
}

impl<'o> Job<'o> {
    fn new<T: Threads>(world: &Communicator<'_, T>, options: &'o Options) -> Result<Self, Failure> {
        let (process, processes) = (world.rank(), world.size());
        let circuit = options.circuit(processes).map_err(Failure::Refused)?;
        let tasks = options.tasks as usize;
        Ok(Self {
            options,
            part: circuit.part(process),
            board: Board::new(circuit.start(), tasks),
            expected: match options.verify {
                true => circuit.after(options.steps),
                false => Vec::new(),
            },
            circuit,
            process,
            processes,
            tasks,
        })
    }

    /// Threads of the process.
    const fn threads(&self) -> usize {
        self.tasks + 1
    }
}

/// Refuses: one thread cannot poll beside tasks.
///
/// # Errors
/// Always; the text says why.
pub fn run_alone<T: Threads>(
    world: &Communicator<'_, T>,
    options: &Options,
) -> Result<Outcome, Failure> {
    Job::new(world, options)?;
    let why = "a polling thread beside tasks needs a universe for any thread";
    Err(Failure::Refused(why.to_owned()))
}

/// Runs the tasks and the polling thread. Called by all ranks of `world`, in one thread.
///
/// # Errors
/// When options do not fit together, or a call fails.
pub fn run_threads(
    world: &Communicator<'_, AnyThread>,
    options: &Options,
) -> Result<Outcome, Failure> {
    let job = Job::new(world, options)?;
    let (tallies, created) = match options.mode {
        Mode::Endpoint => (on_endpoints(world, &job)?, ("endpoints", job.threads())),
        _ => {
            let comms = comms(world, &job)?;
            let tallies = on_comms(world, &job, &comms)?;
            (tallies, ("communicators", comms.len()))
        }
    };
    let about = format!(
        "circuit, mode {}, {} tasks and a polling thread in each of {} processes, {} nodes, {} wires, {} steps",
        options.mode.name(),
        options.tasks,
        world.size(),
        options.nodes,
        options.wires,
        options.steps
    );
    Outcome::of(world, about, created, &tallies)
}

/// The bits of a thread's number in tags.
fn tags(job: &Job<'_>) -> Tags {
    Tags {
        thread_bits: match job.options.mode {
            Mode::Tag => job.threads().next_power_of_two().ilog2(),
            _ => 0,
        },
    }
}

/// One for all threads, one for each task, or one whose tags name VCIs.
fn comms<'u>(
    world: &Communicator<'u, AnyThread>,
    job: &Job<'_>,
) -> rankpoint::Result<Vec<Communicator<'u, AnyThread>>> {
    let is_tag = job.options.mode == Mode::Tag;
    let tag_vcis = TagVcis {
        vcis: job.threads(),
        bits: tags(job).thread_bits as usize,
    };
    let hints = Hints {
        no_any_tag: is_tag,
        tag_vcis: is_tag.then_some(tag_vcis),
        ..Hints::default()
    };
    let count = match job.options.mode {
        Mode::Comm => job.tasks,
        _ => 1,
    };
    (0..count).map(|_| world.duplicate_with(hints)).collect()
}

/// Threads that share communicators.
fn on_comms(
    world: &Communicator<'_, AnyThread>,
    job: &Job<'_>,
    comms: &[Communicator<'_, AnyThread>],
) -> rankpoint::Result<Vec<Tally>> {
    let tags = tags(job);
    let outlet = |sender: usize, comm: usize| Outlet {
        comm: &comms[comm % comms.len()],
        tags,
        sender,
        ranks_of_process: 1,
    };
    // Which senders have a receive of their own: with tags that name VCIs a receive has one tag; all are on the VCI of thread 0.
    let senders = match job.options.mode {
        Mode::Tag => job.threads(),
        _ => 1,
    };
    let inlet = |number: usize| Inlet {
        outlet: outlet(0, number),
        tag: tags.command(number % senders),
    };
    let inlets: Vec<_> = (0..comms.len().max(senders)).map(inlet).collect();
    together(0..job.threads(), |thread| match thread.checked_sub(1) {
        None => Poller::new(job, &inlets)?.work(world),
        Some(number) => {
            let outlet = outlet(thread, number);
            let task = Task {
                job,
                number,
                outlet,
            };
            task.work()
        }
    })
}

/// Threads that are ranks.
fn on_endpoints(
    world: &Communicator<'_, AnyThread>,
    job: &Job<'_>,
) -> rankpoint::Result<Vec<Tally>> {
    let endpoints = world.endpoints(job.threads())?.into_iter().enumerate();
    together(endpoints, |(sender, comm): (usize, Endpoint<'_>)| {
        let outlet = Outlet {
            comm: &comm,
            tags: tags(job),
            sender,
            ranks_of_process: job.threads(),
        };
        match sender.checked_sub(1) {
            None => {
                let tag = outlet.tags.command(0);
                Poller::new(job, &[Inlet { outlet, tag }])?.work(world)
            }
            Some(number) => {
                let task = Task {
                    job,
                    number,
                    outlet,
                };
                task.work()
            }
        }
    })
}
