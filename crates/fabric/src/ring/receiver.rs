// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiving side: arrived cells, and the return of credits.
#![expect(unsafe_code, reason = "a ring is memory that two ranks share")]

// account: fabric

use std::sync::Arc;

use sys::sync::Ordering;

use super::data::load_data;
use super::private::RingMemory;
use super::{Cell, INJECT_BYTES, RingView};

/// Head of an arrived cell.
#[derive(Clone, Copy, Debug)]
pub struct Arrival(pub(super) u64);

impl Arrival {
    /// The cell's kind; the engine defines the kinds.
    #[inline(always)]
    pub const fn kind(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// Bytes of data in the cell, clamped to [`INJECT_BYTES`]: the sender is not trusted.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        let bytes = (self.0 >> 40) as u8 as usize;
        if bytes > INJECT_BYTES {
            INJECT_BYTES
        } else {
            bytes
        }
    }

    /// The kind's auxiliary 16 bits.
    #[inline(always)]
    pub const fn aux(self) -> u16 {
        (self.0 >> 48) as u16
    }
}

/// The receiving side of a ring.
pub struct RingReceiver {
    /// The cell to read next.
    pub(super) cursor: *const Cell,
    /// The cell at which credits return, at the latest the end of the ring.
    pub(super) pause: *const Cell,
    /// The present lap.
    pub(super) lap: u32,
    pub(super) payload_next: u32,
    pub(super) payload_returned: u32,
    /// The next value of the shared word `returned`, and how many of its flips are not written yet.
    pub(super) returned: u64,
    pub(super) unsaid: u32,
    /// Whether credits or blocks have gone back since [`Self::take_credited`]; the sender may sleep
    /// until they do.
    pub(super) credited: bool,
    pub(super) view: RingView,
    /// The memory of a private ring.
    pub(super) memory: Option<Arc<RingMemory>>,
}

// SAFETY: as for RingSender.
unsafe impl Send for RingReceiver {}

impl RingReceiver {
    /// Whether only this process has the ring: it changes when the transport is polled.
    pub const fn is_private(&self) -> bool {
        self.memory.is_some()
    }

    /// The receiver of a fresh ring.
    pub fn new(view: RingView) -> Self {
        Self::with_memory(view, None)
    }

    /// The receiver of a fresh ring whose memory it keeps.
    pub(super) fn with_memory(view: RingView, memory: Option<Arc<RingMemory>>) -> Self {
        let mut receiver = Self {
            cursor: view.cells.as_ptr(),
            pause: std::ptr::null(),
            lap: 1,
            payload_next: 0,
            payload_returned: 0,
            returned: 0,
            unsaid: 0,
            credited: false,
            view,
            memory,
        };
        receiver.plan_pause();
        receiver
    }

    /// Cells consumed so far.
    pub fn consumed(&self) -> u64 {
        self.view.cells_before(u64::from(self.lap), self.cursor)
    }

    /// The next message, if it has arrived.
    // TIER: short
    #[inline(always)]
    pub fn peek(&self) -> Option<Arrival> {
        // PAIRS: ring.published. Seeing the lap makes the cell and its payload visible.
        let head = self.cell().head.load(Ordering::Acquire);
        (head as u32 == self.lap).then_some(Arrival(head))
    }

    /// The peeked cell's match word.
    // TIER: short
    #[inline(always)]
    pub fn match_word(&self) -> u64 {
        self.cell().match_word.load(Ordering::Relaxed)
    }

    /// One word of the peeked cell's data.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        self.cell().words[index].load(Ordering::Relaxed)
    }

    /// Copies the first `bytes` bytes of the peeked cell's data to `target`.
    ///
    /// # Safety
    /// `target` is writable for `bytes` bytes and `bytes <= INJECT_BYTES`.
    // TIER: short
    #[inline(always)]
    pub unsafe fn copy_injected(&self, target: *mut u8, bytes: usize) {
        // SAFETY: the caller makes `target` writable for `bytes` bytes, `bytes <= INJECT_BYTES`; the
        // peeked cell is published and not consumed.
        unsafe { load_data(&self.cell().words, target, bytes) };
    }

    /// Consumes the peeked cell.
    // TIER: short
    #[inline(always)]
    pub fn advance(&mut self) {
        // SAFETY: the cursor stays inside the cells: `pause` is at most their end, where it starts over.
        self.cursor = unsafe { self.cursor.add(1) };
        if self.cursor == self.pause {
            self.return_credits();
        }
    }

    /// Asks the sender for rendezvous instead of eager messages, or ends that.
    pub fn set_throttle(&self, on: bool) {
        self.view
            .shared()
            .throttle
            .store(u32::from(on), Ordering::Relaxed);
    }

    /// Tells the sender which messages this rank would rather copy itself; the engine defines the
    /// bits.
    pub fn set_preferences(&self, preferences: u32) {
        self.view
            .shared()
            .preferences
            .store(preferences, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn return_credits(&mut self) {
        if self.cursor == self.view.end() {
            self.cursor = self.view.cells.as_ptr();
            self.lap = self.lap.wrapping_add(1);
        }
        self.plan_pause();
        self.payload_returned = self.payload_next;
        let index = self.view.index_of(self.lap, self.cursor);
        let consumed = u64::from(index) | u64::from(self.payload_next) << 32;
        // PAIRS: ring.consumed. Our reads of the consumed cells are complete before the sender sees this.
        self.view
            .shared()
            .consumed
            .store(consumed, Ordering::Release);
        self.credited = true;
    }

    /// Whether credits or blocks have gone back since the last call: the sender's doorbell must ring,
    /// because the sender may sleep until they do.
    #[inline(always)]
    pub const fn take_credited(&mut self) -> bool {
        std::mem::replace(&mut self.credited, false)
    }

    /// Pauses after a quarter of the ring, or at its end.
    fn plan_pause(&mut self) {
        let to_end = self.view.cell_count - self.view.offset_of(self.cursor);
        let cells = to_end.min((self.view.cell_count >> 2).max(1));
        self.pause = self.cursor.wrapping_add(cells as usize);
    }

    #[inline(always)]
    pub(super) fn cell(&self) -> &Cell {
        // SAFETY: the cursor is inside the cells (advance); the mapping outlives the ring (RingView::at).
        unsafe { &*self.cursor }
    }
}
