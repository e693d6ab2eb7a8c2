// SPDX-License-Identifier: MIT OR Apache-2.0
//! Borders as partitions: the threads of a process that send in one direction to one other process fill a message together.
//!
//! One thread starts the messages of an exchange and waits for them. Each thread makes its partitions ready as soon as it has filled them, and takes
//! what other processes sent to it as soon as that has arrived.

use std::time::Instant;

use commplan::{Direction, Grid, Neighbour, Place};
use rankpoint::{
    AnyThread, Arrivals, Communicator, Partition, PartitionedReceive, PartitionedSend,
    ReceiveRound, Result, Scope, SendRound,
};

use super::exchange::Worker;
use super::job::Job;
use super::patch::{Patch, Side};
use super::tally::Tally;

/// A message from one process to another one.
struct Group {
    /// Index of the direction in which its threads send.
    direction: usize,
    /// The other process's rank.
    peer: usize,
    /// The sending threads, a partition each, and the receiving ones.
    pairs: Vec<(usize, usize)>,
    /// Values of a partition.
    length: usize,
}

impl Group {
    /// Values of the message.
    const fn values(&self) -> usize {
        self.pairs.len() * self.length
    }
}

/// The messages that a process sends.
fn departures(job: &Job<'_, AnyThread>) -> Vec<Group> {
    let grid = &job.domain.grid;
    let me = grid.process_of(job.world.rank());
    groups(job, me, |place, index, direction| {
        let Neighbour::Away(to) = grid.neighbour(place, direction) else {
            return None;
        };
        let pair = (grid.thread_id(place.thread), grid.thread_id(to.thread));
        Some((index, grid.rank(to.process), pair))
    })
}

/// The messages that a process receives, as their senders have them.
fn arrivals(job: &Job<'_, AnyThread>) -> Vec<Group> {
    let grid = &job.domain.grid;
    let me = grid.process_of(job.world.rank());
    let last = job.directions.len() - 1;
    let mut all = groups(job, me, |place, index, direction| {
        let Neighbour::Away(from) = grid.neighbour(place, direction) else {
            return None;
        };
        let pair = (grid.thread_id(from.thread), grid.thread_id(place.thread));
        // The sender sends in the opposite direction.
        Some((last - index, grid.rank(from.process), pair))
    });
    all.iter_mut().for_each(|group| group.pairs.sort_unstable());
    all
}

/// The borders of all threads of a process by message: `message_of` gives direction, peer and threads of a border.
fn groups(
    job: &Job<'_, AnyThread>,
    me: [usize; 3],
    message_of: impl Fn(Place, usize, Direction) -> Option<(usize, usize, (usize, usize))>,
) -> Vec<Group> {
    let patch = Patch::new(&job.domain);
    let mut groups: Vec<Group> = Vec::new();
    let grid: &Grid = &job.domain.grid;
    for place in grid.places(me) {
        for (index, &towards) in job.directions.iter().enumerate() {
            let Some((direction, peer, pair)) = message_of(place, index, towards) else {
                continue;
            };
            let known = groups
                .iter_mut()
                .find(|group| (group.direction, group.peer) == (direction, peer));
            match known {
                Some(group) => group.pairs.push(pair),
                None => groups.push(Group {
                    direction,
                    peer,
                    pairs: vec![pair],
                    length: patch.side(job.directions[direction], Side::Own).len(),
                }),
            }
        }
    }
    groups
}

/// Runs all steps with the threads of a process.
pub(super) fn run(job: &Job<'_, AnyThread>) -> Result<Vec<Tally>> {
    let (sent, received) = (departures(job), arrivals(job));
    let memory = |groups: &[Group]| -> Vec<Vec<u64>> {
        let groups = groups.iter();
        groups.map(|group| vec![0; group.values()]).collect()
    };
    let (mut outgoing, mut incoming) = (memory(&sent), memory(&received));
    let count = job.domain.grid.thread_count();
    let mut workers: Vec<_> = (0..count).map(|id| Worker::new(job, id)).collect();
    // A plan without messages between processes has no communicator.
    let comm: &Communicator<'_, AnyThread> = job.comms.first().unwrap_or(job.world);
    comm.scope(|scope| {
        let mut sends = plan_sends(scope, &sent, &mut outgoing)?;
        let mut receives = plan_receives(scope, &received, &mut incoming)?;
        for round in 0..job.options.rounds() {
            let begin = Instant::now();
            let coming: Result<Vec<ReceiveRound<'_, '_, u64, _>>> =
                receives.iter_mut().map(PartitionedReceive::start).collect();
            let coming = coming?;
            let going: Result<Vec<SendRound<'_, '_, u64, _>>> =
                sends.iter_mut().map(PartitionedSend::start).collect();
            let mut going = going?;
            workers[0].tally.times.issue += begin.elapsed();
            run_round(
                &mut workers,
                round,
                (&sent, &mut going),
                (&received, &coming),
            )?;
            let begin = Instant::now();
            going.into_iter().try_for_each(SendRound::wait)?;
            for message in coming {
                message.wait()?;
            }
            workers[0].tally.times.completion += begin.elapsed();
        }
        Ok(())
    })?;
    Ok(workers.into_iter().map(Worker::finish).collect())
}

