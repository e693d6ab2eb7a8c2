// SPDX-License-Identifier: MIT OR Apache-2.0
//! What calls cost that start and test messages, for `rankpoint scope`.

use std::time::Duration;

use measure::sampling::{clock_ns, stay_quiet};

use crate::mpi::{Mpi, PersistentSends, Window};
use crate::options::RankOptions;
use crate::output::report;

/// Name of the job.
pub const CALLS: &str = "scope-calls";

const TAG: i32 = 3;
/// Calls between two readings of the clock; their messages fit in a ring.
const BATCH: usize = 8;
const SAMPLES: usize = 300;
/// The other side makes no call for so long: longer than a batch takes.
const QUIET: Duration = Duration::from_micros(50);

/// Reports nanoseconds of a call of MPI_Isend, MPI_Start, MPI_Irecv, and of MPI_Test on what has not come, on rank 0.
pub(crate) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let size = options.sizes.first().copied().unwrap_or(8);
    let clock = clock_ns();
    let (data, mut slots) = (vec![1_u8; size], vec![2_u8; size.max(1) * BATCH]);
    let mut window = Window::new(BATCH);
    let other = 1 - mpi.rank;
    let mut persistent = PersistentSends::new(mpi, BATCH, data.clone().into(), other, TAG);
    let mut found: [Vec<f64>; 4] = Default::default();
    let is_timed = mpi.rank == 0;
    for _ in 0..SAMPLES {
        // Rank 1 takes what rank 0 sends, once by each kind of call, and sends as much back, late.
        for is_persistent in [false, true] {
            mpi.barrier();
            if is_timed {
                let time = match is_persistent {
                    false => mpi.time_sends(&data, other, TAG, &mut window),
                    true => persistent.time(),
                };
                found[usize::from(is_persistent)].push(time);
            } else {
                stay_quiet(QUIET);
                mpi.time_receives(&mut slots, size, (other, TAG), &mut window);
            }
        }
        mpi.barrier();
        if is_timed {
            let [started, tested] = mpi.time_receives(&mut slots, size, (other, TAG), &mut window);
            found[2].push(started);
            found[3].push(tested);
        } else {
            stay_quiet(QUIET);
            mpi.time_sends(&data, other, TAG, &mut window);
        }
    }
    drop(persistent);
    for (name, times) in ["isend", "start", "irecv", "test"].into_iter().zip(found) {
        let each = times
            .iter()
            .map(|time| (time - clock).max(0.0) / BATCH as f64);
        let each: Vec<f64> = each.collect();
        report(mpi, options, name, size, &each)?;
    }
    Ok(())
}
