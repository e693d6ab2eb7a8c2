// SPDX-License-Identifier: MIT OR Apache-2.0
//! The directory of rings: for each VCI of each rank a list of the rings towards it.
//!
//! A sender makes a ring on its first message to a peer and puts it at the head of the peer's list.
//! The receiver walks from the head to the ring that it saw first last time. Memory is proportional
//! to the pairs that talk: an entry lies in the line behind its ring.
//!
//! Writers: a sender fills its own entry before it publishes it, and nobody changes an entry
//! afterwards. The head is changed by compare-and-swap, from the newest ring to a newer one.
//! Invariant: the entries from the head on are complete, and each ring is in one list once. Entries
//! are never removed, so an old head never comes back with another meaning (ABA). A sender that dies
//! between making a ring and publishing it leaves memory that no list leads to.
//!
//! The receiver trusts no entry: offsets are checked before they become addresses, and a walk ends
//! after as many rings as the segment can hold.

use sys::sync::{AtomicU32, AtomicU64, Ordering};

use crate::identity::{PeerIndex, VciIndex};

/// Whose messages a ring carries, and to which VCI of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingKey {
    /// The sender.
    pub source: PeerIndex,
    /// The sender's VCI.
    pub source_vci: VciIndex,
    /// The receiver's VCI.
    pub target_vci: VciIndex,
}

/// An entry of a list. One cache line.
#[repr(C, align(64))]
pub struct Entry {
    /// Offset of the next older ring; 0 at the end of the list.
    pub(super) next: AtomicU64,
    pub(super) source: AtomicU32,
    /// The sender's VCI in the low half, the receiver's in the high half.
    pub(super) vcis: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Entry>() == 64);

impl Entry {
    /// Puts the ring at `ring` at the head of a list.
    pub(crate) fn publish(&self, head: &AtomicU64, ring: u64, key: RingKey) {
        let vcis = u32::from(key.source_vci.get()) | u32::from(key.target_vci.get()) << 16;
        self.source.store(key.source.get(), Ordering::Relaxed);
        self.vcis.store(vcis, Ordering::Relaxed);
        let mut newest = head.load(Ordering::Relaxed);
        loop {
            self.next.store(newest, Ordering::Relaxed);
            // PAIRS: directory.head. The entry and its zeroed ring are visible with the head; older
            // entries stay visible, because a compare-and-swap continues their release sequence.
            let swapped = head.compare_exchange(newest, ring, Ordering::Release, Ordering::Relaxed);
            match swapped {
                Ok(_) => return,
                Err(found) => newest = found,
            }
        }
    }

    /// `None` when it names VCIs that do not exist.
    fn key(&self) -> Option<RingKey> {
        let vcis = self.vcis.load(Ordering::Relaxed);
        Some(RingKey {
            source: PeerIndex::new(self.source.load(Ordering::Relaxed)),
            source_vci: VciIndex::new(vcis & 0xffff)?,
            target_vci: VciIndex::new(vcis >> 16)?,
        })
    }
}

/// The rings that were published since `known` was the newest, the newest first, and how they end:
/// `None` when an offset leads nowhere, or after `most` rings. `entry` gives the entry of a ring whose
/// offset it has checked.
pub(crate) fn published_since<'a>(
    head: &AtomicU64,
    known: u64,
    most: u64,
    entry: impl Fn(u64) -> Option<&'a Entry>,
) -> Option<(u64, Vec<(u64, RingKey)>)> {
    // PAIRS: directory.head
    let newest = head.load(Ordering::Acquire);
    let (mut ring, mut found) = (newest, Vec::new());
    while ring != known && ring != 0 {
        let entry = entry(ring).filter(|_| (found.len() as u64) < most)?;
        found.push((ring, entry.key()?));
        ring = entry.next.load(Ordering::Relaxed);
    }
    Some((newest, found))
}
