// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes over memory that no cache holds, by several threads.

use machine_profile::Axis;
use measure::threads::team;

use super::atomics::counts;
use crate::entry::Entry;
use crate::kernels::{keep, read, triad, write};
use crate::memory::Mapping;
use crate::session::{Outcome, Session, curve};

/// Passes, after McCalpin's STREAM: reads, writes, copies, and sums of two arrays.
#[derive(Clone, Copy, Debug)]
enum Pass {
    Read,
    Write,
    Copy,
    Triad,
}

/// Bytes of a pass that one nanosecond value stands for.
const UNIT: usize = 1 << 20;
/// Most bytes of one thread's array.
const MOST: usize = 64 << 20;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let rows = [
        ("stream/read", "sums of words", Pass::Read),
        ("stream/write", "filling", Pass::Write),
        (
            "stream/copy",
            "copies; read and written bytes both count",
            Pass::Copy,
        ),
        (
            "stream/triad",
            "a = b + 3 c; the bytes of all three count",
            Pass::Triad,
        ),
    ];
    let entry = |(name, title, pass): (&'static str, &str, Pass)| {
        let title = format!("{title}: a MiB of a thread's pass over memory, over threads");
        Entry::new(name, title, move |session, name| {
            measure(session, name, pass)
        })
        .quick()
    };
    rows.into_iter().map(entry).collect()
}

fn measure(session: &Session, name: &str, pass: Pass) -> Outcome {
    let arrays = match pass {
        Pass::Read | Pass::Write => 1,
        Pass::Copy => 2,
        Pass::Triad => 3,
    };
    let cores = session.cores().len();
    let free = sys::memory::physical_memory_bytes() as usize / 8 / cores / arrays;
    let bytes = MOST.min(free).next_multiple_of(UNIT);
    let mut points = Vec::new();
    for count in counts(cores) {
        let memory = (0..count * arrays).map(|_| Mapping::untouched(bytes));
        let memory: Vec<Mapping> = memory.collect::<Result<_, _>>()?;
        let found = team(&session.cores()[..count], &session.plan(), |index| {
            let own = &memory[index * arrays..][..arrays];
            // Touched by the thread that uses it, so that it is in the memory of its own node.
            own.iter()
                .for_each(|array| array.touch(crate::memory::PAGE));
            let mut place = 0;
            move |repetitions: u64| {
                for _ in 0..repetitions {
                    one(pass, own, place);
                    place = (place + UNIT / arrays) % (bytes - UNIT);
                    place -= place % 64;
                }
            }
        })?;
        points.push((count as u64, session.count(found)));
    }
    curve(name, Axis::Threads, None, points)
}

/// One piece of a pass: a MiB of all arrays together.
fn one(pass: Pass, arrays: &[Mapping], place: usize) {
    let bytes = UNIT / arrays.len() / 64 * 64;
    // SAFETY: mappings that are longer than `place` and a unit, which is a multiple of 64; each array is one thread's.
    unsafe {
        let at = |array: usize| arrays[array].start().add(place);
        match pass {
            Pass::Read => keep(read(at(0), bytes)),
            Pass::Write => write(at(0), bytes, 1),
            Pass::Copy => {
                std::ptr::copy_nonoverlapping(at(1), at(0), bytes);
                keep(1);
            }
            Pass::Triad => triad(at(0), at(1), at(2), bytes),
        }
    }
}
