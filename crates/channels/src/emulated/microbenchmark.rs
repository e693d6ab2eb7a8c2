// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that post writes and poll for their completions, as discrete events.
//!
//! A thread takes credits of its queue pair, builds WQEs and rings the DoorBell under the queue pair's lock, if others use it, too.
//! The lane of the uUAR serves WQEs in order; payloads outside of WQEs pass the fetch unit of their cache line. A thread without
//! credits polls its completion queue, under a lock if others use it, and gives the credits of each entry to the entry's queue pair.

use std::collections::VecDeque;

use super::arrangement::{Arrangement, Seat, line};
use super::lanes::{Events, Server, Time, picoseconds};
use super::workload::Workload;
use crate::error::Error;
use crate::nic::Profile;

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualRun {
    /// Writes per second.
    pub rate: f64,
    /// Virtual time in ns.
    pub ns: f64,
    /// Writes that were completed.
    pub writes: usize,
    /// Payloads that the network interface fetched over the bus.
    pub fetches: usize,
    /// Entries of completion queues.
    pub completions: usize,
}

/// An entry of a completion queue: when it is there, and whose credits it returns.
struct Entry {
    at: Time,
    queue_pair: usize,
}

#[derive(Default)]
struct CompletionQueue {
    lock: Server,
    entries: VecDeque<Entry>,
    is_shared: bool,
}

struct QueuePair {
    lock: Server,
    lane: Server,
    credits: usize,
    posted: usize,
    outstanding: usize,
    is_shared: bool,
}

/// Time of each step, in picoseconds.
struct Costs {
    build: Time,
    ring: Time,
    progress: Time,
    /// An operation: one write, its DoorBell and its completion.
    operation: Time,
    handover: Time,
    shared_entry: Time,
    to_lane: Time,
    wqe: Time,
    fetch: Time,
    pcie: Time,
}

struct State<'work> {
    workload: &'work Workload,
    arrangement: &'work Arrangement,
    costs: Costs,
    is_inlined: bool,
    /// Loss of each thread's post, beyond waiting.
    losses: Vec<Time>,
    pairs: Vec<QueuePair>,
    queues: Vec<CompletionQueue>,
    units: Vec<Server>,
    left: Vec<usize>,
    fetches: usize,
    completions: usize,
}

/// Runs a workload on the emulated network interface.
///
/// # Errors
/// When the numbers of the workload do not go together, or the profile has no times.
pub fn run_microbenchmark(workload: &Workload, nic: &Profile) -> Result<VirtualRun, Error> {
    let workload = workload.checked()?;
    let arrangement = Arrangement::new(&workload);
    let mut state = State::new(&workload, &arrangement, nic)?;
    let mut events = Events::new(workload.threads);
    let mut end = 0;
    while let Some((now, thread)) = events.next() {
        match state.step(thread, now) {
            Some(next) => events.add(next, thread),
            None => end = end.max(now),
        }
    }
    let writes = workload.threads * workload.messages;
    let ns = end as f64 / 1e3;
    Ok(VirtualRun {
        rate: writes as f64 / ns * 1e9,
        ns,
        writes,
        fetches: state.fetches,
        completions: state.completions,
    })
}

