// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a worker does: for each band it fetches its shares, and tracks its particles when the others of its node have fetched theirs.
#![expect(
    clippy::disallowed_types,
    reason = "programs share the standard library's atomics"
)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rankpoint::{Communicator, Result, SharedAtomics, Threads};

use super::options::Options;
use super::problem::Problem;
use super::stock::Source;
use crate::hash::weighted;
use crate::outcome::{self, Figures, Findings, end};

/// What the workers of a node share, whether they are threads or ranks.
pub(super) struct Node<'u, T: Threads> {
    pub(super) problem: Problem,
    pub(super) options: &'u Options,
    pub(super) number: usize,
    /// The ranks of the node.
    ranks: Communicator<'u, T>,
    /// One band, in the memory of the first rank.
    band: SharedAtomics<'u, AtomicU64, T>,
    /// The threads of this process.
    threads: Barrier,
}

/// A worker.
pub(super) struct Worker<'n, 'u, T: Threads, W: Threads> {
    pub(super) node: &'n Node<'u, T>,
    pub(super) number: usize,
    pub(super) source: &'n Source<'n, W>,
}

/// What a worker counted.
#[derive(Default)]
pub(super) struct Tally {
    gets: u64,
    bytes: u64,
    lookups: u64,
    times: Times,
    findings: Findings,
}

#[derive(Default)]
struct Times {
    get: Duration,
    flush: Duration,
    copy: Duration,
    track: Duration,
    barrier: Duration,
}

impl outcome::Tally for Tally {
    fn counts(&self) -> Figures {
        vec![
            ("gets", self.gets),
            ("bytes", self.bytes),
            ("lookups", self.lookups),
        ]
    }

    fn times(&self) -> Vec<(&'static str, Duration)> {
        vec![
            ("get", self.times.get),
            ("flush", self.times.flush),
            ("copy", self.times.copy),
            ("track", self.times.track),
            ("barrier", self.times.barrier),
        ]
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}

impl<'u, T: Threads> Node<'u, T> {
    /// Called by all ranks of `world`, of which each has so many threads.
    pub(super) fn new(
        world: &Communicator<'u, T>,
        options: &'u Options,
        problem: Problem,
        threads: usize,
    ) -> Result<Self> {
        let number = world.rank() / options.ranks_of_node();
        let ranks = world.split(number, world.rank())?;
        let length = if ranks.rank() == 0 { problem.values } else { 0 };
        Ok(Self {
            problem,
            options,
            number,
            band: ranks.shared_atomics(length)?,
            ranks,
            threads: Barrier::new(threads),
        })
    }

    /// The band that all workers read.
    fn band(&self) -> &[AtomicU64] {
        self.band.of(0)
    }

    /// Waits for all workers of the node.
    fn wait(&self) -> Result<()> {
        if self.threads.wait().is_leader() {
            self.ranks.barrier()?;
        }
        self.threads.wait();
        Ok(())
    }
}

impl<T: Threads, W: Threads> Worker<'_, '_, T, W> {
    /// All bands.
    pub(super) fn work(&self) -> Result<Tally> {
        let problem = &self.node.problem;
        let particles = problem.particles_of(self.node.number, self.number);
        let mut sums = vec![0u64; particles.len()];
        let shares = (0..problem.nodes).map(|node| problem.share(node, self.number));
        let mut shares: Vec<Vec<u64>> = shares.map(|share| vec![0; share.len()]).collect();
        let mut tally = Tally::default();
        for band in 0..problem.bands {
            self.fetch(band, &mut shares, &mut tally)?;
            self.wait(&mut tally)?;
            if self.node.options.verify {
                self.compare_band(band, &mut tally.findings);
            }
            let mut since = Instant::now();
            let all = self.node.band();
            for (particle, sum) in particles.clone().zip(&mut sums) {
                for lookup in 0..problem.lookups {
                    let place = problem.place(particle, band, lookup);
                    *sum = sum.wrapping_add(all[place].load(Ordering::Relaxed));
                    tally.lookups += 1;
                }
            }
            end(&mut tally.times.track, &mut since);
            self.wait(&mut tally)?;
        }
        for (particle, sum) in particles.zip(sums) {
            let findings = &mut tally.findings;
            findings.checksum = findings.checksum.wrapping_add(weighted(particle, sum));
            if self.node.options.verify {
                findings.compare(sum, problem.expected(particle), || {
                    format!("the sum of particle {particle}")
                });
            }
        }
        Ok(tally)
    }

    /// Fetches the worker's share of each block of a band.
    fn fetch(&self, band: usize, shares: &mut [Vec<u64>], tally: &mut Tally) -> Result<()> {
        let Node {
            problem, number, ..
        } = self.node;
        let mut since = Instant::now();
        for (node, share) in shares.iter_mut().enumerate() {
            let whose = (node, self.number);
            if node == *number {
                self.source.copy(problem, whose, band, share);
                end(&mut tally.times.copy, &mut since);
            } else if !self.is_stale(node, band) {
                self.source.get(problem, whose, band, share)?;
                end(&mut tally.times.get, &mut since);
                tally.gets += 1;
                tally.bytes += size_of_val(&share[..]) as u64;
            }
        }
        for node in (0..problem.nodes).filter(|node| node != number) {
            self.source.flush(problem, (node, self.number))?;
        }
        end(&mut tally.times.flush, &mut since);
        let all = self.node.band();
        for (node, share) in shares.iter().enumerate() {
            let places = problem.share(node, self.number).zip(share);
            places.for_each(|(at, value)| all[at].store(*value, Ordering::Relaxed));
        }
        end(&mut tally.times.copy, &mut since);
        Ok(())
    }

    /// Whether a share is not fetched, because that is the error to seed: by the first worker of the last node.
    fn is_stale(&self, node: usize, band: usize) -> bool {
        let problem = &self.node.problem;
        self.node.options.fault.is_some()
            && (node, self.node.number, self.number, band)
                == (0, problem.nodes - 1, 0, problem.bands - 1)
    }

    fn wait(&self, tally: &mut Tally) -> Result<()> {
        let mut since = Instant::now();
        self.node.wait()?;
        end(&mut tally.times.barrier, &mut since);
        Ok(())
    }

    /// Compares a part of the band with the values it should have.
    fn compare_band(&self, band: usize, findings: &mut Findings) {
        let (node, problem) = (self.node.number, &self.node.problem);
        for at in problem.compared(self.number) {
            let found = self.node.band()[at].load(Ordering::Relaxed);
            findings.compare(found, problem.value(band, at), || {
                format!("node {node}, band {band}: value {at}")
            });
        }
    }
}
