// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a thing runs: warm-up, then repetitions of as many iterations as fill the time that each may take.

use std::time::{Duration, Instant};

use crate::mpi::Mpi;

/// How much a measurement may do.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Iterations of a repetition; 0 lets the budget decide.
    pub(super) iterations: u64,
    /// Values of a point.
    pub(super) repetitions: u64,
    /// Time of a repetition.
    pub(super) budget: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            iterations: 0,
            repetitions: 7,
            budget: Duration::from_millis(20),
        }
    }
}

/// Most iterations of a repetition, whatever the clock says.
const MOST: u64 = 1 << 24;

impl Effort {
    /// Runs `batch(iterations)` on every rank, rank 0 deciding how often; gives the nanoseconds of an iteration that rank 0
    /// saw in each repetition (other ranks: nothing).
    pub(super) fn measure(&self, mpi: &Mpi, mut batch: impl FnMut(u64)) -> Vec<f64> {
        self.measure_own(mpi, |iterations| {
            let start = Instant::now();
            batch(iterations);
            start.elapsed()
        })
    }

    /// As [`Self::measure`], where the batch itself says how long it took.
    pub(super) fn measure_own(
        &self,
        mpi: &Mpi,
        mut batch: impl FnMut(u64) -> Duration,
    ) -> Vec<f64> {
        if mpi.rank != 0 {
            loop {
                let mut order = 0;
                mpi.broadcast(&mut order);
                match u64::try_from(order) {
                    Ok(0) | Err(_) => return Vec::new(),
                    Ok(iterations) => batch(iterations),
                };
            }
        }
        let mut order = |iterations: u64| {
            mpi.broadcast(&mut i64::try_from(iterations).unwrap_or(i64::MAX));
            batch(iterations)
        };
        let iterations = self.warm_up(&mut order);
        let mut values = Vec::new();
        for _ in 0..self.repetitions {
            let time = order(iterations);
            values.push(time.as_nanos() as f64 / iterations as f64);
        }
        mpi.broadcast(&mut 0);
        values
    }

    /// Runs until the time is known well enough to say how many iterations fill the budget.
    fn warm_up(&self, order: &mut impl FnMut(u64) -> Duration) -> u64 {
        if self.iterations > 0 {
            order(self.iterations.div_ceil(10));
            return self.iterations;
        }
        let mut iterations = 1;
        loop {
            // The first one may have waited for ranks that were still starting.
            let time = order(iterations).min(order(iterations));
            if time >= self.budget / 4 || iterations >= MOST {
                let fitting =
                    iterations as f64 * self.budget.as_secs_f64() / time.as_secs_f64().max(1e-9);
                return (fitting as u64).clamp(1, MOST);
            }
            iterations *= 2;
        }
    }
}
