// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending side: credits, and cells.
#![expect(unsafe_code, reason = "a ring is memory that two ranks share")]

// account: fabric

use std::mem::offset_of;
use std::sync::Arc;

use sys::sync::Ordering;

use super::blocks::Stack;
use super::data::store_data;
use super::private::RingMemory;
use super::{Cell, INJECT_BYTES, INJECT_WORDS, RingView};

/// The sending side of a ring: the fields of the fast path. All-zero is a sender without a ring.
#[repr(C)]
pub struct RingSender {
    /// The cell to write next.
    pub(super) cursor: *mut Cell,
    /// The end of the credits or of the ring. Equal to `cursor`: no credit.
    pub(super) limit: *mut Cell,
    /// The present lap, 1 or more; below 2^32.
    pub(super) lap: u64,
    pub(super) back: Option<Box<Back>>,
}

// As mpi_rankpoint_inline.h has it; another layout needs another version there.
const _: () = {
    assert!(offset_of!(RingSender, cursor) == 0);
    assert!(offset_of!(RingSender, limit) == 8);
    assert!(offset_of!(RingSender, lap) == 16);
};

/// The fields of a sender's slow path.
pub(super) struct Back {
    pub(super) view: RingView,
    /// Position of the next chunk in the payload area. The area is known to be free from there up
    /// to `payload_limit`, without a break.
    pub(super) payload_next: u32,
    pub(super) payload_limit: u32,
    pub(super) payload_consumed: u32,
    pub(super) blocks: Stack,
    /// Whether a chunk has come from the peer since this rank sent the last one.
    pub(super) answers: bool,
    /// Whether no receiver exists and cells are overwritten ([`RingSender::forgetting`]).
    pub(super) forgets: bool,
    /// The memory of a private ring.
    pub(super) _memory: Option<Arc<RingMemory>>,
}

// SAFETY: the pointers lead into a mapping that outlives the ring (RingView::at); one side is used by one thread at a
// time because its methods take `&mut self`.
unsafe impl Send for RingSender {}

impl RingSender {
    /// The sender of a fresh ring.
    pub fn new(view: RingView) -> Self {
        Self::with_memory(view, None)
    }

    /// The sender of a fresh ring whose memory it keeps.
    pub(super) fn with_memory(view: RingView, memory: Option<Arc<RingMemory>>) -> Self {
        let blocks = match view.pool {
            Some(_) => Stack::full(),
            None => Stack::empty(),
        };
        Self {
            cursor: view.cells.as_ptr(),
            limit: view.end(),
            lap: 1,
            back: Some(Box::new(Back {
                view,
                payload_next: 0,
                payload_limit: view.payload_bytes,
                payload_consumed: 0,
                blocks,
                answers: false,
                forgets: false,
                _memory: memory,
            })),
        }
    }

    /// A sender without a ring: it never has a credit.
    pub const fn unconnected() -> Self {
        Self {
            cursor: std::ptr::null_mut(),
            limit: std::ptr::null_mut(),
            lap: 0,
            back: None,
        }
    }

    /// Whether a ring is behind this sender.
    #[inline(always)]
    pub const fn is_connected(&self) -> bool {
        self.back.is_some()
    }

    /// Cells published so far.
    pub fn published(&self) -> u64 {
        self.back
            .as_ref()
            .map_or(0, |back| back.view.cells_before(self.lap, self.cursor))
    }

    /// Largest chunk that the payload area takes, in bytes. A quarter of the area: the bytes skipped
    /// at its end, the chunk, and the room not yet returned (a quarter each) always fit together.
    pub fn largest_payload(&self) -> u32 {
        self.back
            .as_ref()
            .map_or(0, |back| back.view.payload_bytes / 4)
    }

    /// Whether a cell may be written without reading the receiver's line.
    // TIER: short
    #[inline(always)]
    pub fn has_credit(&self) -> bool {
        self.cursor != self.limit
    }

