// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings in memory of one process, and their cells as values.
//!
//! A private ring has no blocks: blocks change hands between the two rings of a pair, and the far
//! ends of a private ring's cells belong to a relay, which copies payload from ring to ring.
//! Invariant: [`private_ring`] makes both ends of a ring at once, so no second sender or receiver
//! of the same memory can exist, and each end keeps the memory alive.
#![expect(unsafe_code, reason = "a ring is memory that two threads share")]

// account: fabric

use std::ptr::NonNull;
use std::sync::Arc;

use super::chunks::LEAST_PAYLOAD_BYTES;
use super::lent::Lent;
use super::{Arrival, INJECT_BYTES, INJECT_WORDS, RingReceiver, RingSender, RingView};
use sys::memory;
use sys::sync::Ordering;

/// Zeroed memory of one ring without blocks, of which only the pages that are touched exist.
pub(super) struct RingMemory {
    pub(super) base: NonNull<u8>,
    pub(super) bytes: usize,
    pub(super) lent: Lent,
}

// SAFETY: the memory is only reached through the two ends of the ring, which keep to its protocol;
// this owner merely frees it.
unsafe impl Send for RingMemory {}
// SAFETY: as for Send; a shared reference allows nothing.
unsafe impl Sync for RingMemory {}

impl RingMemory {
    /// Memory for a ring of these sizes; `None` when the process has none left.
    fn new(cell_count: u32, payload_bytes: u32) -> Option<Self> {
        let bytes = RingView::bytes_without_blocks(cell_count, payload_bytes);
        let bytes = usize::try_from(bytes).ok()?;
        let base = memory::map_private(bytes).ok()?;
        let lent = Lent::none();
        Some(Self { base, bytes, lent })
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the memory; the last end of the ring is gone.
        unsafe { memory::unmap(self.base, self.bytes) };
    }
}

/// Both ends of a fresh ring in memory of this process, without blocks. `None` when a size is no
/// power of two, the payload area has less than 8 KiB, or the process has no memory left.
pub fn private_ring(cell_count: u32, payload_bytes: u32) -> Option<(RingSender, RingReceiver)> {
    let (view, memory) = private_view(cell_count, payload_bytes)?;
    Some((
        RingSender::with_memory(view, Some(memory.clone())),
        RingReceiver::with_memory(view, Some(memory)),
    ))
}

/// A fresh ring in memory of this process, without blocks, for exactly one sender and one receiver that keep the memory.
pub(super) fn private_view(
    cell_count: u32,
    payload_bytes: u32,
) -> Option<(RingView, Arc<RingMemory>)> {
    let is_possible = cell_count.is_power_of_two()
        && payload_bytes.is_power_of_two()
        && payload_bytes >= LEAST_PAYLOAD_BYTES;
    let memory = Arc::new(RingMemory::new(cell_count, payload_bytes).filter(|_| is_possible)?);
    // SAFETY: fresh, zeroed and aligned memory of this size (RingMemory::new), which both ends keep
    // alive; only they are made of it.
    let view = unsafe { RingView::without_blocks(memory.base, cell_count, payload_bytes) };
    Some((view, memory))
}

/// Where cells of a kind describe payload: which of their words is a location in the ring, and which
/// is the payload's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadRule {
    /// The kind of cells.
    pub kind: u8,
    /// The word, counted from 0, that holds the location.
    pub location_word: u8,
    /// The word that holds the length in bytes.
    pub bytes_word: u8,
}

/// The contents of a cell as a value, which a relay takes from one ring and puts into another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellContents {
    /// Kind of the cell; the engine defines the kinds.
    pub kind: u8,
    /// Bytes of data in the cell, at most [`INJECT_BYTES`].
    pub bytes: u8,
    /// The kind's auxiliary 16 bits.
    pub aux: u16,
    /// Context id and tag.
    pub match_word: u64,
    /// The data.
    pub words: [u64; INJECT_WORDS],
}

impl RingReceiver {
    /// The contents of the peeked cell, whose head is `arrival`.
    pub fn contents(&self, arrival: Arrival) -> CellContents {
        CellContents {
            kind: arrival.kind(),
            bytes: arrival.bytes() as u8,
            aux: arrival.aux(),
            match_word: self.match_word(),
            words: std::array::from_fn(|index| self.word(index)),
        }
    }
}

impl RingSender {
    /// A sender without a receiver: it always has a credit, at the latest after [`Self::refresh`],
    /// and overwrites what it has sent. A cell costs the same instructions as on any ring, so the
    /// fast path has no branch for this; its stores go to lines that no other core reads. A ring
    /// of few cells stays in the first cache. `None` as for [`private_ring`].
    pub fn forgetting(cell_count: u32, payload_bytes: u32) -> Option<Self> {
        let (mut sender, _) = private_ring(cell_count, payload_bytes)?;
        sender.back.as_mut()?.forgets = true;
        Some(sender)
    }

