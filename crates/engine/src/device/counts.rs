// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the process has done with GPUs, for its counters.

use fabric::counters::Counter;
use sys::sync::{AtomicU64, Ordering};

static QUERIES: AtomicU64 = AtomicU64::new(0);
static COPIES: AtomicU64 = AtomicU64::new(0);
static PACKS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn add(counter: &AtomicU64, number: u64) {
    // Relaxed: nothing is concluded from a count.
    counter.fetch_add(number, Ordering::Relaxed);
}

/// The driver was asked who owns an address.
pub(super) fn count_query() {
    add(&QUERIES, 1);
}

/// Counts a copy of `bytes` bytes, which a kernel has packed or unpacked if `is_packed`.
pub(super) fn count_copy(bytes: usize, is_packed: bool) {
    add(&COPIES, 1);
    add(&BYTES, bytes as u64);
    if is_packed {
        add(&PACKS, 1);
    }
}

/// The counters and their values.
pub(crate) fn counts() -> [(Counter, u64); 4] {
    [
        (Counter::DeviceQueries, &QUERIES),
        (Counter::DeviceCopies, &COPIES),
        (Counter::DevicePacks, &PACKS),
        (Counter::DeviceBytes, &BYTES),
    ]
    .map(|(counter, value)| (counter, value.load(Ordering::Relaxed)))
}
