// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring: messages from one rank to one other, in order, without locks.
//!
//! A ring has one sender and one receiver. It is a power-of-two array of one-line cells beside a payload area. A
//! short message lies whole in its cell, so that one cache line carries header and data; a longer one puts its bytes
//! into the payload area, or into a block ([`blocks`]) if it is long, and only describes them in the cell.
//!
//! Who writes what: the sender alone writes cells and payload; the receiver alone writes `consumed`, `throttle`, `wishes` and
//! `returned`.
//! Invariant: a cell may be written in lap `n` only when the receiver has consumed it in lap `n - 1`, and payload position
//! `p` only when it has consumed position `p - payload_bytes`. The receiver recognises a new cell by the number of the lap
//! in the low half of its head word (laps count from 1, fresh memory holds 0), so no shared index moves with a message; a
//! lap earlier the same cell held one less, so the 32-bit wrap-around cannot be mistaken. Consumed indices return
//! lazily, a quarter of a ring at a time. Each side walks with a pointer up to a limit where it has to think: the sender
//! where its credits or the ring end, the receiver where it returns credits or the ring ends.
//! A sender that dies between two steps leaves a cell of an old lap: the message never existed. A receiver that dies
//! leaves a ring that fills up.
//!
//! The receiver trusts nothing it reads here: lengths and positions are checked before they become addresses.

mod blocks;
mod data;
#[cfg(all(test, loom))]
mod models;
mod place;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ptr::NonNull;

use crate::sync::Ordering;
use blocks::{Block, RETURNED_TOGETHER, Stack};
pub use data::hand_over;
use data::{load_data, store_data};
pub use place::{Cell, PiecePlace, RingPlace, RingShared};

/// Bytes that fit into a cell beside its header.
pub const SHORT_BYTES: usize = 48;
/// 64-bit words of a cell's payload.
pub const SHORT_WORDS: usize = SHORT_BYTES / 8;
/// Granularity of the payload area: one cache line.
pub const PAYLOAD_LINE: u32 = 64;
/// Longest piece that goes into the payload area while there are blocks, in bytes.
const AREA_PIECE_BYTES: u32 = if cfg!(loom) { 0 } else { 2 << 10 };
/// The same for a piece that answers one: blocks are few, but who talks in turns needs no more.
const AREA_ANSWER_BYTES: u32 = if cfg!(loom) { 0 } else { 512 };
/// Longest piece that goes into the payload area when no block is left; longer ones wait for one.
const FALLBACK_BYTES: u32 = 8 << 10;
/// Bytes of a block beyond the longest piece, so that pieces can be shifted.
const BLOCK_SLACK: u32 = 128;
/// Blocks that are as large as a payload area.
const BLOCKS_AN_AREA: u32 = 8;

/// Where in a block that begins at `start` the bytes from `source` go: copies run fastest when both sides have the same
/// place in a cache line, but not the same in a page.
fn shift_for(start: NonNull<u8>, source: *const u8) -> usize {
    let shift = source as usize % 64;
    let target = start.as_ptr() as usize + shift;
    if target.wrapping_sub(source as usize).is_multiple_of(4096) {
        shift + 64
    } else {
        shift
    }
}

/// A message's length as payload lines.
const fn line_bytes(bytes: u32) -> u32 {
    bytes.next_multiple_of(PAYLOAD_LINE)
}

/// The sending side of a ring: what every message touches. All-zero is a sender without a ring.
#[repr(C)]
pub struct RingSender {
    /// The cell to write next.
    cursor: *mut Cell,
    /// Where to stop and think: the credits or the ring end here. Equal to `cursor`: no credit.
    limit: *mut Cell,
    /// The present lap, 1 or more; below 2^32.
    lap: u64,
    back: Option<Box<Back>>,
}

/// What the sender needs now and then.
struct Back {
    place: RingPlace,
    payload_next: u32,
    payload_consumed: u32,
    blocks: Stack,
    /// Whether a piece has come from the peer since the last one went there.
    answers: bool,
}

// SAFETY: the pointers lead into a mapping that outlives the ring (RingPlace::at); one side is used by one thread at a
// time because its methods take `&mut self`.
unsafe impl Send for RingSender {}

