// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two ranks and one stream of messages: latency, bandwidth, bidirectional bandwidth, message rate.

use crate::measurement::{Unit, WINDOW};
use crate::mpi::{Mpi, Tags, WINDOW_TAG, Window};
use crate::options::RankOptions;
use crate::output::report;
use crate::pattern::{check, fill};

const TAG: i32 = 1;
/// Messages of each size that are checked byte by byte before the clock starts.
const CHECKED: u64 = 8;
/// Slots of a window lie side by side up to this many bytes, so that large windows measure copying and not paging.
const SLOT_BYTES: usize = 8 << 20;

/// Half the time there and back, by size.
pub(crate) fn latency(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    for &size in &options.sizes {
        let (mut out, mut back) = (vec![1_u8; size], vec![2_u8; size]);
        if options.verify {
            for message in 0..CHECKED {
                round_trip(mpi, &mut out, &mut back, |mpi, out| {
                    fill(out, message + mpi.rank as u64)
                });
                check(mpi, &back, message + 1 - mpi.rank as u64);
            }
        }
        let values = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                round_trip(mpi, &mut out, &mut back, |_, _| {});
            }
        });
        let halves: Vec<f64> = values.iter().map(|time| time / 2.0).collect();
        report(mpi, options, options.measurement.name, size, &halves)?;
    }
    Ok(())
}

fn round_trip(mpi: &Mpi, out: &mut [u8], back: &mut [u8], prepare: impl Fn(&Mpi, &mut [u8])) {
    prepare(mpi, out);
    if mpi.rank == 0 {
        mpi.send(out, 1, TAG);
        mpi.receive(back, 1, TAG);
    } else {
        mpi.receive(back, 0, TAG);
        mpi.send(out, 0, TAG);
    }
}

/// Windows from rank 0 to rank 1, each answered by a short message; as bytes or as messages a second.
pub(crate) fn bandwidth(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    for &size in &options.sizes {
        let (mut data, mut slots) = (vec![1_u8; size], slots(size, WINDOW));
        let mut window = Window::new(WINDOW);
        let mut one_window = |data: &[u8], slots: &mut [u8]| {
            let mut answer = [0_u8; 4];
            if mpi.rank == 0 {
                mpi.send_window(data, 1, Tags::same(WINDOW_TAG), &mut window);
                mpi.receive(&mut answer, 1, TAG);
            } else {
                mpi.receive_window(slots, size, 0, Tags::same(WINDOW_TAG), &mut window);
                mpi.send(&answer, 0, TAG);
            }
        };
        for message in 0..if options.verify { CHECKED } else { 0 } {
            fill(&mut data, message);
            one_window(&data, &mut slots);
            if mpi.rank == 1 {
                check_slots(mpi, &slots, size, message);
            }
        }
        let values = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                one_window(&data, &mut slots);
            }
        });
        report_rates(mpi, options, size, WINDOW, &values)?;
    }
    Ok(())
}

/// Windows both ways at once.
pub(crate) fn bidirectional(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let peer = 1 - mpi.rank;
    for &size in &options.sizes {
        let (mut data, mut slots) = (vec![1_u8; size], slots(size, WINDOW));
        let (mut sends, mut receives) = (Window::new(WINDOW), Window::new(WINDOW));
        for message in 0..if options.verify { CHECKED } else { 0 } {
            fill(&mut data, message + mpi.rank as u64);
            mpi.exchange_windows(&data, &mut slots, peer, &mut sends, &mut receives);
            check_slots(mpi, &slots, size, message + peer as u64);
        }
        let values = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                mpi.exchange_windows(&data, &mut slots, peer, &mut sends, &mut receives);
            }
        });
        report_rates(mpi, options, size, 2 * WINDOW, &values)?;
    }
    Ok(())
}

pub(crate) fn slots(size: usize, window: usize) -> Vec<u8> {
    let count = (SLOT_BYTES / size.max(1)).clamp(1, window);
    vec![2_u8; count * size]
}

pub(crate) fn check_slots(mpi: &Mpi, slots: &[u8], size: usize, message: u64) {
    for slot in slots.chunks(size.max(1)) {
        check(mpi, slot, message);
    }
}

fn report_rates(
    mpi: &Mpi,
    options: &RankOptions,
    size: usize,
    messages: usize,
    values: &[f64],
) -> Result<(), String> {
    let each = match options.measurement.unit {
        Unit::MessagesPerSecond => messages,
        _ => messages * size,
    };
    let rates: Vec<f64> = values.iter().map(|time| each as f64 * 1e9 / time).collect();
    report(mpi, options, options.measurement.name, size, &rates)
}
