// SPDX-License-Identifier: MIT OR Apache-2.0
//! A uUAR, and the fetch units behind all of them.

use sys::sync::{AtomicU64, Ordering};

use super::lock::{Held, Lock};

/// Words of a WQE.
pub(super) const WQE_WORDS: usize = 8;

/// A cache line of words.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [AtomicU64; WQE_WORDS]);

impl Line {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

/// A uUAR: two buffers that are written alternately.
///
/// A processor fetches cache lines in pairs, so this type and the others of this module that threads write are aligned to two lines: threads
/// with objects of their own share no pair.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Lane {
    buffers: [Line; 2],
    next: AtomicU64,
    /// Only where several queue pairs are on it.
    lock: Option<Lock>,
    has_blue_flame: bool,
}

/// Units that fetch payloads, a cache line at a time. Payloads on one line meet in one unit.
#[derive(Debug)]
pub(super) struct FetchUnits {
    units: Vec<FetchUnit>,
}

#[derive(Debug)]
#[repr(align(128))]
struct FetchUnit {
    lock: Lock,
    /// Payloads that it has fetched; changed with the lock held.
    fetches: AtomicU64,
}

impl Lane {
    pub(super) fn new(has_lock: bool, has_blue_flame: bool) -> Self {
        Self {
            buffers: [Line::new(), Line::new()],
            next: AtomicU64::new(0),
            lock: has_lock.then(Lock::new),
            has_blue_flame,
        }
    }

    /// Whether WQEs are copied into its buffers, rather than fetched from the queue pair.
    pub(super) const fn has_blue_flame(&self) -> bool {
        self.has_blue_flame
    }

    /// Waits until no other queue pair is on it.
    pub(super) fn enter(&self) -> Option<Held<'_>> {
        self.lock.as_ref().map(Lock::lock)
    }

    /// Copies a WQE into the buffer whose turn it is (BlueFlame). The caller has entered.
    pub(super) fn write(&self, wqe: &Line) {
        let turn = self.next.load(Ordering::Relaxed);
        self.next.store(turn + 1, Ordering::Relaxed);
        let buffer = &self.buffers[(turn % 2) as usize];
        for (to, from) in buffer.0.iter().zip(&wqe.0) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Rings the DoorBell: one store, the first word of a buffer. The caller has entered.
    pub(super) fn ring(&self, posted: u64) {
        self.buffers[0].0[0].store(posted, Ordering::Relaxed);
    }
}

impl FetchUnits {
    pub(super) fn new(units: usize) -> Self {
        let unit = || FetchUnit {
            lock: Lock::new(),
            fetches: AtomicU64::new(0),
        };
        let units = (0..units.max(1)).map(|_| unit()).collect();
        Self { units }
    }

    /// Fetches a word with its cache line.
    pub(super) fn fetch(&self, lines: &[Line], word: usize) -> u64 {
        let line = &lines[word / WQE_WORDS];
        let address = std::ptr::from_ref(line).addr() / size_of::<Line>();
        let unit = &self.units[address % self.units.len()];
        let _held = unit.lock.lock();
        let fetches = unit.fetches.load(Ordering::Relaxed);
        unit.fetches.store(fetches + 1, Ordering::Relaxed);
        let mut found = 0;
        for (index, part) in line.0.iter().enumerate() {
            let value = part.load(Ordering::Relaxed);
            if index == word % WQE_WORDS {
                found = value;
            }
        }
        found
    }

    /// Payloads that were fetched.
    pub(super) fn fetches(&self) -> u64 {
        let fetches = |unit: &FetchUnit| unit.fetches.load(Ordering::Relaxed);
        self.units.iter().map(fetches).sum()
    }
}
