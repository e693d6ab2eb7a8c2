// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries of a completion queue.
//!
//! Lanes write, threads poll. A lane reserves the next entry and then writes it; a poll takes the first entry, if it is written, empties it,
//! and only then gives the writes that it stands for back to their queue pair. A queue pair has no more writes under way than the ring has
//! room for, so an entry that a lane reserves was emptied before. Threads of several lanes meet at `tail`, pollers at `head`, which
//! they change with the queue's lock held.

use sys::sync::{AtomicU64, Ordering};

use super::lane::Line;

/// An entry: which queue pair's, and the number of the write; 0 where none is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) pair: u32,
    pub(super) number: u32,
}

impl Entry {
    const fn word(self) -> u64 {
        (self.pair as u64 + 1) << 32 | self.number as u64
    }

    const fn of(word: u64) -> Option<Self> {
        match word >> 32 {
            0 => None,
            pair => Some(Self {
                pair: pair as u32 - 1,
                number: word as u32,
            }),
        }
    }
}

/// A position, away from what other threads write.
#[derive(Debug)]
#[repr(align(128))]
struct End(AtomicU64);

/// The entries.
#[derive(Debug)]
pub(super) struct Ring {
    /// One in a cache line.
    entries: Box<[Line]>,
    tail: End,
    head: End,
}

impl Ring {
    pub(super) fn new(entries: usize) -> Self {
        Self {
            entries: (0..entries.max(1)).map(|_| Line::new()).collect(),
            tail: End(AtomicU64::new(0)),
            head: End(AtomicU64::new(0)),
        }
    }

    /// Entries that there is room for.
    pub(super) fn room(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, position: u64) -> &AtomicU64 {
        &self.entries[(position % self.entries.len() as u64) as usize].0[0]
    }

    /// Writes an entry. The queue pair has a write less under way than there is room for.
    pub(super) fn push(&self, entry: Entry) {
        let position = self.tail.0.fetch_add(1, Ordering::Relaxed);
        // PAIRS: nic_ring.entry
        self.entry(position).store(entry.word(), Ordering::Release);
    }

    /// Takes the first entry. The caller holds the queue's lock, or is its only poller.
    pub(super) fn take(&self) -> Option<Entry> {
        let position = self.head.0.load(Ordering::Relaxed);
        let entry = self.entry(position);
        // PAIRS: nic_ring.entry
        let found = Entry::of(entry.load(Ordering::Acquire))?;
        entry.store(0, Ordering::Relaxed);
        self.head.0.store(position + 1, Ordering::Relaxed);
        Some(found)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn entries_come_once_and_in_order() {
        let ring = Ring::new(3);
        for round in 0..10 {
            let entries = [0, 1, 2].map(|pair| Entry {
                pair,
                number: round * 3 + pair,
            });
            for entry in entries {
                ring.push(entry);
            }
            assert_eq!([0, 1, 2].map(|_| ring.take()), entries.map(Some));
            assert_eq!(ring.take(), None);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::super::lock::Lock;
    use super::*;
    use loom::sync::Arc;

    /// Two lanes write, a thread polls meanwhile: each entry comes once, with what was written before it.
    #[test]
    fn model_entries_of_two_lanes_come_once() {
        loom::model(|| {
            let shared = Arc::new((Ring::new(2), Lock::new(), AtomicU64::new(0)));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || {
                other.2.store(7, Ordering::Relaxed);
                other.0.push(Entry { pair: 1, number: 5 });
            });
            shared.0.push(Entry { pair: 0, number: 4 });
            let mut found = Vec::new();
            while found.len() < 2 {
                let held = shared.1.lock();
                let entry = shared.0.take();
                drop(held);
                match entry {
                    Some(entry) => {
                        if entry.pair == 1 {
                            assert_eq!(shared.2.load(Ordering::Relaxed), 7);
                        }
                        found.push((entry.pair, entry.number));
                    }
                    None => loom::thread::yield_now(),
                }
            }
            thread.join().unwrap();
            found.sort_unstable();
            assert_eq!(found, [(0, 4), (1, 5)]);
        });
    }
}