fn plan_sends<'s>(
    scope: &'s Scope<'s, '_, AnyThread>,
    groups: &[Group],
    memory: &'s mut [Vec<u64>],
) -> Result<Vec<PartitionedSend<'s, u64, AnyThread>>> {
    let planned = groups.iter().zip(memory).map(|(group, data)| {
        let partitions = group.pairs.len();
        scope.partitioned_send_init(data, partitions, group.peer, group.direction as i32)
    });
    planned.collect()
}

fn plan_receives<'s>(
    scope: &'s Scope<'s, '_, AnyThread>,
    groups: &[Group],
    memory: &'s mut [Vec<u64>],
) -> Result<Vec<PartitionedReceive<'s, u64, AnyThread>>> {
    let planned = groups.iter().zip(memory).map(|(group, into)| {
        let partitions = group.pairs.len();
        scope.partitioned_recv_init(into, partitions, group.peer, group.direction as i32)
    });
    planned.collect()
}

/// The partitions that a thread fills, with the index of their direction.
type Own<'r> = Vec<(usize, Partition<'r, u64, AnyThread>)>;
/// The partitions that a thread takes: index of the direction towards the sender, the message, and the partition's number.
type Theirs<'r> = Vec<(usize, Arrivals<'r, u64, AnyThread>, usize)>;

/// An exchange of all threads and the steps after it, between the start and the end of its messages.
fn run_round(
    workers: &mut [Worker<'_, '_, AnyThread>],
    round: usize,
    (sent, going): (&[Group], &mut [SendRound<'_, '_, u64, AnyThread>]),
    (received, coming): (&[Group], &[ReceiveRound<'_, '_, u64, AnyThread>]),
) -> Result<()> {
    let mut own: Vec<Own<'_>> = workers.iter().map(|_| Vec::new()).collect();
    let mut theirs: Vec<Theirs<'_>> = workers.iter().map(|_| Vec::new()).collect();
    for (group, message) in sent.iter().zip(going) {
        for partition in message.partitions() {
            let (sender, _) = group.pairs[partition.index()];
            own[sender].push((group.direction, partition));
        }
    }
    for (group, message) in received.iter().zip(coming) {
        for (number, &(_, receiver)) in group.pairs.iter().enumerate() {
            theirs[receiver].push((group.direction, message.arrivals(), number));
        }
    }
    std::thread::scope(|threads| {
        let all = workers.iter_mut().zip(own).zip(theirs);
        let all = all.map(|((worker, own), theirs)| {
            threads.spawn(move || {
                worker.wait_for_all(None)?;
                worker.exchange_partitions(round, own, theirs)?;
                worker.compute(round, None)
            })
        });
        let all: Vec<_> = all.collect();
        all.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

impl Worker<'_, '_, AnyThread> {
    fn exchange_partitions(
        &mut self,
        round: usize,
        own: Own<'_>,
        theirs: Theirs<'_>,
    ) -> Result<()> {
        let begin = Instant::now();
        let last = self.job.directions.len() - 1;
        let mut border = Vec::new();
        for (direction, mut partition) in own {
            let Some(link) = self.links.iter().find(|link| link.direction == direction) else {
                continue;
            };
            self.patch.get(&link.own, &mut border);
            partition.copy_from_slice(&border);
            partition.ready()?;
            self.tally.messages_away += 1;
            self.tally.bytes_away += link.bytes();
        }
        self.leave_borders(round);
        self.tally.times.issue += begin.elapsed();

        let begin = Instant::now();
        for (direction, arrivals, number) in theirs {
            let values = loop {
                if let Some(values) = arrivals.arrived(number)? {
                    break values;
                }
                std::thread::yield_now();
            };
            let towards = last - direction;
            let mut links = self.links.iter();
            if let Some(link) = links.find(|link| link.direction == towards) {
                self.patch.set(&link.ghost, values);
            }
        }
        self.tally.times.completion += begin.elapsed();
        self.pick_up_borders(round);
        Ok(())
    }
}
