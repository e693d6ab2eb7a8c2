// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payload of a ring from another node that lies in a receive buffer of the network instead of in the ring.
//!
//! Invariant: it is lent, read and taken back by threads that hold the lock of the ring's VCI, so all orderings are relaxed. The lender
//! keeps the receive buffer until it has taken the payload back ([`super::MirrorTarget::take_back`]).

// account: fabric

use std::ptr::NonNull;

use super::ChunkLocation;
use sys::sync::{AtomicPtr, AtomicU64, Ordering};

/// No location of payload: those of the payload area have 32 bits.
const NOWHERE: u64 = u64::MAX;

/// The one payload of a ring that lies elsewhere.
pub(super) struct Lent {
    /// Its location in the ring, or [`NOWHERE`].
    location: AtomicU64,
    bytes: AtomicU64,
    start: AtomicPtr<u8>,
}

impl Lent {
    pub(super) fn none() -> Self {
        Self {
            location: AtomicU64::new(NOWHERE),
            bytes: AtomicU64::new(0),
            start: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Lends payload.
    pub(super) fn set(&self, location: ChunkLocation, bytes: u32, start: NonNull<u8>) {
        self.start.store(start.as_ptr(), Ordering::Relaxed);
        self.bytes.store(bytes.into(), Ordering::Relaxed);
        self.location.store(location, Ordering::Relaxed);
    }

    /// Where the payload at a location lies, if it is lent. Payload of no bytes has the location of the next one.
    pub(super) fn find(&self, location: ChunkLocation, bytes: u32) -> Option<NonNull<u8>> {
        let is_lent = self.location.load(Ordering::Relaxed) == location
            && self.bytes.load(Ordering::Relaxed) == u64::from(bytes);
        is_lent.then(|| NonNull::new(self.start.load(Ordering::Relaxed)))?
    }

    /// The payload at a location is not needed any more.
    pub(super) fn release(&self, location: ChunkLocation, bytes: u32) {
        if bytes != 0 && self.location.load(Ordering::Relaxed) == location {
            self.location.store(NOWHERE, Ordering::Relaxed);
        }
    }

    /// Whether payload is lent.
    pub(super) fn is_some(&self) -> bool {
        self.location.load(Ordering::Relaxed) != NOWHERE
    }

    /// Ends the loan; the payload, if it is still needed: location, bytes, and where it lies.
    pub(super) fn take(&self) -> Option<(ChunkLocation, u32, NonNull<u8>)> {
        let location = self.location.load(Ordering::Relaxed);
        if location == NOWHERE {
            return None;
        }
        self.location.store(NOWHERE, Ordering::Relaxed);
        let start = NonNull::new(self.start.load(Ordering::Relaxed))?;
        Some((location, self.bytes.load(Ordering::Relaxed) as u32, start))
    }
}
