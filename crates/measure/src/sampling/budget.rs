// SPDX-License-Identifier: MIT OR Apache-2.0
//! Repetitions of as many iterations as fill the time that each may take, after a warm-up.
//!
//! No point may hold up a run: when the next repetition would exceed the point's limit, the values that are there are all it
//! gets, and where one iteration exceeds it, that iteration is the value.

use std::time::{Duration, Instant};

/// How much a measurement may do.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Iterations of a repetition; 0 lets `each` decide.
    pub iterations: u64,
    /// Values of a point.
    pub repetitions: u64,
    /// Time of a repetition.
    pub each: Duration,
    /// Time of a point, warm-up included.
    pub limit: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            iterations: 0,
            repetitions: 7,
            each: Duration::from_millis(20),
            limit: Duration::from_secs(5),
        }
    }
}

/// Before or after a repetition.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// Before it.
    Before,
    /// After it.
    After,
}

/// The number of iterations after one whose time is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Grown {
    /// The time was too short to tell: as many are tried next.
    Try(u64),
    /// As many fill the time.
    Fits(u64),
}

/// Most iterations of a repetition, whatever the clock says.
const MOST: u64 = 1 << 24;

/// How many iterations fill `each`, where so many took a time.
pub fn grow(iterations: u64, took: Duration, each: Duration) -> Grown {
    if took < each / 4 && iterations < MOST {
        return Grown::Try(iterations * 2);
    }
    let fitting = iterations as f64 * each.as_secs_f64() / took.as_secs_f64().max(1e-9);
    Grown::Fits((fitting as u64).clamp(1, MOST))
}

impl Budget {
    /// The nanoseconds of an iteration in each repetition, at least one. `order` runs so many iterations and gives their time,
    /// `look` is called around each repetition; `first` is the time of an iteration that has run already, or zero.
    pub fn values(
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
        let warm_up = self.warm_up(&mut order);
        let mut expected = (warm_up.took).mul_f64(warm_up.fitting as f64 / warm_up.run as f64);
        let mut values = Vec::new();
        for _ in 0..self.repetitions {
            if start.elapsed() + expected > self.limit {
                break;
            }
            look(When::Before);
            expected = order(warm_up.fitting);
            look(When::After);
            values.push(each(expected, warm_up.fitting));
        }
        if values.is_empty() {
            values.push(each(warm_up.took, warm_up.run));
        }
        values
    }

    /// The iterations of a repetition where one takes so many nanoseconds.
    pub fn fitting(&self, each_ns: f64) -> u64 {
        match self.iterations {
            0 => ((self.each.as_nanos() as f64 / each_ns) as u64).clamp(1, MOST),
            asked => asked,
        }
    }

    /// Runs until the time is known well enough to say how many iterations fill a repetition.
    fn warm_up(&self, order: &mut impl FnMut(u64) -> Duration) -> WarmUp {
        if self.iterations > 0 {
            let run = self.iterations.div_ceil(10);
            return WarmUp {
                run,
                took: order(run),
                fitting: self.iterations,
            };
        }
        let mut run = 1;
        loop {
            let mut took = order(run);
            if took < self.limit {
                // The first one may have waited for ranks that were still starting.
                took = took.min(order(run));
            }
            match grow(run, took, self.each) {
                Grown::Try(more) => run = more,
                Grown::Fits(fitting) => return WarmUp { run, took, fitting },
            }
        }
    }
}

/// What a warm-up has found.
struct WarmUp {
    /// Iterations of its last run, and their time.
    run: u64,
    took: Duration,
    /// Iterations that fill a repetition.
    fitting: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values in ms, and the iterations of all orders, of something that takes so long; the clock of the limit is real.
    fn measured(each: Duration, budget: Budget, first: Duration) -> (Vec<f64>, Vec<u64>) {
        let mut orders = Vec::new();
        let order = |iterations| {
            orders.push(iterations);
            let time = each * iterations as u32;
            std::thread::sleep(time);
            time
        };
        let values = budget.values(first, order, |_| ());
        (values.iter().map(|value| value / 1e6).collect(), orders)
    }

    fn budget(each_ms: u64, limit_ms: u64) -> Budget {
        Budget {
            repetitions: 3,
            each: Duration::from_millis(each_ms),
            limit: Duration::from_millis(limit_ms),
            ..Budget::default()
        }
    }

    const NONE: Duration = Duration::ZERO;

    #[test]
    fn repetitions_fill_their_budget() {
        let (values, orders) = measured(Duration::from_millis(1), budget(8, 60_000), NONE);
        assert_eq!(values, [1.0; 3]);
        assert_eq!(orders, [1, 1, 2, 2, 8, 8, 8]);
    }

    #[test]
    fn what_exceeds_the_limit_at_once_runs_once() {
        let long = Duration::from_millis(20);
        assert_eq!(measured(long, budget(1, 20), NONE), (vec![20.0], vec![1]));
        assert_eq!(measured(long, budget(1, 20), long), (vec![20.0], vec![]));
    }

    #[test]
    fn what_exceeds_the_limit_later_has_fewer_values() {
        let (values, orders) = measured(Duration::from_millis(40), budget(1, 150), NONE);
        assert_eq!(orders[..2], [1, 1]);
        assert!(
            values == [40.0] && orders.len() <= 3,
            "{values:?} {orders:?}"
        );
    }

    #[test]
    fn iterations_grow_until_their_number_can_be_told() {
        let (each, ms) = (Duration::from_millis(20), Duration::from_millis);
        assert_eq!(grow(1, ms(1), each), Grown::Try(2));
        assert_eq!(grow(8, ms(10), each), Grown::Fits(16));
        assert_eq!(grow(1, ms(500), each), Grown::Fits(1));
    }
}