impl<'work> State<'work> {
    fn new(
        workload: &'work Workload,
        arrangement: &'work Arrangement,
        nic: &Profile,
    ) -> Result<Self, Error> {
        let (timing, constants) = nic.emulation()?;
        let is_inlined = workload.is_inlined(nic.limits.inline_bytes.unwrap_or(0));
        let has_blue_flame = workload.has_blue_flame();
        let ring = timing.barriers
            + if has_blue_flame {
                timing.pio
            } else {
                timing.doorbell
            };
        let operation = timing.build + timing.barriers + timing.pio + timing.progress;
        // A DoorBell is followed by a fetch of the WQEs; BlueFlame brings them along.
        let to_lane = timing.pcie * if has_blue_flame { 1.0 } else { 3.0 };
        let costs = Costs {
            build: picoseconds(timing.build),
            ring: picoseconds(ring),
            progress: picoseconds(timing.progress),
            operation: picoseconds(operation),
            handover: picoseconds(constants.qp_handover * operation),
            // Published for lists of writes with a completion for each, where DoorBells hardly count.
            shared_entry: picoseconds(constants.cq_shared * (timing.build + timing.progress)),
            to_lane: picoseconds(to_lane),
            wqe: picoseconds(timing.wqe),
            fetch: picoseconds(timing.fetch),
            pcie: picoseconds(timing.pcie),
        };
        // Time of an operation without loss: the factors are those of whole operations.
        let whole = timing.build + ring + timing.progress / workload.signaled() as f64;
        let factor = |seat: &Seat| {
            if !has_blue_flame {
                1.0
            } else if arrangement.pairs_on_page(seat.page) > 1 {
                constants.shared_uar
            } else if arrangement.has_many_neighbours(seat.context, workload.is_spaced) {
                constants.ctx_16way
            } else {
                1.0
            }
        };
        let loss = |seat: &Seat| picoseconds((factor(seat) - 1.0) * whole);
        let users = |pick: fn(&Seat) -> usize, index: usize| {
            let users = arrangement.seats.iter().filter(|seat| pick(seat) == index);
            users.count()
        };
        let pair = |index: usize| QueuePair {
            lock: Server::default(),
            lane: Server::default(),
            credits: workload.depth,
            posted: 0,
            outstanding: 0,
            is_shared: users(|seat| seat.queue_pair, index) > 1,
        };
        let queue = |index: usize| CompletionQueue {
            is_shared: users(|seat| seat.completion_queue, index) > 1,
            ..CompletionQueue::default()
        };
        let last = |pick: fn(&Seat) -> usize| arrangement.seats.iter().map(pick).max();
        let pairs = last(|seat| seat.queue_pair).map_or(0, |last| last + 1);
        let queues = last(|seat| seat.completion_queue).map_or(0, |last| last + 1);
        Ok(Self {
            workload,
            arrangement,
            costs,
            is_inlined,
            losses: arrangement.seats.iter().map(loss).collect(),
            pairs: (0..pairs).map(pair).collect(),
            queues: (0..queues).map(queue).collect(),
            units: vec![Server::default(); timing.fetch_units],
            left: vec![workload.messages; workload.threads],
            fetches: 0,
            completions: 0,
        })
    }

    /// A thread's step; gives the time of its next one, or nothing when it is done.
    fn step(&mut self, thread: usize, now: Time) -> Option<Time> {
        let pair = &self.pairs[self.arrangement.seats[thread].queue_pair];
        if self.left[thread] > 0 && pair.credits >= self.workload.posted() {
            return Some(self.post(thread, now));
        }
        if self.left[thread] == 0 && pair.outstanding == 0 {
            return None;
        }
        Some(self.poll(thread, now))
    }

    fn post(&mut self, thread: usize, now: Time) -> Time {
        let seat = self.arrangement.seats[thread];
        let count = self.workload.posted();
        self.left[thread] -= count;
        let takes = self.costs.build * count as Time + self.costs.ring + self.losses[thread];
        let pair = &mut self.pairs[seat.queue_pair];
        pair.credits -= count;
        pair.outstanding += count;
        let done = match pair.is_shared {
            true => pair
                .lock
                .serve_customer(thread, now, takes, self.costs.handover),
            false => now + takes,
        };
        for _ in 0..count {
            let mut at = pair.lane.serve(done + self.costs.to_lane, self.costs.wqe);
            if !self.is_inlined {
                let unit = line(seat.address) % self.units.len();
                at = self.units[unit].serve(at, self.costs.fetch) + 2 * self.costs.pcie;
                self.fetches += 1;
            }
            pair.posted += 1;
            if pair.posted.is_multiple_of(self.workload.signaled()) {
                let entry = Entry {
                    at: at + self.costs.pcie,
                    queue_pair: seat.queue_pair,
                };
                self.queues[seat.completion_queue].entries.push_back(entry);
            }
        }
        done
    }

    fn poll(&mut self, thread: usize, now: Time) -> Time {
        let index = self.arrangement.seats[thread].completion_queue;
        let queue = &mut self.queues[index];
        // Entries of several queue pairs come in any order.
        let first = queue.entries.iter().enumerate();
        let Some((first, _)) = first.min_by_key(|(_, entry)| entry.at) else {
            return now + self.costs.progress;
        };
        let at = queue.entries[first].at;
        if at > now {
            return at.min(now + self.costs.operation);
        }
        let Some(entry) = queue.entries.remove(first) else {
            return now + self.costs.progress;
        };
        let done = match queue.is_shared {
            true => queue.lock.serve(now, self.costs.shared_entry),
            false => now + self.costs.progress,
        };
        let pair = &mut self.pairs[entry.queue_pair];
        let returned = self.workload.signaled();
        pair.credits += returned;
        pair.outstanding -= returned;
        self.completions += 1;
        done
    }
}
