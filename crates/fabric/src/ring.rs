// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring: messages from one rank to another one, in order, without locks.
//!
//! A ring has one sender and one receiver. It is a power-of-two array of one-line cells beside a
//! payload area. A message of up to [`SHORT_BYTES`] lies in its cell, so that one cache line
//! carries header and data. The bytes of a longer one lie in the payload area, or in a block
//! ([`blocks`]), and its cell describes them.
//!
//! Writers: the sender alone writes cells and payload; the receiver alone writes `consumed`,
//! `throttle`, `preferences` and `returned`.
//!
//! Invariant: the sender writes a cell in lap `n` only after the receiver has consumed it in lap
//! `n - 1`, and payload position `p` only after the receiver has consumed position
//! `p - payload_bytes`.
//!
//! A new cell has the number of the present lap in the low half of its head word, so no shared
//! index moves with a message. Laps count from 1 and fresh memory holds 0. The same cell held one
//! less a lap before, so the wrap-around at 2^32 is harmless.
//!
//! Credits return lazily, a quarter of a ring at a time. Each side walks with a pointer up to a
//! limit: the sender to the end of its credits or of the ring, the receiver to the cell where it
//! returns credits or to the end of the ring.
//!
//! A sender that dies between two steps leaves a cell of an old lap: the message never existed. A
//! receiver that dies leaves a ring that fills up.
//!
//! Cells are untrusted: the receiver checks lengths and positions before they become addresses.

mod blocks;
mod chunks;
mod data;
#[cfg(all(test, loom))]
mod models;
mod place;
mod private;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;

use blocks::Stack;
pub use data::hand_over;
use data::{load_data, store_data};
pub use place::{Cell, ChunkPlace, RingPlace, RingShared};
use private::RingMemory;
pub use private::{CellContents, private_ring};
use sys::sync::Ordering;

/// Bytes that fit into a cell beside its header.
pub const SHORT_BYTES: usize = 48;
/// 64-bit words of a cell's payload.
pub const SHORT_WORDS: usize = SHORT_BYTES / 8;
/// Granularity of the payload area: one cache line.
pub const PAYLOAD_LINE: u32 = 64;
/// Bytes of a block beyond the longest chunk: room to align chunks.
const BLOCK_SLACK: u32 = 128;
/// Blocks that are as large as a payload area.
const BLOCKS_AN_AREA: u32 = 8;

/// The sending side of a ring: the fields of the fast path. All-zero is a sender without a ring.
#[repr(C)]
pub struct RingSender {
    /// The cell to write next.
    cursor: *mut Cell,
    /// The end of the credits or of the ring. Equal to `cursor`: no credit.
    limit: *mut Cell,
    /// The present lap, 1 or more; below 2^32.
    lap: u64,
    back: Option<Box<Back>>,
}

/// The fields of a sender's slow path.
struct Back {
    place: RingPlace,
    /// Position of the next chunk in the payload area. The area is known to be free from there up
    /// to `payload_limit`, without a break.
    payload_next: u32,
    payload_limit: u32,
    payload_consumed: u32,
    blocks: Stack,
    /// Whether a chunk has come from the peer since this rank sent the last one.
    answers: bool,
    /// Whether no receiver exists and cells are overwritten ([`RingSender::forgetting`]).
    forgets: bool,
    /// The memory of a private ring.
    _memory: Option<Arc<RingMemory>>,
}

// SAFETY: the pointers lead into a mapping that outlives the ring (RingPlace::at); one side is used by one thread at a
// time because its methods take `&mut self`.
unsafe impl Send for RingSender {}

impl RingSender {
    /// The sender of a fresh ring.
    pub fn new(place: RingPlace) -> Self {
        Self::with_memory(place, None)
    }

