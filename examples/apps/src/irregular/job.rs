// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process: what its threads share.

use std::sync::{Barrier, Mutex};

use rankpoint::{AnyThread, Communicator, Endpoint, Hints, Op, TagVcis, Threads};

use super::graph::Graph;
use super::options::Options;
use super::tally::Tally;
use super::traffic::{Labels, Names};
use super::worker::Worker;
use crate::halo::Mode;
use crate::threads::{together, unpoisoned};
use crate::{Failure, Outcome};

/// Where a thread leaves labels for the others of its process: by receiver, and by even and odd rounds, so that no thread replaces what
/// another one still takes.
type Slots = Vec<[Mutex<Labels>; 2]>;

/// What the threads of a process share.
pub(super) struct Job<'u, T: Threads> {
    pub(super) world: &'u Communicator<'u, T>,
    pub(super) graph: Graph,
    pub(super) names: Names,
    /// Labels by the serial computation; none without verification.
    pub(super) components: Vec<usize>,
    /// For each thread what it leaves for the others.
    pub(super) slots: Vec<Slots>,
    pub(super) threads: Barrier,
    pub(super) shared: Mutex<Shared>,
    options: &'u Options,
    /// Whether a label is still to be lost.
    loses: Mutex<bool>,
}

/// What the first thread adds up over all processes for the others.
#[derive(Default)]
pub(super) struct Shared {
    /// Messages that the threads of this process send, for each member and class.
    pub(super) messages: Vec<u64>,
    /// Vertices of this process whose labels changed.
    pub(super) changed: u64,
    /// Messages that come, for each thread of this process and class; none at the end.
    pub(super) incoming: Option<Vec<u64>>,
}

impl<'u, T: Threads> Job<'u, T> {
    fn new(world: &'u Communicator<'u, T>, options: &'u Options) -> Result<Self, Failure> {
        let graph = options.graph(world.size()).map_err(Failure::Refused)?;
        let threads = options.threads as usize;
        let names = Names {
            ranks_of_process: match options.mode {
                Mode::Endpoint => threads,
                _ => 1,
            },
            threads,
            thread_bits: match options.mode {
                Mode::Tag => threads.next_power_of_two().ilog2(),
                _ => 0,
            },
        };
        let slots = || (0..threads).map(|_| Default::default()).collect();
        Ok(Self {
            world,
            options,
            names,
            components: match options.verify {
                true => graph.components(),
                false => Vec::new(),
            },
            slots: (0..threads).map(|_| slots()).collect(),
            threads: Barrier::new(threads),
            shared: Mutex::new(Shared {
                messages: vec![0; graph.members * names.classes()],
                ..Shared::default()
            }),
            loses: Mutex::new(options.fault.is_some() && world.rank() == 0),
            graph,
        })
    }

    /// The communicator that all threads share.
    fn comm(&self) -> rankpoint::Result<Communicator<'u, T>> {
        let bits = self.names.thread_bits as usize;
        let tag_vcis = TagVcis {
            vcis: self.names.threads,
            bits,
        };
        self.world.duplicate_with(Hints {
            no_any_tag: self.options.mode == Mode::Tag,
            tag_vcis: (bits > 0).then_some(tag_vcis),
            ..Hints::default()
        })
    }

    /// Whether the caller has to lose a label, because that is the error to seed.
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
    if options.threads > 1 || options.mode == Mode::Endpoint {
        let why = "several threads and endpoints need a universe for any thread";
        return Err(Failure::Refused(why.to_owned()));
    }
    let comm = job.comm()?;
    let tally = Worker::new(&job, 0).work(&comm, None)?;
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
    let threads = job.names.threads;
    let tallies = match options.mode {
        Mode::Endpoint => {
            let endpoints = world.endpoints(threads)?.into_iter().enumerate();
            together(endpoints, |(thread, endpoint): (usize, Endpoint<'_>)| {
                Worker::new(&job, thread).work(&endpoint, Some(&endpoint))
            })?
        }
        _ => {
            let comm = job.comm()?;
            together(0..threads, |thread| {
                Worker::new(&job, thread).work(&comm, None)
            })?
        }
    };
    outcome(&job, tallies)
}

/// Compares what was received with what was sent, and sums up.
fn outcome<T: Threads>(job: &Job<'_, T>, mut tallies: Vec<Tally>) -> Result<Outcome, Failure> {
    let Job { world, options, .. } = job;
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum();
    let mut sums: [u64; 2] = [sum(|it| it.received), sum(|it| it.sent)];
    world.all_reduce_in_place(&mut sums, Op::SUM)?;
    if options.verify && world.rank() == 0 {
        let [received, sent] = sums;
        let findings = &mut tallies[0].findings;
        findings.compare(received, sent, || {
            "the number of labels received".to_owned()
        });
    }
    let about = format!(
        "irregular, mode {}, {} threads in each of {} processes, {} vertices, {} edges",
        options.mode.name(),
        options.threads,
        world.size(),
        options.vertices,
        options.edges
    );
    let created = match options.mode {
        Mode::Endpoint => ("endpoints", job.names.threads),
        _ => ("communicators", 1),
    };
    Outcome::of(world, about, created, &tallies)
}
