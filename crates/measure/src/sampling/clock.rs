// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the clock itself takes, which short times contain, and a moment without calls.

use std::time::{Duration, Instant};

use machine_profile::statistics::median;

/// Readings whose median counts.
const READINGS: usize = 2000;

/// What two readings of the clock right after each other are apart, in nanoseconds: the median of many.
pub fn clock_ns() -> f64 {
    let apart: Vec<f64> = (0..READINGS)
        .map(|_| Instant::now().elapsed().as_nanos() as f64)
        .collect();
    median(&apart)
}

/// Spins for a time.
pub fn stay_quiet(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
