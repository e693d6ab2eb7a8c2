// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a message's time, for `rankpoint model calibrate`; for `check` also what the model predicts.
//!
//! Four kinds of experiments, none of which is a quantity of the model. Calls of both ranks one after the other on one core are work alone. Calls
//! on two cores, a send while its receiver makes no call and a receive whose message has come already, contain lines that the
//! other core had last: their difference by size is what more bytes cost. Windows that name no rank are what a wait costs by itself. Messages that a cache line [answers](super::answered) are both
//! ranks at once.

use std::time::{Duration, Instant};

use measure::sampling::{clock_ns, stay_quiet};
use measure::statistics::median;

use crate::mpi::{Mpi, Tags, Window};
use crate::options::RankOptions;
use crate::output::report;
use crate::path::answered;
use crate::path::turns::OneCore;

/// Name of the job that measures parts.
pub const PARTS: &str = "model-parts";
/// Name of the job that measures parts and what the model predicts, interleaved.
pub const PARTS_AND_QUANTITIES: &str = "model-parts-and-quantities";
/// Name of the point with nanoseconds from core to core.
pub const DISTANCE: &str = "core_to_core";

const TAG: i32 = 1;
/// Messages between two readings of the clock, and their bytes: they fit in a ring.
const BATCH: usize = 8;
const BATCH_BYTES: usize = 64 << 10;
/// Messages of batches and windows that are timed whole: what they cost beside their messages is in both.
const TIMED_DEPTHS: [usize; 2] = [8, 32];
const SAMPLES: usize = 300;
/// The receiver makes no call for so long: longer than a batch takes to send.
const QUIET: Duration = Duration::from_micros(100);
/// Windows of receives that name no rank: how many make a sample, and how long they are.
const NULL_WINDOWS: usize = 200;
const NULL_DEPTHS: [usize; 2] = [1, 9];

/// Reports, of blocking calls, `send` (of a batch) and `receive` (of its first message) for each size on two cores, and `send_alone` and
/// `receive_alone` of batches of the first size on one; of windows, `send_window` and `take_window` on two cores, and `send_once`,
/// `take_once` and `post` on one; of windows that name no rank, `wait`; what a line [answers](answered::measure), with the quantities of
/// the model if they are asked for; then [`DISTANCE`], around and between them. Points of batches and windows have the number of messages
/// as their size.
pub(crate) fn measure(
    mpi: &Mpi,
    options: &RankOptions,
    with_quantities: bool,
) -> Result<(), String> {
    let mut distances = Vec::new();
    look(mpi, options, &mut distances);
    for &size in &options.sizes {
        let mut batch = (BATCH_BYTES / size.max(1)).clamp(1, BATCH);
        let [send, receive] = loop {
            let halves = apart(mpi, size, batch);
            // Sends of a library with less room wait for their receiver; fewer of them may not.
            let mut waits = i64::from(halves.is_err());
            mpi.broadcast(&mut waits);
            if waits == 0 || batch == 1 {
                break halves?;
            }
            batch = batch.div_ceil(2);
        };
        let send: Vec<f64> = send.iter().map(|time| time / batch as f64).collect();
        look(mpi, options, &mut distances);
        report(mpi, options, "send", size, &send)?;
        report(mpi, options, "receive", size, &receive)?;
    }
    let size = options.sizes.first().copied().unwrap_or(8);
    for depth in TIMED_DEPTHS {
        let [send, take] = windows_apart(mpi, size, depth)?;
        look(mpi, options, &mut distances);
        report(mpi, options, "send_window", depth, &send)?;
        report(mpi, options, "take_window", depth, &take)?;
    }
    for depth in TIMED_DEPTHS {
        let [send, receive] = together(mpi, options, size, depth)?;
        report(mpi, options, "send_alone", depth, &send)?;
        report(mpi, options, "receive_alone", depth, &receive)?;
        let [send, take, post] = windows_together(mpi, options, size, depth)?;
        report(mpi, options, "send_once", depth, &send)?;
        report(mpi, options, "take_once", depth, &take)?;
        report(mpi, options, "post", depth, &post)?;
    }
    look(mpi, options, &mut distances);
    report(mpi, options, "wait", 0, &null_waits(mpi))?;
    distances.extend(answered::measure(mpi, options, with_quantities)?);
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

/// Nanoseconds of a wait, without what each request costs, in windows of receives that name no rank.
fn null_waits(mpi: &Mpi) -> Vec<f64> {
    let mut windows = NULL_DEPTHS.map(Window::new);
    let [short, long] = NULL_DEPTHS.map(|depth| depth as f64);
    let clock = clock_ns();
    let mut waits = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let [one, more] = windows.each_mut().map(|window| {
            let times = (0..NULL_WINDOWS).map(|_| mpi.time_null_window(window) - clock);
            median(&times.collect::<Vec<_>>())
        });
        let each = (more - one) / (long - short);
        waits.push((one - short * each).max(0.0));
    }
    waits
}

/// Nanoseconds of so many sends, and of the first receive, whose messages have come, each on a core of its own.
fn apart(mpi: &Mpi, size: usize, batch: usize) -> Result<[Vec<f64>; 2], String> {
    let (data, mut room) = (vec![1_u8; size], vec![2_u8; size]);
    let clock = clock_ns();
    let mut own = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        mpi.barrier();
        let mut receive = || mpi.receive(&mut room, 1 - mpi.rank, TAG);
        let send = || mpi.send(&data, 1 - mpi.rank, TAG);
        // As many come back: a library may keep the memory of messages for answers.
        if mpi.rank == 0 {
            own.push(timed(clock, || (0..batch).for_each(|_| send())));
            (0..batch).for_each(|_| receive());
        } else {
            stay_quiet(QUIET);
            own.push(timed(clock, &mut receive));
            (1..batch).for_each(|_| receive());
            (0..batch).for_each(|_| send());
        }
    }
    let waits = expect_no_wait(mpi, &own, (batch, size));
    let halves = gathered(mpi, own);
    waits.map(|()| halves)
}

