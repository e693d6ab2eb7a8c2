// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deep queues: many messages matched in the order that is worst for a list.

use std::time::{Duration, Instant};

use crate::measurement::DEPTH;
use crate::mpi::{Mpi, Tags, Window};
use crate::options::RankOptions;
use crate::output::report;
use crate::pattern::{check, fill};

/// Tag of the messages that say "go" and "all sent"; above those of the measured ones.
const SIGNAL: i32 = DEPTH as i32;
const SIZE: usize = 8;

/// Rank 1 sends, rank 0 lets all arrive and then receives the last one first.
pub(crate) fn unexpected(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let mut data = [0_u8; SIZE];
    fill(&mut data, 1);
    let mut window = Window::new(DEPTH);
    let values = options.effort.measure_own(mpi, |iterations| {
        let mut total = Duration::ZERO;
        for _ in 0..iterations {
            total += unexpected_once(mpi, &data, &mut window, options.verify);
        }
        total
    });
    report(mpi, options, options.measurement.name, SIZE, &each(&values))
}

fn unexpected_once(mpi: &Mpi, data: &[u8; SIZE], window: &mut Window, verify: bool) -> Duration {
    if mpi.rank != 0 {
        mpi.receive(&mut [], 0, SIGNAL);
        mpi.send_window(data, 0, Tags::ascending(), window);
        mpi.send(&[], 0, SIGNAL);
        return Duration::ZERO;
    }
    mpi.send(&[], 1, SIGNAL);
    // Messages between two ranks stay in order: when the signal is here, all others are.
    mpi.receive(&mut [], 1, SIGNAL);
    let mut message = [0_u8; SIZE];
    let start = Instant::now();
    for tag in (0..SIGNAL).rev() {
        mpi.receive(&mut message, 1, tag);
    }
    let time = start.elapsed();
    if verify {
        check(mpi, &message, 1);
    }
    time
}

/// Rank 0 posts receives, rank 1 sends what the last one waits for first.
pub(crate) fn posted(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let mut data = [0_u8; SIZE];
    fill(&mut data, 1);
    let mut slots = vec![0_u8; DEPTH * SIZE];
    let mut window = Window::new(DEPTH);
    let values = options.effort.measure_own(mpi, |iterations| {
        let mut total = Duration::ZERO;
        for _ in 0..iterations {
            total += posted_once(mpi, &data, &mut slots, &mut window);
            if options.verify && mpi.rank == 0 {
                slots.chunks(SIZE).for_each(|slot| check(mpi, slot, 1));
                slots.fill(0);
            }
        }
        total
    });
    report(mpi, options, options.measurement.name, SIZE, &each(&values))
}

fn posted_once(mpi: &Mpi, data: &[u8], slots: &mut [u8], window: &mut Window) -> Duration {
    if mpi.rank != 0 {
        mpi.receive(&mut [], 0, SIGNAL);
        mpi.send_window(data, 0, Tags::descending(DEPTH), window);
        return Duration::ZERO;
    }
    let mut start = Instant::now();
    mpi.receive_window_while(slots, SIZE, 1, Tags::ascending(), window, |mpi| {
        start = Instant::now();
        mpi.send(&[], 1, SIGNAL);
    });
    start.elapsed()
}

fn each(values: &[f64]) -> Vec<f64> {
    values.iter().map(|time| time / DEPTH as f64).collect()
}
