// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages between two hosts, by bare libfabric beside MPI over the same provider, for `rankpoint model` with `--hosts`.
//!
//! What libfabric takes is timed apart from what MPI takes, each with both ranks at rest otherwise: sends while the receiver polls nothing,
//! receives whose messages have come, and a poll that finds nothing. Ping-pongs of both take turns. Several messages are sent and received
//! in a row: after a rest the first one finds cold caches, which a ping-pong does not.

use std::time::Duration;

use measure::sampling::{clock_ns, stay_quiet};
use measure::statistics::median;

use crate::mpi::{Mpi, Window};
use crate::options::RankOptions;
use crate::output::report;
use crate::path::network_link::{NetworkLink, SENDS};
use crate::path::parts::{gathered, timed};

/// Name of the job that measures parts of messages between hosts.
pub const NETWORK_PARTS: &str = "model-network-parts";
/// Name of the job that measures them and what the model predicts, interleaved.
pub const NETWORK_PARTS_AND_QUANTITIES: &str = "model-network-parts-and-quantities";
/// Name of the points of half a round trip of bare libfabric.
pub const RAW_HALVES: &str = "raw_half";
/// Name of the points of its post.
pub const RAW_POST: &str = "LLP_post";
/// Name of the points of its poll that finds a message.
pub const RAW_PROGRESS: &str = "LLP_prog";
/// Name of the points of a blocking send of MPI.
pub const MPI_SEND: &str = "MPI_send";
/// Name of the points of a blocking receive of MPI.
pub const MPI_RECEIVE: &str = "MPI_receive";
/// Name of the points of a poll of libfabric that finds nothing.
pub const RAW_POLL: &str = "raw_poll";
/// Name of the points of a poll of MPI that finds nothing.
pub const MPI_POLL: &str = "MPI_poll";

const TAG: i32 = 4;
const SAMPLES: usize = 200;
/// Bytes of the messages that are sent in a row while nobody receives: sockets hold them.
const ROW_BYTES: usize = 32 << 10;
/// The receiver polls nothing for so long: longer than a message travels.
const QUIET: Duration = Duration::from_micros(500);
/// Polls that find nothing between two readings of the clock.
const POLLS: usize = 100;
/// Values of each ping-pong; their medians count.
const REPETITIONS: u64 = 11;

/// Reports all points; half round trips of MPI only if they are asked for.
pub(crate) fn measure(
    mpi: &Mpi,
    options: &RankOptions,
    with_quantities: bool,
) -> Result<(), String> {
    let sizes = &options.sizes[..];
    let longest = sizes.iter().max().copied().unwrap_or(8);
    let mut link = NetworkLink::open(mpi, longest)?;
    let (data, mut room) = (vec![1_u8; longest], vec![2_u8; longest]);
    for &size in sizes {
        let (post, progress) = (RAW_POST, RAW_PROGRESS);
        let in_a_row = (ROW_BYTES / size.max(1)).clamp(1, SENDS as usize);
        let [posts, polls] = alone(
            mpi,
            in_a_row,
            &mut Raw {
                link: &mut link,
                size,
            },
        );
        report(mpi, options, post, size, &posts)?;
        report(mpi, options, progress, size, &polls)?;
        let mut blocking = Blocking {
            mpi,
            data: &data[..size],
            room: &mut room[..size],
        };
        let [sends, receives] = alone(mpi, in_a_row, &mut blocking);
        report(mpi, options, MPI_SEND, size, &sends)?;
        report(mpi, options, MPI_RECEIVE, size, &receives)?;
    }
    let (raw, own) = fruitless_polls(mpi, &mut link);
    report(mpi, options, RAW_POLL, 0, &raw)?;
    report(mpi, options, MPI_POLL, 0, &own)?;
    let mut effort = options.effort;
    effort.budget.repetitions = REPETITIONS;
    let rows = sizes.len() * if with_quantities { 2 } else { 1 };
    let times = effort.measure_batches_in_turns(mpi, rows, |which, iterations| {
        let size = sizes[which % sizes.len()];
        for _ in 0..iterations {
            if which < sizes.len() {
                round_trip(
                    mpi,
                    &mut Raw {
                        link: &mut link,
                        size,
                    },
                );
            } else {
                let (data, room) = (&data[..size], &mut room[..size]);
                round_trip(mpi, &mut Blocking { mpi, data, room });
            }
        }
    });
    let names = [RAW_HALVES, crate::path::answered::HALVES];
    for (which, times) in times.iter().enumerate() {
        let halves: Vec<f64> = times.iter().map(|time| time / 2.0).collect();
        let (name, size) = (names[which / sizes.len()], sizes[which % sizes.len()]);
        report(mpi, options, name, size, &halves)?;
    }
    Ok(())
}

