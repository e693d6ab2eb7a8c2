// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a thing runs: rank 0 decides by its budget, and the other ranks run as often.

use std::time::{Duration, Instant};

use measure::sampling::{Budget, When};

use crate::distance::{self, DistanceProbe};
use crate::mpi::Mpi;

/// How much a measurement may do.
#[derive(Clone, Copy, Default)]
pub(crate) struct Effort {
    pub(crate) budget: Budget,
    /// The line between ranks 0 and 1, on these.
    pub(crate) line: Option<&'static DistanceProbe>,
}

impl Effort {
    /// Runs `batch(iterations)` on every rank, rank 0 deciding how often; gives the nanoseconds of an iteration that rank 0
    /// saw in each repetition (other ranks: nothing).
    pub(crate) fn measure(&self, mpi: &Mpi, batch: impl FnMut(u64)) -> Vec<f64> {
        self.measure_after(mpi, Duration::ZERO, batch)
    }

    /// As [`Self::measure`], for what has run once already, for rank 0 in the time `first`.
    pub(crate) fn measure_after(
        &self,
        mpi: &Mpi,
        first: Duration,
        mut batch: impl FnMut(u64),
    ) -> Vec<f64> {
        let timed = |iterations| {
            let start = Instant::now();
            batch(iterations);
            start.elapsed()
        };
        self.run(mpi, first, timed)
    }

    /// As [`Self::measure`] for `count` things on one rank, interleaved: one repetition of each after the other, so that all meet
    /// the machine in the same state.
    pub(crate) fn measure_in_turns(
        &self,
        mpi: &Mpi,
        count: usize,
        mut action: impl FnMut(usize),
    ) -> Vec<Vec<f64>> {
        self.measure_batches_in_turns(mpi, count, |which, iterations| {
            for _ in 0..iterations {
                action(which);
            }
        })
    }

    /// The same of things that several ranks do together, each as a batch of so many iterations.
    pub(crate) fn measure_batches_in_turns(
        &self,
        mpi: &Mpi,
        count: usize,
        mut batch: impl FnMut(usize, u64),
    ) -> Vec<Vec<f64>> {
        let mut measure =
            |effort: &Self, which| effort.measure(mpi, |iterations| batch(which, iterations));
        if count == 1 {
            return vec![measure(self, 0)];
        }
        let mut one = *self;
        one.budget.repetitions = 1;
        // The first time tells how many iterations fill the budget.
        let turns: Vec<Self> = (0..count)
            .map(|which| {
                let times = measure(&one, which);
                let each_ns = times.first().copied().unwrap_or(1.0);
                let mut turn = one;
                turn.budget.iterations = self.budget.fitting(each_ns);
                turn
            })
            .collect();
        let mut values = vec![Vec::new(); count];
        for _ in 0..self.budget.repetitions {
            for (which, turn) in turns.iter().enumerate() {
                values[which].extend(measure(turn, which));
            }
        }
        values
    }

    /// As [`Self::measure`], where the batch itself says how long it took.
    pub(crate) fn measure_own(&self, mpi: &Mpi, batch: impl FnMut(u64) -> Duration) -> Vec<f64> {
        self.run(mpi, Duration::ZERO, batch)
    }

    fn run(&self, mpi: &Mpi, first: Duration, mut batch: impl FnMut(u64) -> Duration) -> Vec<f64> {
        if mpi.rank != 0 {
            loop {
                let mut order = 0;
                mpi.broadcast(&mut order);
                match (u64::try_from(order), self.line) {
                    (Ok(0), _) => return Vec::new(),
                    (Ok(iterations), _) => drop(batch(iterations)),
                    (Err(_), Some(line)) if order == distance::PROBE => line.answer(),
                    (Err(_), _) => {}
                }
            }
        }
        let order = |iterations| {
            mpi.broadcast(&mut i64::try_from(iterations).unwrap_or(i64::MAX));
            batch(iterations)
        };
        let look = |when| match (self.line, when) {
            (Some(line), When::Before) => line.probe_before(mpi),
            (Some(line), When::After) => line.probe_after(mpi),
            (None, _) => {}
        };
        let values = self.budget.values(first, order, look);
        mpi.broadcast(&mut 0);
        values
    }
}