impl RingSender {
    /// The sender of a fresh ring.
    pub fn new(place: RingPlace) -> Self {
        Self {
            cursor: place.cells.as_ptr(),
            limit: place.end(),
            lap: 1,
            back: Some(Box::new(Back {
                place,
                payload_next: 0,
                payload_consumed: 0,
                blocks: Stack::full(),
                answers: false,
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

    /// Largest message that the payload area takes at once, in bytes. A quarter: what is skipped at the end, the message,
    /// and what the receiver has not returned yet (each up to a quarter) always fit together.
    pub fn largest_payload(&self) -> u32 {
        self.back
            .as_ref()
            .map_or(0, |back| back.place.payload_bytes / 4)
    }

    /// Whether a cell may be written without looking at the receiver's line.
    // TIER: short
    #[inline(always)]
    pub fn has_credit(&self) -> bool {
        self.cursor != self.limit
    }

    /// Starts a new lap if the ring ends here, and reads the receiver's line; true when a cell may be written now.
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
        // PAIRS: ring.consumed. The receiver's reads of a cell happen before we overwrite it.
        let consumed = place.shared().consumed.load(Ordering::Acquire);
        let in_flight = place
            .index_of(self.lap as u32, self.cursor)
            .wrapping_sub(consumed as u32);
        // A receiver that claims to have consumed what was never sent gets no credit.
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

    /// Whether the receiver asks for descriptions instead of data.
    pub fn is_throttled(&self) -> bool {
        self.back
            .as_ref()
            .is_some_and(|back| back.place.shared().throttle.load(Ordering::Relaxed) != 0)
    }

    /// What the receiver said last by [`RingReceiver::set_wishes`].
    pub fn wishes(&self) -> u32 {
        self.back
            .as_ref()
            .map_or(0, |back| back.place.shared().wishes.load(Ordering::Relaxed))
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
        // SAFETY: the caller's promise about `source`; the cell's data are ours until published.
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

    /// Gives up all credits until the next [`Self::refresh`]: what waits in order must not be overtaken.
    pub const fn withhold(&mut self) {
        self.limit = self.cursor;
    }

    /// Publishes a cell whose data are `words`; false when there is no credit.
    #[must_use]
    pub fn put_words(&mut self, kind: u8, aux: u16, match_word: u64, words: &[u64]) -> bool {
        if !self.has_credit() && !self.refresh() {
            return false;
        }
        // SAFETY: as in put_short.
        let cell = unsafe { &*self.cursor };
        cell.match_word.store(match_word, Ordering::Relaxed);
        for (slot, &word) in cell.words.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.publish(cell, kind, (words.len().min(SHORT_WORDS) * 8) as u8, aux);
        true
    }

    /// Room for `bytes` bytes of payload and for the cell that will describe them: where they go, and the place to put into
    /// the cell. `None` while the ring is too full, or when `bytes` exceeds [`Self::largest_payload`].
    pub fn reserve(&mut self, bytes: u32, source: *const u8) -> Option<(NonNull<u8>, PiecePlace)> {
        if bytes > self.largest_payload() || (!self.has_credit() && !self.refresh()) {
            return None;
        }
        let answers = self
            .back
            .as_mut()
            .is_some_and(|back| std::mem::take(&mut back.answers));
        let in_area = [AREA_PIECE_BYTES, AREA_ANSWER_BYTES][usize::from(answers)];
        if bytes > in_area && self.fits_a_block(bytes) {
            let found = self.reserve_block(source);
            if found.is_some() || bytes > FALLBACK_BYTES {
                return found;
            }
        }
        let (position, end) = self.back.as_ref()?.room(bytes);
        let fits =
            |back: &Back| end.wrapping_sub(back.payload_consumed) <= back.place.payload_bytes;
        if !(fits(self.back.as_ref()?) || self.refresh() && fits(self.back.as_ref()?)) {
            return None;
        }
        let back = self.back.as_mut()?;
        back.payload_next = end;
        let place = back.place;
        // SAFETY: the masked position plus the message lies inside the payload area by the choice of `room`.
        let target = unsafe {
            place
                .payload
                .add((position & (place.payload_bytes - 1)) as usize)
        };
        Some((target, PiecePlace::from(position)))
    }

    /// Whether a piece is not longer than blocks; in small rings some are, and go into the payload area.
    fn fits_a_block(&self, bytes: u32) -> bool {
        let back = self.back.as_ref();
        back.is_some_and(|back| bytes <= back.place.block_bytes())
    }

    /// A block, if one is left or has come back.
    fn reserve_block(&mut self, source: *const u8) -> Option<(NonNull<u8>, PiecePlace)> {
        let place = self.back.as_ref()?.place;
        let block = match self.back.as_mut()?.blocks.pop() {
            Some(block) => block,
            None if self.refresh() => self.back.as_mut()?.blocks.pop()?,
            None => return None,
        };
        let pool = if block.own {
            place.pool
        } else {
            self.back.as_ref()?.blocks.peer_pool?
        };
        let start = place.block(pool, block);
        let shift = shift_for(start, source);
        // SAFETY: a block is longer by more than the largest shift than the longest piece (BLOCK_SLACK).
        Some((unsafe { start.add(shift) }, block.place(shift)))
    }

    /// Notes that a piece has come from the peer.
    fn note_piece(&mut self) {
        if let Some(back) = self.back.as_mut() {
            back.answers = true;
        }
    }

    /// Takes over the block of a piece that `from` brought and that has been copied out; false when it should go home.
    fn adopt(&mut self, block: Block, from: &RingReceiver) -> bool {
        self.back
            .as_mut()
            .is_some_and(|back| back.blocks.adopt(block, from.place.pool))
    }

    /// The block of this side's pool that comes home with a piece.
    fn home(&self, block: Block) -> Option<NonNull<u8>> {
        self.back
            .as_ref()
            .map(|back| back.place.block(back.place.pool, block))
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

impl Back {
    /// Where the next `bytes` bytes of payload start, and the position behind them: what does not fit before the end of the
    /// area starts over.
    const fn room(&self, bytes: u32) -> (u32, u32) {
        let needed = line_bytes(bytes);
        let offset = self.payload_next & (self.place.payload_bytes - 1);
        let skip = if offset + needed > self.place.payload_bytes {
            self.place.payload_bytes - offset
        } else {
            0
        };
        let position = self.payload_next.wrapping_add(skip);
        (position, position.wrapping_add(needed))
    }
}

/// Head of an arrived cell.
#[derive(Clone, Copy, Debug)]
pub struct Arrival(u64);

impl Arrival {
    /// What the cell holds; the engine defines the kinds.
    #[inline(always)]
    pub const fn kind(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// Bytes of data in the cell, at most [`SHORT_BYTES`] whatever the sender wrote.
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
    /// Where credits are returned, at the latest at the end of the ring.
    pause: *const Cell,
    /// The present lap.
    lap: u32,
    payload_next: u32,
    payload_returned: u32,
    /// What `returned` is to be, and how many of its flips have not been written yet.
    returned: u64,
    unsaid: u32,
    /// Whether room has gone back that the sender may sleep for.
    credited: bool,
    place: RingPlace,
}

// SAFETY: as for RingSender.
unsafe impl Send for RingReceiver {}

impl RingReceiver {
    /// The receiver of a fresh ring.
    pub fn new(place: RingPlace) -> Self {
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
        // SAFETY: the caller's promise.
        unsafe { load_data(&self.cell().words, target, bytes) };
    }

    /// The payload at `place` that the peeked cell describes, where `way_back` is the ring to the same peer; `None` when the
    /// sender's numbers are impossible.
    pub fn payload(
        &self,
        place: PiecePlace,
        bytes: u32,
        way_back: &RingSender,
    ) -> Option<NonNull<u8>> {
        self.expect_next();
        if let Some(block) = Block::arrived(place) {
            let start = if block.own {
                way_back.home(block)
            } else {
                Some(self.place.block(self.place.pool, block))
            };
            let shift = Block::shift(place);
            let fits = bytes <= self.place.block_bytes() && shift < BLOCK_SLACK as usize;
            // SAFETY: inside the block by the comparison.
            return start
                .filter(|_| fits)
                .map(|start| unsafe { start.add(shift) });
        }
        let area = self.place.payload_bytes;
        let offset = u32::try_from(place).ok()? & (area - 1);
        let fits = bytes <= area && offset <= area - bytes;
        // SAFETY: inside the payload area by the comparison.
        fits.then(|| unsafe { self.place.payload.add(offset as usize) })
    }

    /// Asks for the line of the next cell, so that it comes while the payload of this one is copied: a sender that runs ahead
    /// has written it, and to fetch it afterwards costs as much as to copy 2 KiB.
    fn expect_next(&self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; it never faults, wherever the cells end.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.cursor.wrapping_add(1).cast());
        }
    }

    /// Notes that the payload at `place` has been copied out. The next [`Self::advance`] may return room of the payload area;
    /// a block is kept for `way_back`, the ring to the same peer, or goes home.
    pub fn release_payload(&mut self, place: PiecePlace, bytes: u32, way_back: &mut RingSender) {
        way_back.note_piece();
        if let Some(block) = Block::arrived(place) {
            if !way_back.adopt(block, self) && !block.own {
                self.returned ^= 1 << block.index;
                self.unsaid += 1;
                if self.unsaid == RETURNED_TOGETHER {
                    self.unsaid = 0;
                    self.credited = true;
                    // PAIRS: ring.returned. Our reads of the blocks are complete before the sender sees this.
                    self.place
                        .shared()
                        .returned
                        .store(self.returned, Ordering::Release);
                }
            }
            return;
        }
        self.payload_next = (place as u32).wrapping_add(line_bytes(bytes));
        if self.payload_next.wrapping_sub(self.payload_returned) > self.place.payload_bytes >> 2 {
            self.pause = self.cursor.wrapping_add(1);
        }
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

    /// Tells the sender to describe messages instead of sending data, or to stop doing so.
    pub fn set_throttle(&self, on: bool) {
        self.place
            .shared()
            .throttle
            .store(u32::from(on), Ordering::Relaxed);
    }

    /// Tells the sender which messages the receiver would rather read itself.
    pub fn set_wishes(&self, wishes: u32) {
        self.place.shared().wishes.store(wishes, Ordering::Relaxed);
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

    /// Whether room has gone back since this was asked last: the sender needs its doorbell if it sleeps for that.
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
