// SPDX-License-Identifier: MIT OR Apache-2.0
//! From repetitions to a sample: how many repetitions a value has, how many values a trial, how many trials.

use std::time::{Duration, Instant};

use machine_profile::Sample;
use machine_profile::statistics::{mad, median, trimean};

use super::iid::{Verdict, check};

/// How much is measured for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Least nanoseconds of one value, which is the mean of its repetitions.
    pub value_ns: f64,
    /// Fewest values of a trial.
    pub fewest: usize,
    /// Most values of a trial.
    pub most: usize,
    /// Time after which a trial has no more than its fewest values.
    pub trial: Duration,
    /// Trials until the values pass the checks of independence.
    pub trials: usize,
}

impl Plan {
    /// A profile within minutes.
    pub const FULL: Self = Self {
        value_ns: 200_000.0,
        fewest: 7,
        most: 500,
        trial: Duration::from_millis(120),
        trials: 3,
    };
    /// A profile within a minute.
    pub const QUICK: Self = Self {
        value_ns: 200_000.0,
        fewest: 7,
        most: 120,
        trial: Duration::from_millis(30),
        trials: 2,
    };

    /// The same with a part of the time, for entries of many points.
    pub fn divided(self, parts: usize) -> Self {
        let parts = u32::try_from(parts.max(1)).unwrap_or(u32::MAX);
        Self {
            trial: self.trial / parts,
            trials: 1,
            ..self
        }
    }
}

/// A sample, and what became of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The statistics of the last trial.
    pub sample: Sample,
    /// Trials.
    pub trials: usize,
    /// Values that were dropped because the system had disturbed them.
    pub dropped: u64,
    /// What the checks of independence said.
    pub verdict: Verdict,
}

/// What the system has done to the calling thread.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Disturbance {
    /// Page faults.
    pub faults: i64,
    /// Times that another thread took its core.
    pub preemptions: i64,
    /// The core that it runs on.
    pub core: Option<u32>,
}

/// What the system has done to the calling thread so far.
pub fn disturbance() -> Disturbance {
    // SAFETY: all zeros is a value of this type.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: writes one structure that lives through the call.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0;
    if failed {
        return Disturbance::default();
    }
    Disturbance {
        faults: usage.ru_minflt + usage.ru_majflt,
        preemptions: usage.ru_nivcsw,
        core: sys::cores::current_processor(),
    }
}

/// Time after which a trial ends with fewer values than the fewest: where other programs want the cores, each takes long.
const LONGEST: Duration = Duration::from_secs(1);
/// Most repetitions of a value.
const MOST_REPETITIONS: u64 = 1 << 32;

/// Samples an operation. `timed` performs so many repetitions and gives their nanoseconds; `state` tells what the system has done,
/// and a value around which it changes is dropped.
pub fn sample<S: PartialEq>(
    plan: &Plan,
    timed: &mut dyn FnMut(u64) -> f64,
    state: &dyn Fn() -> S,
) -> Sampled {
    let repetitions = repetitions(plan, timed);
    let mut dropped = 0;
    let mut trials = 0;
    loop {
        trials += 1;
        let (values, spoilt) = trial(plan, timed, state, repetitions);
        dropped += spoilt.len() as u64;
        let is_undisturbed = values.len() >= plan.fewest;
        let counted = if is_undisturbed {
            values
        } else {
            // Where the system disturbs nearly everything, disturbed values are what there is.
            [values, spoilt].concat()
        };
        let verdict = check(&counted);
        let iid = is_undisturbed && !matches!(verdict, Verdict::Dependent(_));
        if iid || trials >= plan.trials {
            let sample = Sample {
                ns: median(&counted),
                trimean: trimean(&counted),
                mad: mad(&counted),
                n: counted.len() as u64,
                iid,
            };
            return Sampled {
                sample,
                trials,
                dropped,
                verdict,
            };
        }
    }
}

