// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick: how long one cache line takes from core to core, without any MPI.
//!
//! Two threads, each bound to a core, write a number into their own line and wait for the other's. A virtual machine may move
//! its cores while a job runs; then this core distance changes, and the times of all libraries with it.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::sync::{AtomicU64, Ordering};

/// Round trips of a repetition.
const ROUND_TRIPS: u64 = 5_000;
const REPETITIONS: usize = 15;
/// Time after which no more are begun: where other programs want the cores, both threads seldom run at once.
const LONGEST: Duration = Duration::from_millis(300);
/// What ends the echo.
const END: u64 = u64::MAX;

/// Two cache lines apart, because processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct PaddedNumber(AtomicU64);

/// The median time of half a round trip in nanoseconds; nothing when this process may use one core only.
pub fn measure() -> Option<f64> {
    let (first, second) = first_two_cores()?;
    let shared = Arc::new((
        Barrier::new(2),
        [PaddedNumber::default(), PaddedNumber::default()],
    ));
    let ready = |core| {
        let shared = Arc::clone(&shared);
        move || {
            // A core that was allowed a moment ago may be gone; then the number is worse, but nobody hangs.
            let bound = bind(core);
            shared.0.wait();
            (bound, shared)
        }
    };
    let (lead, echo) = (ready(first), ready(second));
    let echo = std::thread::spawn(move || {
        let (bound, shared) = echo();
        let [from, to] = &shared.1;
        let mut last = 0;
        loop {
            // PAIRS: cache_line.number
            let number = from.0.load(Ordering::Acquire);
            if number == END {
                break;
            }
            if number != last {
                last = number;
                // PAIRS: cache_line.number
                to.0.store(number, Ordering::Release);
            }
            std::hint::spin_loop();
        }
        bound
    });
    let lead = std::thread::spawn(move || {
        let (bound, shared) = lead();
        let [to, from] = &shared.1;
        let mut times = Vec::new();
        let mut number = 0;
        let begin = Instant::now();
        while times.len() <= REPETITIONS && begin.elapsed() < LONGEST {
            let start = Instant::now();
            for _ in 0..ROUND_TRIPS {
                number += 1;
                // PAIRS: cache_line.number
                to.0.store(number, Ordering::Release);
                wait_for(from, number);
            }
            times.push(start.elapsed().as_nanos() as f64 / ROUND_TRIPS as f64 / 2.0);
        }
        // PAIRS: cache_line.number
        to.0.store(END, Ordering::Release);
        bound.map(|()| times)
    });
    let mut times = lead.join().ok().flatten()?;
    echo.join().ok().flatten()?;
    if times.len() > 1 {
        // The first one warms up.
        times.remove(0);
    }
    times.sort_by(f64::total_cmp);
    Some(times[times.len() / 2])
}

/// The first two cores that this process may use.
pub(super) fn first_two_cores() -> Option<(usize, usize)> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    Some((cores.next()?, cores.next()?))
}

pub(super) fn bind(core: usize) -> Option<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).ok()
}

fn wait_for(line: &PaddedNumber, number: u64) {
    // PAIRS: cache_line.number
    while line.0.load(Ordering::Acquire) != number {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_time_wherever_there_are_two_cores() {
        let cores = sys::cores::usable_cores();
        assert_eq!(measure().is_some_and(|time| time > 1.0), cores > 1);
    }
}
