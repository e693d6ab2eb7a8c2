// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a message's time, for `rankpoint model calibrate`, and windows of messages, for `check`.
//!
//! A send is timed while its receiver makes no MPI call, a receive when its message has come already: neither contains the way
//! between the cores, which the model adds.

use std::time::{Duration, Instant};

use super::super::line_stream::clock_ns;
use super::super::results::median;
use super::{RankOptions, report};
use crate::mpi::{Mpi, Tags, WINDOW_TAG, Window};

/// Name of the job that measures parts.
pub(crate) const PARTS: &str = "model-parts";
/// Name of the job that measures windows.
pub(crate) const WINDOWS: &str = "model-windows";
/// Name of the point with nanoseconds from core to core.
pub(crate) const DISTANCE: &str = "core_to_core";
/// Windows that are measured.
const DEPTHS: [usize; 3] = [1, 8, 64];

const TAG: i32 = 1;
/// Messages between two readings of the clock, and their bytes: they fit in a ring.
const BATCH: usize = 8;
const BATCH_BYTES: usize = 64 << 10;
/// Windows whose calls are timed: what a window costs beside its messages is in both.
const TIMED_DEPTHS: [usize; 2] = [8, 32];
const SAMPLES: usize = 300;
/// The receiver makes no call for so long: longer than a batch takes to send.
const QUIET: Duration = Duration::from_micros(100);
/// Readings of the clock whose median is subtracted.
const CLOCK_SAMPLES: usize = 1000;

/// Which calls are timed.
#[derive(Clone, Copy, PartialEq)]
enum Calls {
    Blocking,
    Windowed,
}

/// Reports `send` and `receive` of a message for each size, `send_window` and `receive_window` of whole windows of the first size, whose
/// points have the number of messages as their size; then [`DISTANCE`], around and between them.
pub(super) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let mut distances = Vec::new();
    look(mpi, options, &mut distances);
    for &size in &options.sizes {
        let batch = (BATCH_BYTES / size.max(1)).clamp(1, BATCH);
        let [send, receive] = halves(mpi, size, batch, Calls::Blocking)?;
        let each = |times: Vec<f64>| -> Vec<f64> {
            times.iter().map(|time| time / batch as f64).collect()
        };
        let [send, receive] = [send, receive].map(each);
        look(mpi, options, &mut distances);
        report(mpi, options, "send", size, &send)?;
        report(mpi, options, "receive", size, &receive)?;
    }
    let size = options.sizes.first().copied().unwrap_or(8);
    for depth in TIMED_DEPTHS {
        let [send, receive] = halves(mpi, size, depth, Calls::Windowed)?;
        look(mpi, options, &mut distances);
        report(mpi, options, "send_window", depth, &send)?;
        report(mpi, options, "receive_window", depth, &receive)?;
    }
    report(mpi, options, DISTANCE, 0, &distances)
}

/// Notes how far the cores of ranks 0 and 1 are apart now, where there is a line between them.
fn look(mpi: &Mpi, options: &RankOptions, distances: &mut Vec<f64>) {
    let Some(line) = options.effort.line else {
        return;
    };
    if mpi.rank == 0 {
        return distances.push(line.probe(mpi));
    }
    mpi.broadcast(&mut 0);
    line.answer();
}

/// Reports nanoseconds per message of windows, each answered by a short message; the size of a point is the window's.
pub(super) fn windows(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let size = options.sizes.first().copied().unwrap_or(8);
    for depth in DEPTHS {
        let (data, mut slots) = (vec![1_u8; size], vec![2_u8; size * depth]);
        let mut window = Window::new(depth);
        let values = options.effort.measure(mpi, |iterations| {
            let mut answer = [0_u8; 4];
            for _ in 0..iterations {
                if mpi.rank == 0 {
                    mpi.send_window(&data, 1, Tags::same(WINDOW_TAG), &mut window);
                    mpi.receive(&mut answer, 1, TAG);
                } else {
                    mpi.receive_window(&mut slots, size, 0, Tags::same(WINDOW_TAG), &mut window);
                    mpi.send(&answer, 0, TAG);
                }
            }
        });
        let each: Vec<f64> = values.iter().map(|time| time / depth as f64).collect();
        report(mpi, options, "window", depth, &each)?;
    }
    Ok(())
}

/// Nanoseconds of so many sends and of as many receives, on rank 0.
fn halves(mpi: &Mpi, size: usize, batch: usize, calls: Calls) -> Result<[Vec<f64>; 2], String> {
    let (data, mut room) = (vec![1_u8; size], vec![2_u8; size.max(1) * batch]);
    let mut window = Window::new(batch);
    let clock: Vec<f64> = (0..CLOCK_SAMPLES).map(|_| clock_ns()).collect();
    let clock = median(&clock);
    let mut own = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        mpi.barrier();
        let mut start = Instant::now();
        if mpi.rank == 1 {
            while start.elapsed() < QUIET {
                std::hint::spin_loop();
            }
            start = Instant::now();
        }
        match (mpi.rank, calls) {
            (0, Calls::Blocking) => (0..batch).for_each(|_| mpi.send(&data, 1, TAG)),
            (0, Calls::Windowed) => mpi.send_window(&data, 1, Tags::same(TAG), &mut window),
            (1, Calls::Blocking) => {
                (0..batch).for_each(|_| mpi.receive(&mut room[..size], 0, TAG));
            }
            (1, Calls::Windowed) => {
                mpi.receive_window(&mut room, size, 0, Tags::same(TAG), &mut window);
            }
            _ => {}
        }
        let time = start.elapsed().as_nanos() as f64 - clock;
        own.push(time.max(0.0));
    }
    if mpi.rank == 1 {
        let bytes: Vec<u8> = own.iter().flat_map(|value| value.to_le_bytes()).collect();
        mpi.send(&bytes, 0, TAG);
        return Ok([Vec::new(), Vec::new()]);
    }
    let mut bytes = vec![0_u8; SAMPLES * 8];
    if mpi.rank == 0 {
        mpi.receive(&mut bytes, 1, TAG);
        let quiet = QUIET.as_nanos() as f64;
        let sent = median(&own);
        if sent >= quiet {
            return Err(format!(
                "{batch} sends of {size} bytes take {sent:.0} ns: expected less than {quiet:.0} ns, or they wait for their receiver"
            ));
        }
    }
    let (values, _) = bytes.as_chunks::<8>();
    let other = values
        .iter()
        .map(|value| f64::from_le_bytes(*value))
        .collect();
    Ok([own, other])
}
