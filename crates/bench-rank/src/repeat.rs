// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a thing runs: warm-up, then repetitions of as many iterations as fill the time that each may take.
//!
//! No point may hold up a run: when the next repetition would exceed the point's limit, the values that are there are all it
//! gets, and where one iteration exceeds it, that iteration is the value.

use std::time::{Duration, Instant};

use crate::distance::{self, DistanceProbe};
use crate::mpi::Mpi;

/// How much a measurement may do.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Iterations of a repetition; 0 lets the budget decide.
    pub(crate) iterations: u64,
    /// Values of a point.
    pub(crate) repetitions: u64,
    /// Time of a repetition.
    pub(crate) budget: Duration,
    /// Time of a point, warm-up included.
    pub(crate) limit: Duration,
    /// The line between ranks 0 and 1, on these.
    pub(crate) line: Option<&'static DistanceProbe>,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            iterations: 0,
            repetitions: 7,
            budget: Duration::from_millis(20),
            limit: Duration::from_secs(5),
            line: None,
        }
    }
}

/// When rank 0 looks how far the cores are from each other.
#[derive(Clone, Copy)]
enum When {
    Before,
    After,
}

/// Most iterations of a repetition, whatever the clock says.
const MOST: u64 = 1 << 24;

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
        let one = Self {
            repetitions: 1,
            ..*self
        };
        // The first time tells how many iterations fill the budget.
        let turns: Vec<Self> = (0..count)
            .map(|which| {
                let times = measure(&one, which);
                let fitting = self.budget.as_nanos() as f64 / times.first().copied().unwrap_or(1.0);
                let iterations = match self.iterations {
                    0 => (fitting as u64).clamp(1, MOST),
                    asked => asked,
                };
                Self { iterations, ..one }
            })
            .collect();
        let mut values = vec![Vec::new(); count];
        for _ in 0..self.repetitions {
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
        let values = self.values(first, order, look);
        mpi.broadcast(&mut 0);
        values
    }

    /// Rank 0's part: the nanoseconds of an iteration in each repetition, at least one.
    fn values(
        &self,
        first: Duration,
        mut order: impl FnMut(u64) -> Duration,
        mut look: impl FnMut(When),
    ) -> Vec<f64> {
        let each = |time: Duration, iterations: u64| time.as_nanos() as f64 / iterations as f64;
        if first >= self.limit {
            return vec![each(first, 1)];
        }
        let start = Instant::now();
        let (iterations, seen) = self.warm_up(&mut order);
        let mut expected = seen.mul_f64(iterations.1 as f64 / iterations.0 as f64);
        let mut values = Vec::new();
        for _ in 0..self.repetitions {
            if start.elapsed() + expected > self.limit {
                break;
            }
            look(When::Before);
            expected = order(iterations.1);
            look(When::After);
            values.push(each(expected, iterations.1));
        }
        if values.is_empty() {
            values.push(each(seen, iterations.0));
        }
        values
    }

    /// Runs until the time is known well enough to say how many iterations fill the budget. Gives how many were run, and how
    /// many that are, with the time of the former.
    fn warm_up(&self, order: &mut impl FnMut(u64) -> Duration) -> ((u64, u64), Duration) {
        if self.iterations > 0 {
            let few = self.iterations.div_ceil(10);
            return ((few, self.iterations), order(few));
        }
        let mut iterations = 1;
        loop {
            let mut time = order(iterations);
            if time < self.limit {
                // The first one may have waited for ranks that were still starting.
                time = time.min(order(iterations));
            }
            if time >= self.budget / 4 || iterations >= MOST {
                let fitting =
                    iterations as f64 * self.budget.as_secs_f64() / time.as_secs_f64().max(1e-9);
                return ((iterations, (fitting as u64).clamp(1, MOST)), time);
            }
            iterations *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values in ms, and the iterations of all orders, of something that takes so long; the clock of the limit is real.
    fn measured(each: Duration, effort: Effort, first: Duration) -> (Vec<f64>, Vec<u64>) {
        let mut orders = Vec::new();
        let order = |iterations| {
            orders.push(iterations);
            let time = each * iterations as u32;
            std::thread::sleep(time);
            time
        };
        let values = effort.values(first, order, |_| ());
        (values.iter().map(|value| value / 1e6).collect(), orders)
    }

    fn effort(budget_ms: u64, limit_ms: u64) -> Effort {
        Effort {
            repetitions: 3,
            budget: Duration::from_millis(budget_ms),
            limit: Duration::from_millis(limit_ms),
            ..Effort::default()
        }
    }

    const NONE: Duration = Duration::ZERO;

    #[test]
    fn repetitions_fill_their_budget() {
        let (values, orders) = measured(Duration::from_millis(1), effort(8, 60_000), NONE);
        assert_eq!(values, [1.0; 3]);
        assert_eq!(orders, [1, 1, 2, 2, 8, 8, 8]);
    }

    #[test]
    fn what_exceeds_the_limit_at_once_runs_once() {
        let long = Duration::from_millis(20);
        assert_eq!(measured(long, effort(1, 20), NONE), (vec![20.0], vec![1]));
        assert_eq!(measured(long, effort(1, 20), long), (vec![20.0], vec![]));
    }

    #[test]
    fn what_exceeds_the_limit_later_has_fewer_values() {
        let (values, orders) = measured(Duration::from_millis(40), effort(1, 150), NONE);
        assert_eq!(orders[..2], [1, 1]);
        assert!(
            values == [40.0] && orders.len() <= 3,
            "{values:?} {orders:?}"
        );
    }
}
