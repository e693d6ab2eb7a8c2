// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a cache line costs in a stream from core to core, without any MPI: to write one that the other core has read, and to read
//! one that the other core has written.

use std::sync::{Arc, Barrier};
use std::time::Instant;

use machine_profile::statistics::{median, spread};

use super::cache_line::first_two_cores;
use crate::sampling::clock_ns;
use crate::sync::{AtomicU64, Ordering};
use crate::threads::{Spot, bind};

/// Lines of a stream, as many as a ring has cells at least.
const LINES: usize = 64;
const REPETITIONS: u64 = 2_000;

#[repr(align(64))]
struct Line(AtomicU64);

/// Nanoseconds per line of a stream, and their spread.
pub struct LineCosts {
    /// The line was last read by the other core.
    pub write_ns: [f64; 2],
    /// The line was last written by the other core.
    pub read_ns: [f64; 2],
}

/// The medians; nothing when this process may use one core only.
pub fn measure() -> Option<LineCosts> {
    let [first, second] = first_two_cores()?;
    let lines: Vec<Line> = (0..LINES).map(|_| Line(AtomicU64::new(0))).collect();
    let shared = Arc::new((Barrier::new(2), lines));
    let side = |spot: Spot, is_writer: bool| {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || {
            // A core that was allowed a moment ago may be gone: then there is no number, but nobody hangs.
            let is_bound = bind(spot.core).is_ok();
            let (barrier, lines) = &*shared;
            let clock = clock_ns();
            let mut times = Vec::new();
            for repetition in 1..=REPETITIONS {
                barrier.wait();
                if is_writer {
                    times.push(per_line(clock, || write(lines, repetition)));
                }
                barrier.wait();
                if !is_writer {
                    times.push(per_line(clock, || read(lines)));
                }
            }
            is_bound.then(|| [median(&times), spread(&times)])
        })
    };
    let (writer, reader) = (side(first, true), side(second, false));
    Some(LineCosts {
        write_ns: writer.join().ok()??,
        read_ns: reader.join().ok()??,
    })
}

fn write(lines: &[Line], value: u64) {
    for line in lines {
        line.0.store(value, Ordering::Relaxed);
    }
    // The clock is read when the last line is this core's.
    std::hint::black_box(
        lines
            .last()
            .map(|line| line.0.fetch_add(0, Ordering::Relaxed)),
    );
}

fn read(lines: &[Line]) {
    let sum = lines.iter().map(|line| line.0.load(Ordering::Relaxed));
    std::hint::black_box(sum.fold(0, u64::wrapping_add));
}

fn per_line(clock: f64, action: impl FnOnce()) -> f64 {
    let start = Instant::now();
    action();
    let all = start.elapsed().as_nanos() as f64;
    (all - clock).max(0.0) / LINES as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_take_time_wherever_there_are_two_cores() {
        let cores = sys::cores::usable_cores();
        let measured = measure().is_some_and(|costs| costs.read_ns[0] + costs.write_ns[0] > 0.0);
        assert_eq!(measured, cores > 1);
    }
}
