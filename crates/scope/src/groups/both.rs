// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both directions at once: two threads that copy out of each other's buffers, with the exact overlap.

use std::time::Instant;

use machine_profile::statistics::{mad, median, trimean};
use machine_profile::{Axis, Sample};
use measure::threads::{CacheLine, Spot, duo, sample_here};

use super::transfer::{QUICK_SIZES, SIZES};
use crate::entry::Entry;
use crate::kernels::{keep, write};
use crate::memory::Mapping;
use crate::session::{Outcome, Session, curve};
use crate::timing::{Interval, TwoWay};

/// Most overlaps that are kept.
const MOST: usize = 10_000;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "single/both",
            "both load at the same time: from the first begin to the last end, and how long both overlap, over bytes",
            both,
        )
        .quick()
        .two_ends(),
    ]
}

fn both(session: &Session, name: &str) -> Outcome {
    let (places, spots) = session.two()?;
    let (mut whole, mut overlaps) = (Vec::new(), Vec::new());
    for bytes in session.sizes(&SIZES, &QUICK_SIZES) {
        let (times, overlap) = exchange(session, spots, bytes as usize)?;
        whole.push((bytes, times));
        overlaps.push((bytes, overlap));
    }
    let mut found = curve(name, Axis::Bytes, Some(places), whole)?;
    let name = format!("{name}/overlap");
    found.extend(curve(&name, Axis::Bytes, Some(places), overlaps)?);
    Ok(found)
}

/// Buffers of both threads: two that are read, and two that are written.
struct Buffers {
    memory: [Mapping; 4],
    bytes: usize,
    base: Instant,
}

impl Buffers {
    fn new(bytes: usize) -> Result<Self, String> {
        let new = || Mapping::touched(bytes);
        Ok(Self {
            memory: [new()?, new()?, new()?, new()?],
            bytes,
            base: Instant::now(),
        })
    }

    /// Thread `own` copies out of the other's buffer. Gives when, in nanoseconds.
    fn load(&self, own: usize) -> (u64, u64) {
        let now = || self.base.elapsed().as_nanos() as u64;
        let (source, target) = (&self.memory[1 - own], &self.memory[2 + own]);
        let start = now();
        // SAFETY: two mappings of so many bytes; the target is the thread's own, and nobody writes the source meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(source.start(), target.start(), self.bytes) };
        keep(start);
        (start, now())
    }

    /// Thread `own` writes what the other one reads next.
    fn renew(&self, own: usize, value: u64) {
        // SAFETY: a mapping of so many bytes, which the other thread reads only after the next flag.
        unsafe { write(self.memory[own].start(), self.bytes, value as u8) };
    }
}

/// Both copy, time and again, from a gate that opens when both are ready.
fn exchange(session: &Session, spots: [Spot; 2], bytes: usize) -> Result<(Sample, Sample), String> {
    let buffers = Buffers::new(bytes)?;
    let buffers = &buffers;
    // When the follower began and ended.
    let theirs = [CacheLine::default(), CacheLine::default()];
    let theirs = &theirs;
    let mut overlaps = Vec::with_capacity(MOST);
    let plan = session.plan();
    let kept = &mut overlaps;
    let found = duo(
        spots,
        |[to, from]| {
            let mut number = 1;
            sample_here(&plan, |repetitions| {
                let mut whole = 0.0;
                for _ in 0..repetitions {
                    number += 2;
                    buffers.renew(0, number);
                    to.publish(number);
                    from.wait_for(number);
                    let mine = interval(buffers.load(0));
                    to.publish(number + 1);
                    from.wait_for(number + 1);
                    let other = interval((theirs[0].number(), theirs[1].number()));
                    let both = TwoWay::of(mine, other);
                    whole += both.whole_ns;
                    if kept.len() < MOST {
                        kept.push(both.overlap_ns);
                    }
                }
                whole
            })
        },
        |[from, to]| {
            let mut last = 0;
            while let Ok(number) = from.next(last) {
                buffers.renew(1, number);
                to.publish(number);
                let (start, end) = buffers.load(1);
                theirs[0].publish(start);
                theirs[1].publish(end);
                let Ok(done) = from.next(number) else {
                    return;
                };
                last = done;
                to.publish(done);
            }
        },
    )?;
    let sample = session.count(found);
    let overlap = Sample {
        ns: median(&overlaps),
        trimean: trimean(&overlaps),
        mad: mad(&overlaps),
        n: overlaps.len() as u64,
        iid: sample.iid,
    };
    Ok((sample, overlap))
}

fn interval((start, end): (u64, u64)) -> Interval {
    Interval {
        start: start as f64,
        end: end as f64,
    }
}
