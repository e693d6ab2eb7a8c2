// SPDX-License-Identifier: MIT OR Apache-2.0
//! Core to core: how long a cache line takes.

use std::time::{Duration, Instant};

use machine_profile::{Axis, Matrix, Sample, Unit};
use measure::sampling::Plan;
use measure::threads::{CacheLine, Spot, duo, sample_here};
use measure::yardstick::ping_pong::PingPong;

use crate::entry::Entry;
use crate::kernels::keep;
use crate::memory::Mapping;
use crate::session::{Found, Outcome, Session, cost, curve};

const PAYLOADS: [u64; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const QUICK_PAYLOADS: [u64; 4] = [8, 64, 512, 4096];
/// Lines between a producer and its consumer.
const SLOTS: u64 = 64;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "line/matrix",
            "a cache line, half a round trip, all pairs of cores",
            matrix,
        )
        .quick()
        .two_ends(),
        Entry::new(
            "line/payload",
            "a message of bytes and a flag, half a round trip, over bytes",
            payload,
        )
        .quick()
        .two_ends(),
        Entry::new(
            "line/stream",
            "one producer, one consumer: a line of a ring of 64",
            stream,
        )
        .quick()
        .two_ends(),
    ]
}

/// Half a round trip of a line between two processors, in nanoseconds.
fn ping_pong(session: &Session, plan: &Plan, spots: [Spot; 2]) -> Result<Sample, String> {
    let lines = PingPong::default();
    duo(
        spots,
        |[_, end]| {
            let mut done = 0;
            sample_here(plan, |repetitions| {
                let start = Instant::now();
                // An end that answers no more makes no more values.
                done = lines.lead(done, repetitions, false, || end.has_ended());
                start.elapsed().as_nanos() as f64 / 2.0
            })
        },
        |[end, _]| {
            lines.answer(0, || end.has_ended());
        },
    )
    .map(|found| session.count(found))
}

/// The distance of the session's two ends: what entries with two ends are compared by. None with one core.
pub(crate) fn yardstick(session: &Session) -> Option<f64> {
    const PLAN: Plan = Plan {
        value_ns: 100_000.0,
        fewest: 7,
        most: 15,
        trial: Duration::from_millis(5),
        trials: 1,
    };
    let (_, spots) = session.two().ok()?;
    Some(ping_pong(session, &PLAN, spots).ok()?.ns)
}

fn matrix(session: &Session, name: &str) -> Outcome {
    let (_, spots) = session.two()?;
    let count = session.cores().len();
    let mut values = vec![vec![None; count]; count];
    let mut mad = values.clone();
    // Sixteen pairs take as long as other entries; more share that time.
    let plan = session.plan().divided((count * (count - 1)).div_ceil(16));
    for from in 0..count {
        for to in 0..count {
            let (time, spread) = if from == to {
                (0.0, 0.0)
            } else {
                let pair = [from, to].map(|end| Spot {
                    core: session.cores()[end],
                });
                let sample = ping_pong(session, &plan, pair)?;
                (sample.ns, sample.mad)
            };
            values[from][to] = Some(time);
            mad[from][to] = Some(spread);
        }
    }
    let matrix = Found::Matrix(Matrix {
        name: name.to_owned(),
        unit: Unit::Ns,
        places: (0..count).collect(),
        values,
        mad,
    });
    let sample = ping_pong(session, &session.plan(), spots)?;
    Ok(vec![matrix, cost("line/pair", sample)])
}

fn payload(session: &Session, name: &str) -> Outcome {
    let (places, spots) = session.two()?;
    let mut points = Vec::new();
    for bytes in session.sizes(&PAYLOADS, &QUICK_PAYLOADS) {
        let plan = session.plan();
        let there = Mapping::touched(bytes as usize)?;
        let back = Mapping::touched(bytes as usize)?;
        let (there, back) = (&there, &back);
        let fill = |memory: &Mapping, value: u64| {
            // SAFETY: touched memory of at least so many bytes; the reader waits for the flag that is published afterwards.
            unsafe { crate::kernels::write(memory.start(), bytes as usize, value as u8) };
        };
        let take = |memory: &Mapping| {
            // SAFETY: as above; the writer waits for the answer before it writes again.
            keep(unsafe { crate::kernels::read(memory.start(), bytes as usize) });
        };
        let found = duo(
            spots,
            |[to, from]| {
                let mut number = 1;
                sample_here(&plan, |repetitions| {
                    let start = Instant::now();
                    for _ in 0..repetitions {
                        number += 1;
                        fill(there, number);
                        to.publish(number);
                        from.wait_for(number);
                        take(back);
                    }
                    start.elapsed().as_nanos() as f64 / 2.0
                })
            },
            |[from, to]| {
                let mut last = 0;
                while let Ok(number) = from.next(last) {
                    last = number;
                    take(there);
                    fill(back, number);
                    to.publish(number);
                }
            },
        )?;
        points.push((bytes, session.count(found)));
    }
    curve(name, Axis::Bytes, Some(places), points)
}

fn stream(session: &Session, name: &str) -> Outcome {
    let (_, spots) = session.two()?;
    let slots: Vec<CacheLine> = (0..SLOTS).map(|_| CacheLine::default()).collect();
    let slots = &slots;
    let slot = |number: u64| &slots[(number % SLOTS) as usize];
    let plan = session.plan();
    let found = duo(
        spots,
        |[_, from]| {
            let mut number = 0;
            sample_here(&plan, |repetitions| {
                let start = Instant::now();
                for _ in 0..repetitions {
                    number += 1;
                    if is_checked(number) {
                        while !has_room(number, from.number()) {
                            std::hint::spin_loop();
                        }
                    }
                    slot(number).publish(number);
                }
                start.elapsed().as_nanos() as f64
            })
        },
        |[end, to]| {
            let mut number = 0;
            'lines: loop {
                number += 1;
                while slot(number).number() != number {
                    if end.has_ended() {
                        break 'lines;
                    }
                    std::hint::spin_loop();
                }
                if number % (SLOTS / 8) == 0 {
                    to.publish(number);
                }
            }
        },
    )?;
    Ok(vec![cost(name, session.count(found))])
}

/// Whether the producer asks for room before it writes this line: once for each quarter of the ring.
fn is_checked(number: u64) -> bool {
    number.is_multiple_of(SLOTS / 4)
}

/// Whether this line and the others until the next check have a slot that the consumer has left, which has taken so many lines.
fn has_room(number: u64, consumed: u64) -> bool {
    number <= consumed + SLOTS / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_producer_never_overtakes_a_consumer_and_always_goes_on_when_it_has_taken_all() {
        for consumed in 0..4 * SLOTS {
            let told = consumed - consumed % (SLOTS / 8);
            let stops = |number: &u64| is_checked(*number) && !has_room(*number, told);
            let stop = (consumed + 1..).find(stops).unwrap();
            assert!(stop - 1 - consumed <= SLOTS, "{stop} with {consumed} taken");
            assert!(stop - 1 > consumed, "{stop} with {consumed} taken");
        }
    }
}
