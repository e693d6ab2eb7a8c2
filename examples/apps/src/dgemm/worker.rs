// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread does: a client's calculates tiles, and the server's first one compares them afterwards.

use std::time::{Duration, Instant};

use rankpoint::{Result, Threads};

use super::arrays::{Access, Arrays};
use super::options::Options;
use super::problem::Problem;
use crate::hash::weighted;
use crate::outcome::{self, Figures, Findings, end};

/// What a thread counted.
#[derive(Default)]
pub(super) struct Tally {
    gets: u64,
    puts: u64,
    /// Bytes of both.
    read: u64,
    written: u64,
    times: Times,
    findings: Findings,
}

#[derive(Default)]
struct Times {
    get: Duration,
    get_flush: Duration,
    compute: Duration,
    put: Duration,
    put_flush: Duration,
}

impl outcome::Tally for Tally {
    fn counts(&self) -> Figures {
        vec![
            ("gets", self.gets),
            ("puts", self.puts),
            ("bytes read", self.read),
            ("bytes written", self.written),
        ]
    }

    fn times(&self) -> Vec<(&'static str, Duration)> {
        vec![
            ("get", self.times.get),
            ("get flush", self.times.get_flush),
            ("compute", self.times.compute),
            ("put", self.times.put),
            ("put flush", self.times.put_flush),
        ]
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}

/// A thread of a process, which is a client or not.
#[derive(Clone, Copy)]
pub(super) struct Worker<'o> {
    pub(super) options: &'o Options,
    pub(super) problem: Problem,
    pub(super) client: Option<usize>,
    pub(super) thread: usize,
}

impl Worker<'_> {
    /// Calculates the tiles of the thread.
    pub(super) fn work<T: Threads>(&self, arrays: &Access<'_, T>) -> Result<Tally> {
        let (problem, mut tally) = (&self.problem, Tally::default());
        let Some(client) = self.client else {
            return Ok(tally);
        };
        let length = problem.edge * problem.side();
        let (mut row, mut column) = (vec![0.0; length], vec![0.0; length]);
        let mut result = vec![0.0; problem.edge * problem.edge];
        for tile in problem.tiles_of(client, self.thread) {
            let mut since = Instant::now();
            arrays.get(&mut row, problem.row(tile).start)?;
            arrays.get(&mut column, problem.column(tile).start)?;
            end(&mut tally.times.get, &mut since);
            arrays.flush()?;
            end(&mut tally.times.get_flush, &mut since);
            tally.gets += 2;
            tally.read += (size_of_val(&row[..]) + size_of_val(&column[..])) as u64;
            problem.multiply(&row, &column, &mut result);
            end(&mut tally.times.compute, &mut since);
            if self.options.fault.is_some() && tile == problem.tiles * problem.tiles - 1 {
                continue;
            }
            arrays.put(&result, problem.tile(tile).start)?;
            end(&mut tally.times.put, &mut since);
            arrays.flush()?;
            end(&mut tally.times.put_flush, &mut since);
            tally.puts += 1;
            tally.written += size_of_val(&result[..]) as u64;
        }
        Ok(tally)
    }

    /// Compares all tiles, at the server, once they are complete; those of a thread are in its window, if there is one for each.
    pub(super) fn compare<T: Threads>(&self, windows: &[Arrays<'_, T>], tally: &mut Tally) {
        let (problem, findings) = (&self.problem, &mut tally.findings);
        for tile in 0..problem.tiles * problem.tiles {
            let place = problem.tile(tile);
            let window = &windows[problem.thread_of(tile) % windows.len()];
            let found = window.numbers(place.clone());
            for (index, number) in place.zip(&found) {
                // Numbers are integers, so the checksum is one of their values.
                let value = weighted(index, *number as i64 as u64);
                findings.checksum = findings.checksum.wrapping_add(value);
            }
            if self.options.verify {
                let pairs = found.iter().zip(problem.expected(tile)).enumerate();
                for (at, (found, expected)) in pairs {
                    findings.verified += 1;
                    if *found != expected {
                        findings.wrong(|| {
                            format!("tile {tile} of C: number {at} is {found}, expected {expected}")
                        });
                    }
                }
            }
        }
    }
}
