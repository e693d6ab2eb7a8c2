// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes from one core's buffer to another's by one copy through memory that both map.

use std::time::Instant;

use machine_profile::{Axis, Matrix, Unit};
use measure::sampling::Plan;
use measure::threads::{Spot, duo, sample_here};

use crate::entry::Entry;
use crate::kernels::keep;
use crate::memory::{Mapping, memory_file};
use crate::session::{Found, Outcome, Session, curve};

/// Sizes of messages.
pub(super) const SIZES: [u64; 10] = [
    64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
];
/// Those of quick profiles.
pub(super) const QUICK_SIZES: [u64; 4] = [256, 4096, 65_536, 1_048_576];
/// Bytes of the copies of the matrix.
const MATRIX_BYTES: usize = 1 << 20;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "single/load",
            "the receiver copies out of the sender's mapping, which the sender has just written, over bytes",
            |session, name| single(session, name, true),
        )
        .quick()
        .two_ends(),
        Entry::new(
            "single/store",
            "the sender copies into the receiver's mapping, which the receiver has just read, over bytes",
            |session, name| single(session, name, false),
        )
        .quick()
        .two_ends(),
        Entry::new(
            "single/matrix",
            "copies of a MiB that another core has just written, all pairs of cores",
            matrix,
        )
        .quick()
        .two_ends(),
    ]
}

/// Copies by the leader of what the follower has made ready: it wrote the source of loads, and read the target of stores.
fn one_copy(
    plan: &Plan,
    spots: [Spot; 2],
    bytes: usize,
    is_load: bool,
) -> Result<measure::sampling::Sampled, String> {
    let file = memory_file(bytes)?;
    let (mine, theirs) = (
        Mapping::shared(&file, bytes)?,
        Mapping::shared(&file, bytes)?,
    );
    let own = Mapping::touched(bytes)?;
    let (mine, theirs, own) = (&mine, &theirs, &own);
    let clock_ns = measure::sampling::clock_ns();
    duo(
        spots,
        |[to, from]| {
            let mut number = 1;
            sample_here(plan, |repetitions| {
                let mut whole = 0.0;
                for _ in 0..repetitions {
                    number += 1;
                    to.publish(number);
                    from.wait_for(number);
                    let start = Instant::now();
                    let (target, source) = if is_load { (own, mine) } else { (mine, own) };
                    // SAFETY: mappings of so many bytes; the other thread waits meanwhile.
                    unsafe { std::ptr::copy_nonoverlapping(source.start(), target.start(), bytes) };
                    keep(number);
                    whole += start.elapsed().as_nanos() as f64;
                }
                (whole - clock_ns * repetitions as f64).max(0.0)
            })
        },
        |[from, to]| {
            let mut last = 0;
            while let Ok(number) = from.next(last) {
                last = number;
                // SAFETY: a mapping of so many bytes; the other thread waits meanwhile.
                unsafe {
                    if is_load {
                        crate::kernels::write(theirs.start(), bytes, number as u8);
                    } else {
                        keep(crate::kernels::read(theirs.start(), bytes));
                    }
                }
                to.publish(number);
            }
        },
    )
}

fn single(session: &Session, name: &str, is_load: bool) -> Outcome {
    let (places, spots) = session.two()?;
    let mut points = Vec::new();
    for bytes in session.sizes(&SIZES, &QUICK_SIZES) {
        // A load moves from the follower to the leader, a store the other way.
        let spots = if is_load { [spots[1], spots[0]] } else { spots };
        let found = one_copy(&session.plan(), spots, bytes as usize, is_load)?;
        points.push((bytes, session.count(found)));
    }
    curve(name, Axis::Bytes, Some(places), points)
}

fn matrix(session: &Session, name: &str) -> Outcome {
    session.two()?;
    let count = session.cores().len();
    let mut values = vec![vec![None; count]; count];
    let mut mad = values.clone();
    let plan = session.plan().divided((count * count).div_ceil(8));
    for from in 0..count {
        for to in 0..count {
            let sample = if from == to {
                let source = Mapping::touched(MATRIX_BYTES)?;
                let target = Mapping::touched(MATRIX_BYTES)?;
                session.sample(&plan, |repetitions| {
                    crate::session::time(repetitions, || {
                        // SAFETY: two mappings of so many bytes.
                        unsafe {
                            std::ptr::copy_nonoverlapping(
                                source.start(),
                                target.start(),
                                MATRIX_BYTES,
                            );
                        }
                        keep(1);
                    })
                })
            } else {
                let spots = [to, from].map(|end| Spot {
                    core: session.cores()[end],
                });
                session.count(one_copy(&plan, spots, MATRIX_BYTES, true)?)
            };
            let rate = MATRIX_BYTES as f64 / sample.ns;
            values[from][to] = Some(rate);
            mad[from][to] = Some(rate * sample.mad / sample.ns);
        }
    }
    Ok(vec![Found::Matrix(Matrix {
        name: name.to_owned(),
        unit: Unit::GbPerS,
        places: (0..count).collect(),
        values,
        mad,
    })])
}
