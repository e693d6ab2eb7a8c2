// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of an operation is hidden behind work that the rank does meanwhile.
//!
//! All ranks start the operation, compute for as long as the operation alone takes, and wait. Of the time of the
//! operation alone, the part that the three together did not add to the work is the overlap:
//! `1 - (together - work) / alone`, between 0 and 1, in per cent. Work and operation are timed by the same clock, one after the other,
//! and the work is the same in both.

use std::hint::black_box;
use std::time::Instant;

use measure::statistics::median;

use crate::mpi::Mpi;
use crate::mpi::collective::{Form, Operation, Plan};
use crate::options::RankOptions;
use crate::output::report;

/// Tests of the request during the work, in the rows that test.
const TESTS: u64 = 16;
/// Steps of work whose time is measured to know how many make up a nanosecond.
const CALIBRATION: u64 = 2_000_000;

/// Operation and tests that a row's name means.
fn find(name: &str) -> Option<(Operation, u64)> {
    let name = name.strip_prefix("overlap-")?;
    let (name, tests) = match name.strip_suffix("-test") {
        Some(name) => (name, TESTS),
        None => (name, 0),
    };
    let operation = match name {
        "isend" => Operation::Send,
        "ibcast" => Operation::Bcast,
        "iallreduce" => Operation::Allreduce,
        "ialltoall" => Operation::Alltoall,
        _ => return None,
    };
    Some((operation, tests))
}

/// Work that needs neither memory nor anybody else: a chain of multiplications.
pub(crate) fn work(steps: u64) {
    let mut number = black_box(3_u64);
    for _ in 0..steps {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .rotate_left(7);
    }
    black_box(number);
}

/// Steps of work in a nanosecond.
pub(crate) fn steps_per_ns() -> f64 {
    work(CALIBRATION);
    let start = Instant::now();
    work(CALIBRATION);
    CALIBRATION as f64 / start.elapsed().as_nanos().max(1) as f64
}

/// Measures the row's operation, at all sizes.
pub(crate) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let name = options.measurement.name;
    let (operation, tests) = find(name).ok_or_else(|| format!("no rank measures {name}"))?;
    for &size in &options.sizes {
        let mut plan = Plan::new(mpi, operation, Form::Nonblocking, size);
        plan.run();
        if options.verify {
            plan.check();
        }
        let alone = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                plan.run();
            }
            mpi.barrier();
        });
        let alone = median(&alone);
        // Other ranks work as long as rank 0.
        let mut steps = (alone * steps_per_ns()) as i64;
        mpi.broadcast(&mut steps);
        // All parts are as long, and one more than there are tests.
        let part = steps.unsigned_abs() / (tests + 1);
        let works = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations * (tests + 1) {
                work(part);
            }
            mpi.barrier();
        });
        let together = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                plan.start();
                for _ in 0..tests {
                    work(part);
                    plan.test();
                }
                work(part);
                plan.wait();
            }
            mpi.barrier();
        });
        if options.verify {
            plan.check();
        }
        let works = median(&works);
        let hidden = |together: &f64| 100.0 * (1.0 - (together - works) / alone).clamp(0.0, 1.0);
        let values: Vec<f64> = together.iter().map(hidden).collect();
        report(mpi, options, name, size, &values)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::MEASUREMENTS;

    #[test]
    fn every_row_of_the_group_names_an_operation() {
        let rows = MEASUREMENTS.iter().filter(|row| row.is_called("overlap"));
        let found: Vec<_> = rows
            .map(|row| find(row.name).map(|(_, tests)| tests))
            .collect();
        assert_eq!(found.len(), 8);
        assert_eq!(found.iter().filter(|tests| **tests == Some(0)).count(), 4);
        assert_eq!(
            found.iter().filter(|tests| **tests == Some(TESTS)).count(),
            4
        );
    }

    #[test]
    fn work_takes_time_in_proportion_to_its_steps() {
        let time = |steps| {
            let start = Instant::now();
            work(steps);
            start.elapsed()
        };
        let least = |steps| (0..5).map(|_| time(steps)).min().unwrap();
        assert!(least(4_000_000) > 2 * least(1_000_000));
    }
}