/// The same of so many sends and receives on one core, one after the other.
fn together(
    mpi: &Mpi,
    options: &RankOptions,
    size: usize,
    batch: usize,
) -> Result<[Vec<f64>; 2], String> {
    let (data, mut room) = (vec![1_u8; size], vec![2_u8; size]);
    let clock = clock_ns();
    let core = OneCore::enter(mpi, options.effort.line)?;
    let times = (0..SAMPLES).map(|_| {
        core.take_turn(|| match mpi.rank {
            0 => timed(clock, || (0..batch).for_each(|_| mpi.send(&data, 1, TAG))),
            _ => timed(clock, || {
                (0..batch).for_each(|_| mpi.receive(&mut room, 0, TAG))
            }),
        })
    });
    let own = times.collect();
    drop(core);
    Ok(gathered(mpi, own))
}

/// Nanoseconds of windows: of their sends, and of the wait for receives whose messages have come, each on a core of its own.
fn windows_apart(mpi: &Mpi, size: usize, depth: usize) -> Result<[Vec<f64>; 2], String> {
    let (data, mut slots) = (vec![1_u8; size], vec![2_u8; size.max(1) * depth]);
    let mut window = Window::new(depth);
    let clock = clock_ns();
    let mut own = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        if mpi.rank == 0 {
            mpi.barrier();
            let send = || mpi.send_window(&data, 1, Tags::same(TAG), &mut window);
            own.push(timed(clock, send));
            continue;
        }
        let meanwhile = |mpi: &Mpi| {
            mpi.barrier();
            stay_quiet(QUIET);
        };
        let from = (0, TAG);
        let times = mpi.time_posts_and_wait(&mut slots, size, from, &mut window, meanwhile);
        own.push((times[1] - clock).max(0.0));
    }
    let waits = expect_no_wait(mpi, &own, (depth, size));
    let halves = gathered(mpi, own);
    waits.map(|()| halves)
}

/// The same on one core, one after the other, and of posting the receives.
fn windows_together(
    mpi: &Mpi,
    options: &RankOptions,
    size: usize,
    depth: usize,
) -> Result<[Vec<f64>; 3], String> {
    let (data, mut slots) = (vec![1_u8; size], vec![2_u8; size.max(1) * depth]);
    let mut window = Window::new(depth);
    let clock = clock_ns();
    let (mut own, mut posts) = (Vec::new(), Vec::new());
    let core = OneCore::enter(mpi, options.effort.line)?;
    for _ in 0..SAMPLES {
        if mpi.rank == 0 {
            // The other rank posts first.
            core.take_turn(|| ());
            let send = || mpi.send_window(&data, 1, Tags::same(TAG), &mut window);
            own.push(core.take_turn(|| timed(clock, send)));
            continue;
        }
        let times = core.take_turn(|| {
            let meanwhile = |_: &Mpi| core.let_other();
            mpi.time_posts_and_wait(&mut slots, size, (0, TAG), &mut window, meanwhile)
        });
        let [post, take] = times.map(|time| (time - clock).max(0.0));
        own.push(take);
        posts.push(post);
    }
    drop(core);
    let [send, take] = gathered(mpi, own);
    let [_, posts] = gathered(mpi, posts_or_none(mpi, posts));
    Ok([send, take, posts])
}

/// Rank 0 posts nothing, and gathers as many values.
fn posts_or_none(mpi: &Mpi, posts: Vec<f64>) -> Vec<f64> {
    if mpi.rank == 0 {
        vec![0.0; SAMPLES]
    } else {
        posts
    }
}

pub(crate) fn timed(clock: f64, action: impl FnOnce()) -> f64 {
    let start = Instant::now();
    action();
    (start.elapsed().as_nanos() as f64 - clock).max(0.0)
}

/// Sends that wait for their receiver are no sends alone.
fn expect_no_wait(mpi: &Mpi, own: &[f64], (batch, size): (usize, usize)) -> Result<(), String> {
    let (sent, quiet) = (median(own), QUIET.as_nanos() as f64);
    if mpi.rank != 0 || sent < quiet {
        return Ok(());
    }
    Err(format!(
        "{batch} sends of {size} bytes take {sent:.0} ns: expected less than {quiet:.0} ns, or they wait for their receiver"
    ))
}

/// The values of ranks 0 and 1, on rank 0.
pub(crate) fn gathered(mpi: &Mpi, own: Vec<f64>) -> [Vec<f64>; 2] {
    if mpi.rank != 0 {
        let bytes: Vec<u8> = own.iter().flat_map(|value| value.to_le_bytes()).collect();
        mpi.send(&bytes, 0, TAG);
        return [Vec::new(), Vec::new()];
    }
    let mut bytes = vec![0_u8; own.len() * size_of::<f64>()];
    mpi.receive(&mut bytes, 1, TAG);
    let (values, _) = bytes.as_chunks::<8>();
    let other = values.iter().map(|value| f64::from_le_bytes(*value));
    [own, other.collect()]
}
