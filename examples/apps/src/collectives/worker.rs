// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread does in each step: it contributes, and gets what all contributed.

use std::time::Instant;

use rankpoint::{Communicator, Endpoint, Op, Result, Threads};

use super::job::{Job, read, write};
use super::options::Collective;
use super::tally::Tally;
use super::vectors::add;
use crate::halo::Mode;
use crate::hash::weighted;
use crate::outcome::end;
use crate::threads::part;

/// A thread.
pub(super) struct Worker<'j, 'u, T: Threads> {
    job: &'j Job<'u, T>,
    /// Its number in the process, and among all threads.
    thread: usize,
    member: usize,
    tally: Tally,
}

impl<'j, 'u, T: Threads> Worker<'j, 'u, T> {
    /// The thread of a number.
    pub(super) fn new(job: &'j Job<'u, T>, thread: usize) -> Self {
        Self {
            job,
            thread,
            member: job.world.rank() * job.threads() + thread,
            tally: Tally::default(),
        }
    }

    /// All steps.
    pub(super) fn work(mut self, endpoint: Option<&Endpoint<'_>>) -> Result<Tally> {
        let (job, vectors) = (self.job, &self.job.vectors);
        for step in 0..job.options.steps {
            let mut own = vectors.contribution(step, self.member);
            let is_last = (self.member, step) == (vectors.members - 1, job.options.steps - 1);
            if is_last && job.options.fault.is_some() {
                own.fill(0);
            }
            let all = match (endpoint, job.options.mode) {
                (Some(endpoint), _) => self.call(endpoint, &own)?,
                (None, Mode::Comm) => self.apart(own)?,
                (None, _) => self.by_one(own)?,
            };
            self.compare(step, &all);
        }
        Ok(self.tally)
    }

    /// One thread combines what the threads of the process contribute, and calls the collective for all.
    fn by_one(&mut self, own: Vec<u64>) -> Result<Vec<u64>> {
        let job = self.job;
        *write(&job.contributions[self.thread]) = own;
        self.wait();
        if self.thread == 0 {
            let mut since = Instant::now();
            let all = job.contributions.iter().map(|it| read(it).clone());
            let all = match job.vectors.collective {
                Collective::Allgather => all.flatten().collect(),
                Collective::Allreduce => sum(all),
            };
            end(&mut self.tally.combine, &mut since);
            *write(&job.results[0]) = self.call(job.world, &all)?;
        }
        self.wait();
        Ok(read(&job.results[0]).clone())
    }

    /// Each thread calls the collective on a communicator of its own, for its part.
    fn apart(&mut self, own: Vec<u64>) -> Result<Vec<u64>> {
        let (job, comm) = (self.job, &self.job.comms[self.thread]);
        let (threads, count) = (job.threads(), job.vectors.count);
        let is_sum = job.vectors.collective == Collective::Allreduce;
        // With fewer numbers than threads, threads add up results instead of segments.
        let has_segments = is_sum && count >= threads;
        let own = if has_segments {
            *write(&job.contributions[self.thread]) = own;
            self.wait();
            let mut since = Instant::now();
            let segment = part(&(0..count), self.thread, threads);
            let all = job.contributions.iter();
            let own = sum(all.map(|it| read(it)[segment.clone()].to_vec()));
            end(&mut self.tally.combine, &mut since);
            own
        } else {
            own
        };
        let result = self.call(comm, &own)?;
        if !has_segments {
            // The others have read the results of the step before.
            self.wait();
        }
        *write(&job.results[self.thread]) = result;
        self.wait();
        let mut since = Instant::now();
        let results = job.results.iter().map(|it| read(it).clone());
        let all = match is_sum {
            true if has_segments => results.flatten().collect(),
            true => sum(results),
            false => {
                // Thread i has the vectors of all threads i.
                let results: Vec<_> = results.collect();
                let length = own.len();
                let processes = 0..job.world.size();
                let blocks = processes.flat_map(|process| {
                    let at = process * length..(process + 1) * length;
                    results.iter().flat_map(move |it| it[at.clone()].to_vec())
                });
                blocks.collect()
            }
        };
        end(&mut self.tally.combine, &mut since);
        Ok(all)
    }

    fn call<C: Threads>(&mut self, comm: &Communicator<'_, C>, own: &[u64]) -> Result<Vec<u64>> {
        let mut since = Instant::now();
        let all = match self.job.vectors.collective {
            Collective::Allreduce => comm.all_reduce(own, Op::SUM)?,
            Collective::Allgather => comm.all_gather(own)?,
        };
        end(&mut self.tally.call, &mut since);
        self.tally.calls += 1;
        self.tally.numbers += own.len() as u64;
        Ok(all)
    }

    /// Waits for the threads of the process.
    fn wait(&mut self) {
        let mut since = Instant::now();
        self.job.barrier.wait();
        end(&mut self.tally.barrier, &mut since);
    }

    /// Compares a result with that of the serial computation.
    fn compare(&mut self, step: u64, all: &[u64]) {
        let (vectors, member) = (&self.job.vectors, self.member);
        let findings = &mut self.tally.findings;
        for at in part(&(0..all.len()), member, vectors.members) {
            let value = weighted(at, all[at]);
            findings.checksum = findings.checksum.wrapping_add(value);
        }
        if self.job.options.verify {
            let expected = vectors.expected(step);
            let lengths = (all.len() as u64, expected.len() as u64);
            findings.compare(lengths.0, lengths.1, || {
                format!("step {step}, thread {member} of all: the number of results")
            });
            for (at, (found, expected)) in all.iter().zip(expected).enumerate() {
                findings.compare(*found, expected, || {
                    format!("step {step}, thread {member} of all: number {at}")
                });
            }
        }
    }
}

/// The sum of vectors of one length.
fn sum(vectors: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
    let sum = vectors.reduce(|mut sum, more| {
        add(&mut sum, more);
        sum
    });
    sum.unwrap_or_default()
}