/// One way of moving a message to the other rank.
trait Exchange {
    /// Starts a message.
    fn send(&mut self);
    /// Waits until started messages have left their memory.
    fn finish(&mut self);
    /// Waits for a message.
    fn receive(&mut self);
}

/// Bare libfabric.
struct Raw<'a, 'm> {
    link: &'a mut NetworkLink<'m>,
    size: usize,
}

impl Exchange for Raw<'_, '_> {
    fn send(&mut self) {
        self.link.post(self.size);
    }

    fn finish(&mut self) {
        self.link.finish_sends();
    }

    fn receive(&mut self) {
        self.link.await_message();
    }
}

/// Blocking calls of MPI.
struct Blocking<'a> {
    mpi: &'a Mpi,
    data: &'a [u8],
    room: &'a mut [u8],
}

impl Exchange for Blocking<'_> {
    fn send(&mut self) {
        self.mpi.send(self.data, 1 - self.mpi.rank, TAG);
    }

    fn finish(&mut self) {}

    fn receive(&mut self) {
        self.mpi.receive(self.room, 1 - self.mpi.rank, TAG);
    }
}

fn round_trip(mpi: &Mpi, exchange: &mut impl Exchange) {
    if mpi.rank == 0 {
        exchange.send();
        exchange.finish();
        exchange.receive();
    } else {
        exchange.receive();
        exchange.send();
        exchange.finish();
    }
}

/// Nanoseconds of sends of rank 0, and of receives of rank 1 whose messages have come, of so many in a row.
fn alone(mpi: &Mpi, in_a_row: usize, exchange: &mut impl Exchange) -> [Vec<f64>; 2] {
    let clock = clock_ns();
    // The first messages connect both ranks.
    round_trip(mpi, exchange);
    let mut own = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        mpi.barrier();
        if mpi.rank == 0 {
            let all = timed(clock, || (0..in_a_row).for_each(|_| exchange.send()));
            own.push(all / in_a_row as f64);
            exchange.finish();
            exchange.receive();
        } else {
            stay_quiet(QUIET);
            let all = timed(clock, || (0..in_a_row).for_each(|_| exchange.receive()));
            own.push(all / in_a_row as f64);
            exchange.send();
            exchange.finish();
        }
    }
    gathered(mpi, own)
}

/// Nanoseconds of polls that find nothing, of libfabric and of MPI, on rank 0.
fn fruitless_polls(mpi: &Mpi, link: &mut NetworkLink<'_>) -> (Vec<f64>, Vec<f64>) {
    let (mut window, mut slot) = (Window::new(1), [0_u8; 8]);
    let clock = clock_ns();
    let (mut raw, mut own) = (Vec::new(), Vec::new());
    mpi.barrier();
    if mpi.rank == 0 {
        for _ in 0..SAMPLES {
            let all = timed(clock, || (0..POLLS).for_each(|_| link.poll()));
            raw.push(all / POLLS as f64);
        }
        let tests = (POLLS, SAMPLES);
        let times = mpi.time_tests(&mut slot, (1, TAG), &mut window, tests, Mpi::barrier);
        own.extend(
            times
                .iter()
                .map(|time| (time - clock).max(0.0) / POLLS as f64),
        );
    } else {
        mpi.barrier();
        mpi.send(&slot, 0, TAG);
    }
    let least = |times: Vec<f64>| match times.is_empty() {
        true => vec![0.0],
        // Whatever else arrives meanwhile is no part of a poll that finds nothing.
        false => vec![median(&times)],
    };
    (least(raw), least(own))
}