    /// The sender of a fresh ring whose memory it keeps.
    fn with_memory(place: RingPlace, memory: Option<Arc<RingMemory>>) -> Self {
        let blocks = match place.pool {
            Some(_) => Stack::full(),
            None => Stack::empty(),
        };
        Self {
            cursor: place.cells.as_ptr(),
            limit: place.end(),
            lap: 1,
            back: Some(Box::new(Back {
                place,
                payload_next: 0,
                payload_limit: place.payload_bytes,
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
            .map_or(0, |back| back.place.cells_before(self.lap, self.cursor))
    }

    /// Largest chunk that the payload area takes, in bytes. A quarter of the area: the bytes skipped
    /// at its end, the chunk, and the room not yet returned (a quarter each) always fit together.
    pub fn largest_payload(&self) -> u32 {
        self.back
            .as_ref()
            .map_or(0, |back| back.place.payload_bytes / 4)
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
        let place = back.place;
        if self.cursor == place.end() {
            self.cursor = place.cells.as_ptr();
            self.lap = u64::from((self.lap as u32).wrapping_add(1));
        }
        if back.forgets {
            self.limit = place.end();
            back.payload_consumed = back.payload_next;
            return true;
        }
        // PAIRS: ring.consumed. The receiver's reads of a cell happen before we overwrite it.
        let consumed = place.shared().consumed.load(Ordering::Acquire);
        let in_flight = place
            .index_of(self.lap as u32, self.cursor)
            .wrapping_sub(consumed as u32);
        // A receiver that claims to have consumed cells which were never sent gets no credit.
        let credits = place.cell_count.saturating_sub(in_flight);
        let to_end = place.cell_count - place.offset_of(self.cursor);
        // SAFETY: at most the end of the cells, by `to_end`.
        self.limit = unsafe { self.cursor.add(credits.min(to_end) as usize) };
        back.payload_consumed = (consumed >> 32) as u32;
        // PAIRS: ring.returned. The receiver's reads of a block happen before we overwrite it.
        let returned = place.shared().returned.load(Ordering::Acquire);
        back.blocks.take_returned(returned);
        credits != 0
    }

    /// Whether the receiver asks for rendezvous instead of eager messages.
    pub fn is_throttled(&self) -> bool {
        self.back
            .as_ref()
            .is_some_and(|back| back.place.shared().throttle.load(Ordering::Relaxed) != 0)
    }

    /// The last value of [`RingReceiver::set_preferences`].
    pub fn preferences(&self) -> u32 {
        self.back.as_ref().map_or(0, |back| {
            back.place.shared().preferences.load(Ordering::Relaxed)
        })
    }

    /// Publishes `bytes` bytes at `source` inside one cell.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes, `bytes <= SHORT_BYTES`, and [`Self::has_credit`] holds.
    // TIER: short
    #[inline(always)]
    pub unsafe fn put_short(&mut self, kind: u8, match_word: u64, source: *const u8, bytes: usize) {
        debug_assert!(bytes <= SHORT_BYTES && self.has_credit());
        // SAFETY: a credit means that the cell at the cursor is ours to write, inside the ring.
        let cell = unsafe { &*self.cursor };
        cell.match_word.store(match_word, Ordering::Relaxed);
        // SAFETY: the caller makes `source` readable for `bytes` bytes, `bytes <= SHORT_BYTES`; the
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
        words: &[u64; SHORT_WORDS],
        bytes: usize,
    ) -> bool {
        if !self.has_credit() && !self.refresh() {
            return false;
        }
        // SAFETY: a credit is there, and `words` is readable for SHORT_BYTES bytes.
        unsafe {
            self.put_short(
                kind,
                match_word,
                words.as_ptr().cast(),
                bytes.min(SHORT_BYTES),
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
        const { assert!(N <= SHORT_WORDS) };
        if !self.has_credit() && !self.refresh() {
            return false;
        }
        // SAFETY: as in put_short.
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
    fn publish(&mut self, cell: &Cell, kind: u8, length: u8, aux: u16) {
        let head =
            self.lap | u64::from(kind) << 32 | u64::from(length) << 40 | u64::from(aux) << 48;
        // PAIRS: ring.published. Everything stored in the cell and the payload is visible with the head.
        cell.head.store(head, Ordering::Release);
        // SAFETY: the cursor was below `limit`, which is at most the end of the cells.
        self.cursor = unsafe { self.cursor.add(1) };
    }
}

/// Head of an arrived cell.
#[derive(Clone, Copy, Debug)]
pub struct Arrival(u64);

impl Arrival {
    /// The cell's kind; the engine defines the kinds.
    #[inline(always)]
    pub const fn kind(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// Bytes of data in the cell, clamped to [`SHORT_BYTES`]: the sender is not trusted.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        let bytes = (self.0 >> 40) as u8 as usize;
        if bytes > SHORT_BYTES {
            SHORT_BYTES
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
    cursor: *const Cell,
    /// The cell at which credits return, at the latest the end of the ring.
    pause: *const Cell,
    /// The present lap.
    lap: u32,
    payload_next: u32,
    payload_returned: u32,
    /// The next value of the shared word `returned`, and how many of its flips are not written yet.
    returned: u64,
    unsaid: u32,
    /// Whether credits or blocks have gone back since [`Self::take_credited`]; the sender may sleep
    /// until they do.
    credited: bool,
    place: RingPlace,
    /// The memory of a private ring.
    _memory: Option<Arc<RingMemory>>,
}

// SAFETY: as for RingSender.
unsafe impl Send for RingReceiver {}

impl RingReceiver {
    /// The receiver of a fresh ring.
    pub fn new(place: RingPlace) -> Self {
        Self::with_memory(place, None)
    }

    /// The receiver of a fresh ring whose memory it keeps.
    fn with_memory(place: RingPlace, memory: Option<Arc<RingMemory>>) -> Self {
        let mut receiver = Self {
            cursor: place.cells.as_ptr(),
            pause: std::ptr::null(),
            lap: 1,
            payload_next: 0,
            payload_returned: 0,
            returned: 0,
            unsaid: 0,
            credited: false,
            place,
            _memory: memory,
        };
        receiver.plan_pause();
        receiver
    }

    /// Cells consumed so far.
    pub fn consumed(&self) -> u64 {
        self.place.cells_before(u64::from(self.lap), self.cursor)
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
    /// `target` is writable for `bytes` bytes and `bytes <= SHORT_BYTES`.
    // TIER: short
    #[inline(always)]
    pub unsafe fn copy_short(&self, target: *mut u8, bytes: usize) {
        // SAFETY: the caller makes `target` writable for `bytes` bytes, `bytes <= SHORT_BYTES`; the
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
        self.place
            .shared()
            .throttle
            .store(u32::from(on), Ordering::Relaxed);
    }

    /// Tells the sender which messages this rank would rather copy itself; the engine defines the
    /// bits.
    pub fn set_preferences(&self, preferences: u32) {
        self.place
            .shared()
            .preferences
            .store(preferences, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn return_credits(&mut self) {
        if self.cursor == self.place.end() {
            self.cursor = self.place.cells.as_ptr();
            self.lap = self.lap.wrapping_add(1);
        }
        self.plan_pause();
        self.payload_returned = self.payload_next;
        let index = self.place.index_of(self.lap, self.cursor);
        let consumed = u64::from(index) | u64::from(self.payload_next) << 32;
        // PAIRS: ring.consumed. Our reads of the consumed cells are complete before the sender sees this.
        self.place
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
        let to_end = self.place.cell_count - self.place.offset_of(self.cursor);
        let cells = to_end.min((self.place.cell_count >> 2).max(1));
        self.pause = self.cursor.wrapping_add(cells as usize);
    }

    #[inline(always)]
    fn cell(&self) -> &Cell {
        // SAFETY: the cursor is inside the cells (advance); the mapping outlives the ring (RingPlace::at).
        unsafe { &*self.cursor }
    }
}