    /// Starts a new lap at the end of the ring and reads the receiver's line; true when a cell may be
    /// written now.
    #[cold]
    pub fn refresh(&mut self) -> bool {
        let Some(back) = self.back.as_mut() else {
            return false;
        };
        let view = back.view;
        if self.cursor == view.end() {
            self.cursor = view.cells.as_ptr();
            self.lap = u64::from((self.lap as u32).wrapping_add(1));
        }
        if back.forgets {
            self.limit = view.end();
            back.payload_consumed = back.payload_next;
            return true;
        }
        // PAIRS: ring.consumed. The receiver's reads of a cell happen before we overwrite it.
        let consumed = view.shared().consumed.load(Ordering::Acquire);
        let in_flight = view
            .index_of(self.lap as u32, self.cursor)
            .wrapping_sub(consumed as u32);
        // A receiver that claims to have consumed cells which were never sent gets no credit.
        let credits = view.cell_count.saturating_sub(in_flight);
        let to_end = view.cell_count - view.offset_of(self.cursor);
        // SAFETY: at most the end of the cells, by `to_end`.
        self.limit = unsafe { self.cursor.add(credits.min(to_end) as usize) };
        back.payload_consumed = (consumed >> 32) as u32;
        // PAIRS: ring.returned. The receiver's reads of a block happen before we overwrite it.
        let returned = view.shared().returned.load(Ordering::Acquire);
        back.blocks.take_returned(returned);
        credits != 0
    }

    /// Whether the receiver asks for rendezvous instead of eager messages.
    #[inline]
    pub fn is_throttled(&self) -> bool {
        self.back
            .as_ref()
            .is_some_and(|back| back.view.shared().throttle.load(Ordering::Relaxed) != 0)
    }

    /// The last value of `RingReceiver::set_preferences`.
    pub fn preferences(&self) -> u32 {
        self.back.as_ref().map_or(0, |back| {
            back.view.shared().preferences.load(Ordering::Relaxed)
        })
    }

    /// Publishes `bytes` bytes at `source` inside one cell.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes, `bytes <= INJECT_BYTES`, and [`Self::has_credit`] holds.
    // TIER: short
    #[inline(always)]
    pub unsafe fn inject(&mut self, kind: u8, match_word: u64, source: *const u8, bytes: usize) {
        debug_assert!(bytes <= INJECT_BYTES && self.has_credit());
        // SAFETY: a credit means that the cell at the cursor is ours to write, inside the ring.
        let cell = unsafe { &*self.cursor };
        cell.match_word.store(match_word, Ordering::Relaxed);
        // SAFETY: the caller makes `source` readable for `bytes` bytes, `bytes <= INJECT_BYTES`; the
        // cell's data belong to this sender until it publishes them.
        unsafe { store_data(&cell.words, source, bytes) };
        self.publish(cell, kind, bytes as u8, 0);
    }

    /// Publishes the first `bytes` bytes of `words` as a message; false when there is no credit.
    #[must_use]
    pub fn put_bytes(
        &mut self,
        kind: u8,
        match_word: u64,
        words: &[u64; INJECT_WORDS],
        bytes: usize,
    ) -> bool {
        if !self.has_credit() && !self.refresh() {
            return false;
        }
        // SAFETY: a credit is there, and `words` is readable for INJECT_BYTES bytes.
        unsafe {
            self.inject(
                kind,
                match_word,
                words.as_ptr().cast(),
                bytes.min(INJECT_BYTES),
            )
        };
        true
    }

    /// Gives up all credits until the next [`Self::refresh`], so that no message overtakes a queued
    /// one.
    pub const fn withhold(&mut self) {
        self.limit = self.cursor;
    }

    /// Publishes a cell whose data are `words`; false when there is no credit.
    #[inline(always)]
    #[must_use]
    pub fn put_words<const N: usize>(
        &mut self,
        kind: u8,
        aux: u16,
        match_word: u64,
        words: &[u64; N],
    ) -> bool {
        const { assert!(N <= INJECT_WORDS) };
        if !self.has_credit() && !self.refresh() {
            return false;
        }
        // SAFETY: as in inject.
        let cell = unsafe { &*self.cursor };
        cell.match_word.store(match_word, Ordering::Relaxed);
        for (slot, &word) in cell.words.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.publish(cell, kind, (N * 8) as u8, aux);
        true
    }

    // TIER: short
    #[inline(always)]
    pub(super) fn publish(&mut self, cell: &Cell, kind: u8, length: u8, aux: u16) {
        let head =
            self.lap | u64::from(kind) << 32 | u64::from(length) << 40 | u64::from(aux) << 48;
        // PAIRS: ring.published. Everything stored in the cell and the payload is visible with the head.
        cell.head.store(head, Ordering::Release);
        // SAFETY: the cursor was below `limit`, which is at most the end of the cells.
        self.cursor = unsafe { self.cursor.add(1) };
    }
}
