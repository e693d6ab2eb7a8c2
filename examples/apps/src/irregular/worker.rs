// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread does: in each round it sends the labels of its vertices that changed, and takes smaller ones.

use std::ops::Range;
use std::time::Instant;

use rankpoint::{Communicator, Endpoint, Op, Result, Threads};

use super::job::Job;
use super::tally::Tally;
use super::traffic::{self, Labels};
use crate::hash::weighted;
use crate::outcome::end;
use crate::threads::unpoisoned;

/// A thread.
pub(super) struct Worker<'j, 'u, T: Threads> {
    job: &'j Job<'u, T>,
    /// Its number in the process, and among all threads.
    thread: usize,
    member: usize,
    block: Range<usize>,
    beside: Vec<Vec<usize>>,
    labels: Vec<usize>,
    /// Its vertices whose label changed in the last round.
    changed: Vec<usize>,
    tally: Tally,
}

impl<'j, 'u, T: Threads> Worker<'j, 'u, T> {
    /// The thread of a number. The label of each vertex is its number at the start.
    pub(super) fn new(job: &'j Job<'u, T>, thread: usize) -> Self {
        let member = job.world.rank() * job.names.threads + thread;
        let block = job.graph.block(member);
        Self {
            job,
            thread,
            member,
            beside: job.graph.beside(member),
            labels: block.clone().collect(),
            changed: block.clone().collect(),
            block,
            tally: Tally::default(),
        }
    }

    /// All rounds, on the endpoint that the thread has, or on the communicator of all.
    pub(super) fn work<'v, C: Threads>(
        mut self,
        comm: &Communicator<'v, C>,
        endpoint: Option<&Endpoint<'v>>,
    ) -> Result<Tally> {
        for round in 0.. {
            let outgoing = self.leave(round % 2);
            let mut since = Instant::now();
            let incoming = self.agree(&outgoing, endpoint)?;
            end(&mut self.tally.agree, &mut since);
            let Some(incoming) = incoming else {
                break;
            };
            self.tally.rounds += u64::from(self.member == 0);
            self.tally.messages += outgoing.len() as u64;
            let (names, thread) = (self.job.names, self.thread);
            let mut received = traffic::exchange(comm, names, thread, outgoing, &incoming)?;
            let all = received.iter().map(|it| it.len() as u64 / 2);
            self.tally.received += all.sum::<u64>();
            for slot in self.job.slots.iter().map(|it| &it[self.thread][round % 2]) {
                received.push(std::mem::take(&mut unpoisoned(slot)));
            }
            end(&mut self.tally.exchange, &mut since);
            self.take(&received);
            end(&mut self.tally.compute, &mut since);
        }
        self.compare();
        Ok(self.tally)
    }

    /// Sorts the labels that changed by the owners of the vertices beside: it leaves those for threads of its process, and gives those for others.
    fn leave(&mut self, parity: usize) -> Vec<(usize, Labels)> {
        let mut since = Instant::now();
        let (job, threads) = (self.job, self.job.names.threads);
        let mut outgoing = vec![Labels::new(); job.graph.members];
        for &vertex in &self.changed {
            let at = vertex - self.block.start;
            for &to in &self.beside[at] {
                let pair = [to as u64, self.labels[at] as u64];
                outgoing[job.graph.owner(to)].extend(pair);
            }
        }
        let mut away = Vec::new();
        for (member, mut labels) in outgoing.into_iter().enumerate() {
            let count = labels.len() as u64 / 2;
            if member / threads == job.world.rank() {
                self.tally.inside += count;
                let slot = &job.slots[self.thread][member % threads][parity];
                *unpoisoned(slot) = labels;
                continue;
            }
            self.tally.sent += count;
            if count > 0 && job.loses_one() {
                labels.truncate(labels.len() - 2);
            }
            if !labels.is_empty() {
                away.push((member, labels));
            }
        }
        end(&mut self.tally.compute, &mut since);
        away
    }

    /// Waits for the threads of the process, and learns how many messages of each class come for this one; nothing when no label has changed
    /// anywhere.
    fn agree(
        &self,
        outgoing: &[(usize, Labels)],
        endpoint: Option<&Endpoint<'_>>,
    ) -> Result<Option<Vec<u64>>> {
        let (job, classes) = (self.job, self.job.names.classes());
        let changed = self.changed.len() as u64;
        let place = |member: usize| member * classes + job.names.class(self.thread);
        if let Some(endpoint) = endpoint {
            job.threads.wait();
            let mut messages = vec![0; job.graph.members];
            for (member, _) in outgoing {
                messages[place(*member)] += 1;
            }
            let changed = endpoint.all_reduce_value(changed, Op::SUM)?;
            let incoming = traffic::agree(endpoint, &messages)?;
            return Ok((changed > 0).then_some(incoming));
        }
        {
            let mut shared = unpoisoned(&job.shared);
            for (member, _) in outgoing {
                shared.messages[place(*member)] += 1;
            }
            shared.changed += changed;
        }
        job.threads.wait();
        if self.thread == 0 {
            let mut shared = unpoisoned(&job.shared);
            let all = job.world.all_reduce_value(shared.changed, Op::SUM)?;
            let incoming = traffic::agree(job.world, &shared.messages)?;
            shared.incoming = (all > 0).then_some(incoming);
            shared.messages.fill(0);
            shared.changed = 0;
        }
        job.threads.wait();
        let shared = unpoisoned(&job.shared);
        let own = self.thread * classes..(self.thread + 1) * classes;
        Ok(shared.incoming.as_ref().map(|it| it[own].to_vec()))
    }

    /// Takes labels that are smaller than those of its vertices.
    fn take(&mut self, received: &[Labels]) {
        let mut changed = Vec::new();
        let pairs = received.iter().flat_map(|it| it.chunks_exact(2));
        for pair in pairs {
            let (vertex, label) = (pair[0] as usize, pair[1] as usize);
            let own = &mut self.labels[vertex - self.block.start];
            if label < *own {
                *own = label;
                changed.push(vertex);
            }
        }
        changed.sort_unstable();
        changed.dedup();
        self.changed = changed;
    }

    /// Compares labels with those of the serial computation.
    fn compare(&mut self) {
        let findings = &mut self.tally.findings;
        for (vertex, &label) in self.block.clone().zip(&self.labels) {
            let label = label as u64;
            findings.checksum = findings.checksum.wrapping_add(weighted(vertex, label));
            if let Some(&expected) = self.job.components.get(vertex) {
                findings.compare(label, expected as u64, || {
                    format!("the label of vertex {vertex}")
                });
            }
        }
    }
}