    /// Whether nobody receives what this sender sends: callers may skip copying payload.
    pub fn is_forgetting(&self) -> bool {
        self.back.as_ref().is_some_and(|back| back.forgets)
    }

    /// Publishes a cell with these contents; false when there is no credit.
    #[must_use]
    pub fn put_contents(&mut self, contents: &CellContents) -> bool {
        if !self.has_credit() && !self.refresh() {
            return false;
        }
        // SAFETY: a credit means that the cell at the cursor belongs to this sender.
        let cell = unsafe { &*self.cursor };
        cell.match_word
            .store(contents.match_word, Ordering::Relaxed);
        for (slot, &word) in cell.words.iter().zip(&contents.words) {
            slot.store(word, Ordering::Relaxed);
        }
        let bytes = contents.bytes.min(INJECT_BYTES as u8);
        self.publish(cell, contents.kind, bytes, contents.aux);
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{CellContents, RingSender, private_ring};
    use std::ptr::null;

    #[test]
    fn impossible_sizes_make_no_ring() {
        assert!(private_ring(3, 1 << 12).is_none());
        assert!(private_ring(4, 10_000).is_none());
        assert!(private_ring(4, 4096).is_none());
        assert!(private_ring(0, 8192).is_none());
        assert!(private_ring(4, 8192).is_some());
    }

    #[test]
    fn contents_travel_whole() {
        let (mut sender, mut receiver) = private_ring(1, 8192).unwrap();
        for number in 0..5u8 {
            let contents = CellContents {
                kind: number,
                bytes: 48 - number,
                aux: 300 + u16::from(number),
                match_word: u64::MAX - 7,
                words: [1, 2, 3, 4, 5, u64::from(number)],
            };
            assert!(sender.put_contents(&contents));
            assert!(!sender.put_contents(&contents));
            let arrival = receiver.peek().unwrap();
            assert_eq!(receiver.contents(arrival), contents);
            receiver.advance();
        }
    }

    #[test]
    fn a_forgetting_sender_has_room_for_ever() {
        let mut sender = RingSender::forgetting(4, 8192).unwrap();
        assert!(sender.is_forgetting());
        let longest = sender.largest_payload();
        for number in 0..10_000u32 {
            assert!(sender.has_credit() || sender.refresh());
            assert!(!sender.is_throttled() && sender.preferences() == 0);
            let bytes = number * 37 % (longest + 1);
            let (target, location) = sender.reserve(bytes, null()).unwrap();
            // SAFETY: reserved for `bytes` bytes.
            unsafe { target.write_bytes(1, bytes as usize) };
            assert!(sender.put_words(1, 0, 0, &[location]));
            assert!(sender.put_bytes(1, 0, &[0; 6], 48));
            assert!(sender.published() == 2 * u64::from(number) + 2);
        }
        assert!(sender.reserve(longest + 1, null()).is_none());
        assert!(sender.refresh() && sender.has_room_for(1, longest));
        let (ordinary, _receiver) = private_ring(4, 8192).unwrap();
        assert!(!ordinary.is_forgetting());
    }

    #[test]
    fn an_end_outlives_the_other() {
        let (mut sender, receiver) = private_ring(8, 8192).unwrap();
        drop(receiver);
        assert!(sender.put_words(1, 0, 0, &[1, 2]));
        let (sender, receiver) = private_ring(8, 8192).unwrap();
        drop(sender);
        assert!(receiver.peek().is_none());
    }

    #[test]
    fn a_ring_without_blocks_hands_out_none() {
        let (mut sender, mut receiver) = private_ring(64, 64 << 10).unwrap();
        let (mut back, _) = private_ring(64, 64 << 10).unwrap();
        let (longest, mut handed_out) = (sender.largest_payload(), 0);
        for bytes in (0..=longest).step_by(509).chain([longest; 9]) {
            while let Some((_, location)) = sender.reserve(bytes, null()) {
                handed_out += 1;
                assert!(
                    u32::try_from(location).is_ok(),
                    "{bytes} bytes went into a block"
                );
                assert!(sender.put_words(1, 0, 0, &[location]));
            }
            while receiver.peek().is_some() {
                let location = receiver.word(0);
                assert!(receiver.payload(location, bytes, &back).is_some());
                receiver.release_payload(location, bytes, &mut back);
                receiver.advance();
            }
        }
        assert!(handed_out > 200, "{handed_out}");
        assert!(sender.reserve(longest + 1, null()).is_none());
    }

    #[test]
    fn a_peer_that_names_blocks_of_a_ring_without_them_is_refused() {
        let (_, mut receiver) = private_ring(8, 8192).unwrap();
        let (mut back, _) = private_ring(8, 8192).unwrap();
        for location in [1u64 << 32, 1 << 32 | 1 << 8, 1 << 32 | 3] {
            assert!(receiver.payload(location, 8, &back).is_none());
            receiver.release_payload(location, 8, &mut back);
        }
        assert!(
            back.reserve(1024, null())
                .is_some_and(|(_, location)| location < 1 << 32)
        );
    }
}
