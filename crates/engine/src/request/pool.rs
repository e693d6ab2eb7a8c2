// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests of a process as a class of objects with a lock of their own (`RANKPOINT_LOCKS=fine`).
//!
//! Entries lie in the slab of their VCI, because queues run through them and ids name a VCI; what the process has one of is the number of
//! requests that it may have, which the lock guards. It is taken under the lock of a VCI and held for a few instructions. Where VCIs have
//! their own requests there is no pool, and each slab has its limit.

use sys::limits;
use sys::sync::{AtomicU64, Ordering};

use fabric::lock::VciLock;

use super::entry::RequestEntry;
use super::slab::{FIRST_INDEX, RequestSlab};
use super::{RequestIndex, Role};
use crate::errors::{Error, ErrorClass, Result};

/// How many requests a process has and may have. A cache line, which all its threads share.
#[repr(align(64))]
pub(crate) struct RequestPool {
    lock: VciLock,
    most: u64,
    /// Entries that are not free. Under the lock.
    in_use: AtomicU64,
    /// How often the lock was taken. Under the lock.
    taken: AtomicU64,
}

impl RequestPool {
    /// A pool of at most `most` requests.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            lock: VciLock::new(),
            most,
            in_use: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// How often its lock was taken.
    #[cfg(test)]
    pub(crate) fn locks_taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Counts one more request; false when there are as many as there may be.
    fn take(&self) -> bool {
        self.count(|in_use| (in_use < self.most).then_some(in_use + 1))
    }

    /// Counts one less.
    fn release(&self) {
        self.count(|in_use| Some(in_use - 1));
    }

    /// Changes the number of requests under the lock; false when it stays.
    fn count(&self, change: impl FnOnce(u64) -> Option<u64>) -> bool {
        self.lock.lock();
        let changed = change(self.in_use.load(Ordering::Relaxed));
        if let Some(in_use) = changed {
            self.in_use.store(in_use, Ordering::Relaxed);
        }
        let taken = self.taken.load(Ordering::Relaxed) + 1;
        self.taken.store(taken, Ordering::Relaxed);
        self.lock.unlock();
        changed.is_some()
    }
}

impl RequestSlab {
    /// Takes a free entry; its generation is kept, `extra` is empty, `error` and the record's `next` are 0, all other fields
    /// are the caller's to fill.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM when there are as many requests as there may be.
    // TIER: short
    #[inline(always)]
    pub(crate) fn take(&mut self, role: Role, record_kind: u8) -> Result<RequestIndex> {
        if self.pool.is_some() {
            return self.take_pooled(role, record_kind);
        }
        self.take_own(role, record_kind)
    }

    #[cold]
    #[inline(never)]
    fn take_pooled(&mut self, role: Role, record_kind: u8) -> Result<RequestIndex> {
        if !self.pool.as_ref().is_none_or(|pool| pool.take()) {
            let text = format!(
                "{} requests are pending in all VCIs, the limit set by RANKPOINT_REQUESTS where RANKPOINT_LOCKS is fine",
                self.capacity
            );
            return Err(Error::new(ErrorClass::ERR_NO_MEM, text));
        }
        let taken = self.take_own(role, record_kind);
        if taken.is_err() {
            self.release_to_pool();
        }
        taken
    }

    /// The error of a slab without a free entry.
    pub(super) fn full(&self) -> Error {
        (self.closed.clone()).unwrap_or_else(|| of_full_slab(self.capacity))
    }

    /// Gives this process, a forked child, a copy of the entries, and gives out no further one.
    pub(crate) fn close(&mut self, why: Error) {
        // Where the kernel refuses a copy, entries of requests that exist stay those of the parent.
        let _ = self.memory.make_private(self.memory.len());
        (self.free, self.capacity) = (std::ptr::null_mut(), self.used);
        self.closed = Some(why);
    }

    /// Frees an entry: ids that name it become stale.
    // TIER: short
    #[inline(always)]
    pub(crate) fn release(&mut self, index: RequestIndex) {
        if self.pool.is_some() {
            self.release_to_pool();
        }
        self.release_own(index);
    }

    #[cold]
    #[inline(never)]
    fn release_to_pool(&self) {
        if let Some(pool) = &self.pool {
            pool.release();
        }
    }

    /// Whether [`Self::take`] finds an entry here. The requests of other VCIs may have reached the limit of the process.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_null() || self.used < self.capacity
    }
}

/// The error of a slab whose entries are all in use.
#[cold]
fn of_full_slab(capacity: u32) -> Error {
    let bytes = (u64::from(capacity + FIRST_INDEX) + 1) * size_of::<RequestEntry>() as u64;
    let limit = match limits::of_file(bytes) {
        Some(limit) => format!("and {limit}"),
        None => "the limit set by RANKPOINT_REQUESTS".to_owned(),
    };
    let text = format!("{capacity} requests are pending, {limit}");
    Error::new(ErrorClass::ERR_NO_MEM, text)
}
