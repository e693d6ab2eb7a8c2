// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-modify-write operations on one word by several cores.

use machine_profile::Axis;
use measure::threads::{CacheLine, team};

use crate::entry::Entry;
use crate::session::{Outcome, Session, curve};
use crate::sync::{AtomicU64, Ordering};

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "atomic/fetch-add",
            "fetch_add on one word by each of several cores, over cores",
            |session, name| {
                contended(session, name, |word| {
                    word.fetch_add(1, Ordering::Relaxed);
                })
            },
        )
        .quick(),
        Entry::new(
            "atomic/cas",
            "compare-and-swap on one word until it succeeds, by each of several cores, over cores",
            |session, name| contended(session, name, increment),
        )
        .quick(),
    ]
}

fn increment(word: &AtomicU64) {
    let mut old = word.load(Ordering::Relaxed);
    while let Err(found) = word.compare_exchange_weak(
        old,
        old.wrapping_add(1),
        Ordering::Relaxed,
        Ordering::Relaxed,
    ) {
        old = found;
    }
}

/// Powers of two up to all cores, and all cores.
pub(super) fn counts(cores: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (0..usize::BITS)
        .map(|shift| 1 << shift)
        .take_while(|&count| count < cores)
        .collect();
    counts.push(cores);
    counts
}

fn contended(
    session: &Session,
    name: &str,
    operation: impl Fn(&AtomicU64) + Sync + Copy,
) -> Outcome {
    let word = CacheLine::default();
    let mut points = Vec::new();
    for count in counts(session.cores().len()) {
        let found = team(&session.cores()[..count], &session.plan(), |_| {
            let word = word.word();
            move |repetitions| {
                for _ in 0..repetitions {
                    operation(word);
                }
            }
        })?;
        points.push((count as u64, session.count(found)));
    }
    curve(name, Axis::Threads, None, points)
}