/// Values of one trial: undisturbed ones and others.
fn trial<S: PartialEq>(
    plan: &Plan,
    timed: &mut dyn FnMut(u64) -> f64,
    state: &dyn Fn() -> S,
    repetitions: u64,
) -> (Vec<f64>, Vec<f64>) {
    let (mut values, mut spoilt) = (Vec::with_capacity(plan.most), Vec::with_capacity(plan.most));
    let begin = Instant::now();
    let mut before = state();
    while values.len() + spoilt.len() < plan.most {
        let (count, elapsed) = (values.len() + spoilt.len(), begin.elapsed());
        if elapsed >= plan.trial && (count >= plan.fewest || (count > 0 && elapsed >= LONGEST)) {
            break;
        }
        let value = timed(repetitions) / repetitions as f64;
        let after = state();
        if after == before {
            values.push(value);
        } else {
            spoilt.push(value);
        }
        before = after;
    }
    (values, spoilt)
}

/// As many repetitions as fill a value.
fn repetitions(plan: &Plan, timed: &mut dyn FnMut(u64) -> f64) -> u64 {
    let mut repetitions = 1;
    loop {
        let time = timed(repetitions).max(1.0);
        if time >= plan.value_ns || repetitions >= MOST_REPETITIONS {
            return repetitions;
        }
        // A first call is slow; estimates from a short time are bold only by so much.
        let wanted = plan.value_ns / time * 1.1;
        let factor = wanted.clamp(2.0, 100.0);
        repetitions = ((repetitions as f64 * factor).ceil() as u64).min(MOST_REPETITIONS);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const PLAN: Plan = Plan {
        value_ns: 1000.0,
        fewest: 7,
        most: 100,
        trial: Duration::from_secs(3600),
        trials: 4,
    };

    #[test]
    fn values_are_long_enough_and_the_mean_of_their_repetitions() {
        let shortest = Cell::new(f64::INFINITY);
        let mut calls = 0;
        let mut timed = |repetitions: u64| {
            calls += 1;
            let time = 5.0 * repetitions as f64;
            if calls > 10 {
                shortest.set(shortest.get().min(time));
            }
            time
        };
        let found = sample(&PLAN, &mut timed, &|| 0);
        assert_eq!((found.sample.ns, found.sample.mad), (5.0, 0.0));
        assert_eq!((found.sample.n, found.trials, found.dropped), (100, 1, 0));
        assert!(found.sample.iid && shortest.get() >= PLAN.value_ns);
    }

    #[test]
    fn disturbed_values_are_dropped_and_counted() {
        let calls = Cell::new(0u32);
        let mut timed = |repetitions: u64| {
            calls.set(calls.get() + 1);
            let is_disturbed = calls.get().is_multiple_of(5);
            repetitions as f64 * if is_disturbed { 900.0 } else { 2000.0 }
        };
        let found = sample(&PLAN, &mut timed, &|| calls.get() / 5);
        assert_eq!((found.sample.ns, found.dropped), (2000.0, 20));
        assert_eq!((found.sample.n, found.sample.mad), (80, 0.0));
    }

    #[test]
    fn where_everything_is_disturbed_values_count_but_are_not_independent() {
        let calls = Cell::new(0u32);
        let mut timed = |repetitions: u64| {
            calls.set(calls.get() + 1);
            repetitions as f64 * 2000.0
        };
        let found = sample(&PLAN, &mut timed, &|| calls.get());
        assert!(!found.sample.iid && found.trials == PLAN.trials);
        assert_eq!((found.sample.n, found.sample.ns), (100, 2000.0));
    }

    #[test]
    fn drifting_values_are_tried_again_and_marked() {
        let calls = Cell::new(0u32);
        let mut timed = |repetitions: u64| {
            calls.set(calls.get() + 1);
            repetitions as f64 * (2000.0 + f64::from(calls.get()))
        };
        let found = sample(&PLAN, &mut timed, &|| 0);
        assert_eq!(found.trials, PLAN.trials);
        assert!(!found.sample.iid && matches!(found.verdict, Verdict::Dependent(_)));
    }
}
