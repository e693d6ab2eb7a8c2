// SPDX-License-Identifier: MIT OR Apache-2.0
//! More ranks than two, usually more than cores: a ring of pairs, exchanges with neighbours, barrier.

use std::time::{Duration, Instant};

use crate::mpi::Mpi;
use crate::options::RankOptions;
use crate::output::report;
use crate::pattern::{check, fill};

const TAG: i32 = 3;
const SIZE: usize = 8;
/// Shortest time of a run in which ranks that share cores wait for each other in pairs.
pub(crate) const SPAN: Duration = Duration::from_millis(300);

/// How a message is received: into these bytes, from that rank, with that tag.
type Receive = fn(&Mpi, &mut [u8], i32, i32);

/// All ranks play ping-pong with one neighbour and then with the other; half a round trip.
pub(crate) fn ring(mpi: &Mpi, options: &RankOptions, receive: Receive) -> Result<(), String> {
    if mpi.size % 2 != 0 {
        return Err(format!(
            "a ring of pairs needs an even number of ranks, not {}",
            mpi.size
        ));
    }
    let next = (mpi.rank + 1) % mpi.size;
    let previous = (mpi.rank + mpi.size - 1) % mpi.size;
    let leads = mpi.rank % 2 == 0;
    let neighbours = if leads {
        [next, previous]
    } else {
        [previous, next]
    };
    // Ranks share cores in time slices of milliseconds; a run has to span many of them.
    let mut effort = options.effort;
    effort.budget.each = effort.budget.each.max(SPAN);
    let values = effort.measure(mpi, |iterations| {
        for peer in neighbours {
            for number in 0..iterations {
                ping_pong(mpi, receive, peer, leads, number, options.verify);
            }
        }
        // The slowest pair counts, not only rank 0's.
        mpi.barrier();
    });
    let halves: Vec<f64> = values.iter().map(|time| time / 4.0).collect();
    report(mpi, options, options.measurement.name, SIZE, &halves)
}

fn ping_pong(mpi: &Mpi, receive: Receive, peer: i32, leads: bool, number: u64, verify: bool) {
    let (mut out, mut back) = ([0_u8; SIZE], [0_u8; SIZE]);
    if verify {
        fill(&mut out, number + mpi.rank as u64);
    }
    if leads {
        mpi.send(&out, peer, TAG);
        receive(mpi, &mut back, peer, TAG);
    } else {
        receive(mpi, &mut back, peer, TAG);
        mpi.send(&out, peer, TAG);
    }
    if verify {
        check(mpi, &back, number + peer as u64);
    }
}

/// Time in which all ranks of a ring give a piece to both neighbours and get one of each, by size.
pub(crate) fn exchange(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let previous = (mpi.rank + mpi.size - 1) % mpi.size;
    let next = (mpi.rank + 1) % mpi.size;
    for &size in &options.sizes {
        let mut data = vec![0_u8; size];
        let (mut low, mut high) = (vec![0_u8; size], vec![0_u8; size]);
        fill(&mut data, mpi.rank as u64);
        let start = Instant::now();
        mpi.exchange(&data, [&mut low, &mut high], [previous, next]);
        mpi.barrier();
        let first = start.elapsed();
        if options.verify {
            check(mpi, &low, previous as u64);
            check(mpi, &high, next as u64);
        }
        let values = options.effort.measure_after(mpi, first, |iterations| {
            for _ in 0..iterations {
                mpi.exchange(&data, [&mut low, &mut high], [previous, next]);
            }
            // The slowest rank counts, not only rank 0.
            mpi.barrier();
        });
        report(mpi, options, options.measurement.name, size, &values)?;
    }
    Ok(())
}

/// Time of a barrier.
pub(crate) fn barrier(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let values = options.effort.measure(mpi, |iterations| {
        for _ in 0..iterations {
            mpi.barrier();
        }
    });
    report(mpi, options, options.measurement.name, 0, &values)
}
