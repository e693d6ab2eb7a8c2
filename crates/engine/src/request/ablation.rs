// SPDX-License-Identifier: MIT OR Apache-2.0
//! For measuring only, with the feature `ablate-requests`: what requests cost that belong to the process and not to a VCI.
//!
//! Entries stay in the slab of their VCI, but taking and releasing one also takes the lock of the process and counts it there, as with
//! one pool for all. A send that is complete at once refers to one request of the process, and lets go of it.

use sys::sync::{AtomicU64, Ordering};

use fabric::lock::VciLock;

/// The requests of the process.
static POOL: Pool = Pool {
    lock: VciLock::new(),
    in_use: AtomicU64::new(0),
    taken: AtomicU64::new(0),
    references: AtomicU64::new(0),
};

/// All in one cache line, as the fields of a pool would be.
#[repr(align(64))]
struct Pool {
    lock: VciLock,
    /// Entries that are not free. Under the lock.
    in_use: AtomicU64,
    /// How often the lock was taken. Under the lock.
    taken: AtomicU64,
    /// References to the request of sends that are complete at once, ever.
    references: AtomicU64,
}

/// Takes an entry from the pool.
pub(super) fn take() {
    count(1);
}

/// Gives an entry back.
pub(super) fn release() {
    count(u64::MAX);
}

fn count(change: u64) {
    POOL.lock.lock();
    let in_use = POOL.in_use.load(Ordering::Relaxed).wrapping_add(change);
    POOL.in_use.store(in_use, Ordering::Relaxed);
    let taken = POOL.taken.load(Ordering::Relaxed) + 1;
    POOL.taken.store(taken, Ordering::Relaxed);
    POOL.lock.unlock();
}

/// A send is complete at once: one reference to the common request and its end.
pub(crate) fn use_complete_request() {
    POOL.references.fetch_add(1 << 32 | 1, Ordering::Relaxed);
    POOL.references.fetch_sub(1, Ordering::Relaxed);
}

/// How often the lock of the pool was taken, and how many sends referred to the common request.
#[cfg(test)]
pub(crate) fn counted() -> (u64, u64) {
    let references = POOL.references.load(Ordering::Relaxed);
    (POOL.taken.load(Ordering::Relaxed), references >> 32)
}
