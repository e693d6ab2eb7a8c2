// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring: messages from one rank to one other, in order, without locks.
//!
//! A ring has one sender and one receiver. It is a power-of-two array of one-line cells beside a payload area. A
//! short message lies whole in its cell, so that one cache line carries header and data; a longer one puts its bytes
//! into the payload area, or into a block ([`blocks`]) if it is long, and only describes them in the cell.
//!
//! Who writes what: the sender alone writes cells and payload; the receiver alone writes `consumed`, `throttle` and
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
// LONG: both sides of one data structure, whose invariant spans them.

mod blocks;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ptr::NonNull;

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use blocks::{BLOCKS, Block, RETURNED_TOGETHER, Stack};

/// Bytes that fit into a cell beside its header.
pub const SHORT_BYTES: usize = 48;
/// 64-bit words of a cell's payload.
pub const SHORT_WORDS: usize = SHORT_BYTES / 8;
/// Granularity of the payload area: one cache line.
pub const PAYLOAD_LINE: u32 = 64;
/// Longest piece that goes into the payload area while there are blocks, in bytes.
const AREA_PIECE_BYTES: u32 = if cfg!(loom) { 0 } else { 2 << 10 };
/// Longest piece that goes into the payload area when no block is left; longer ones wait for one.
const FALLBACK_BYTES: u32 = 8 << 10;
/// Bytes of a block beyond the longest piece, so that pieces can be shifted.
const BLOCK_SLACK: u32 = 128;
/// Blocks that are as large as a payload area.
const BLOCKS_AN_AREA: u32 = 8;

/// One message, or the description of one. One cache line.
#[repr(C, align(64))]
pub struct Cell {
    /// Lap (32 bits), kind (8), length (8), auxiliary (16), from low to high.
    head: AtomicU64,
    /// Context id and tag.
    match_word: AtomicU64,
    /// Data, or arguments of the kind.
    words: [AtomicU64; SHORT_WORDS],
}

/// What the receiver tells the sender. One cache line, seldom written.
#[repr(C, align(64))]
pub struct RingShared {
    /// Cells consumed (low half) and payload position consumed (high half), both wrapping.
    consumed: AtomicU64,
    /// 1 while the receiver holds too many unexpected bytes of this sender.
    throttle: AtomicU32,
    /// One bit for each block, flipped when the block goes back to the sender.
    returned: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Cell>() == 64);
    assert!(size_of::<RingShared>() == 64);
};

/// Where a ring lies and how large it is; the same for both sides.
#[derive(Clone, Copy)]
pub struct RingPlace {
    /// The receiver's line.
    pub shared: NonNull<RingShared>,
    /// The first cell.
    pub cells: NonNull<Cell>,
    /// The payload area.
    pub payload: NonNull<u8>,
    /// The pool of blocks.
    pub pool: NonNull<u8>,
    /// Number of cells, a power of two.
    pub cell_count: u32,
    /// Bytes of the payload area, a power of two, at least eight lines.
    pub payload_bytes: u32,
}

/// Where a piece lies: what a cell says of it.
pub type PiecePlace = u64;

impl RingPlace {
    /// Bytes that a ring of these sizes needs.
    pub const fn bytes(cell_count: u32, payload_bytes: u32) -> u64 {
        let stride = Self::block_bytes_of(payload_bytes) as u64 + BLOCK_SLACK as u64;
        let pool = BLOCKS as u64 * stride;
        64 + 64 * cell_count as u64 + payload_bytes as u64 + pool
    }

    /// Bytes of a block of a ring whose payload area has `payload_bytes` bytes.
    pub const fn block_bytes_of(payload_bytes: u32) -> u32 {
        payload_bytes / BLOCKS_AN_AREA
    }

    /// Bytes of a block.
    const fn block_bytes(&self) -> u32 {
        Self::block_bytes_of(self.payload_bytes)
    }

    /// The ring that starts at `base`.
    ///
    /// # Safety
    /// `base` is line-aligned and starts [`RingPlace::bytes`] bytes that stay mapped while a side of the ring exists,
    /// were zero when the ring was made, and are used by one sender and one receiver only.
    pub const unsafe fn at(base: NonNull<u8>, cell_count: u32, payload_bytes: u32) -> Self {
        // SAFETY: inside the range that the caller promises.
        let (cells, payload) = unsafe { (base.add(64), base.add(64 + 64 * cell_count as usize)) };
        // SAFETY: as above; the pool follows the payload area.
        let pool = unsafe { payload.add(payload_bytes as usize) };
        Self {
            shared: base.cast(),
            cells: cells.cast(),
            payload,
            pool,
            cell_count,
            payload_bytes,
        }
    }

    /// The block of a pool that starts at `pool` and has this ring's sizes.
    const fn block(&self, pool: NonNull<u8>, block: Block) -> NonNull<u8> {
        // SAFETY: a block's index is below BLOCKS, and a pool has that many blocks (RingPlace::at; all pools are alike).
        unsafe { pool.add((block.index as u32 * (self.block_bytes() + BLOCK_SLACK)) as usize) }
    }

    /// One past the last cell.
    const fn end(&self) -> *mut Cell {
        self.cells.as_ptr().wrapping_add(self.cell_count as usize)
    }

    /// Cells between the first one and `cursor`.
    fn offset_of(&self, cursor: *const Cell) -> u32 {
        ((cursor as usize - self.cells.as_ptr() as usize) / size_of::<Cell>()) as u32
    }

    /// Index, counted from the ring's first cell on and wrapping, of the cell at `cursor` in a lap.
    fn index_of(&self, lap: u32, cursor: *const Cell) -> u32 {
        lap.wrapping_sub(1)
            .wrapping_mul(self.cell_count)
            .wrapping_add(self.offset_of(cursor))
    }

    /// Cells before the one at `cursor` in a lap, from the ring's first one on; for counters, which may start anew after
    /// 2^32 laps.
    fn cells_before(&self, lap: u64, cursor: *const Cell) -> u64 {
        lap.wrapping_sub(1)
            .wrapping_mul(u64::from(self.cell_count))
            .wrapping_add(u64::from(self.offset_of(cursor)))
    }

    fn shared(&self) -> &RingShared {
        // SAFETY: `shared` points into the mapping (RingPlace::at); all fields are atomics.
        unsafe { self.shared.as_ref() }
    }
}

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
        if bytes > AREA_PIECE_BYTES && self.fits_a_block(bytes) {
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

    /// Notes that the payload at `place` has been copied out. The next [`Self::advance`] may return room of the payload area;
    /// a block is kept for `way_back`, the ring to the same peer, or goes home.
    pub fn release_payload(&mut self, place: PiecePlace, bytes: u32, way_back: &mut RingSender) {
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

/// Stores `bytes` bytes at `source` into a cell's data.
///
/// # Safety
/// `source` is readable for `bytes` bytes, `bytes <= SHORT_BYTES`, and nobody else touches the cell's data meanwhile.
#[cfg(not(loom))]
#[inline(always)]
unsafe fn store_data(words: &[AtomicU64; SHORT_WORDS], source: *const u8, bytes: usize) {
    // SAFETY: the caller's promise; atomics may be written through a shared reference, and here without a race.
    unsafe { copy_small(source, words.as_ptr().cast_mut().cast(), bytes) };
}

/// Copies a cell's data to `target`.
///
/// # Safety
/// `target` is writable for `bytes` bytes, `bytes <= SHORT_BYTES`, and the cell is published and not consumed.
#[cfg(not(loom))]
#[inline(always)]
unsafe fn load_data(words: &[AtomicU64; SHORT_WORDS], target: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_small(words.as_ptr().cast(), target, bytes) };
}

/// [`store_data`] for the model checker, which must see every access: word by word.
///
/// # Safety
/// As above.
#[cfg(loom)]
unsafe fn store_data(words: &[AtomicU64; SHORT_WORDS], source: *const u8, bytes: usize) {
    let mut data = [0u64; SHORT_WORDS];
    // SAFETY: the caller's promise.
    unsafe { copy_small(source, data.as_mut_ptr().cast(), bytes) };
    for (word, &value) in words.iter().zip(&data).take(bytes.div_ceil(8)) {
        word.store(value, Ordering::Relaxed);
    }
}

/// [`load_data`] for the model checker.
///
/// # Safety
/// As above.
#[cfg(loom)]
unsafe fn load_data(words: &[AtomicU64; SHORT_WORDS], target: *mut u8, bytes: usize) {
    let mut data = [0u64; SHORT_WORDS];
    for (value, word) in data.iter_mut().zip(words).take(bytes.div_ceil(8)) {
        *value = word.load(Ordering::Relaxed);
    }
    // SAFETY: the caller's promise.
    unsafe { copy_small(data.as_ptr().cast(), target, bytes) };
}

/// Copies up to [`SHORT_BYTES`] bytes without a call or a loop: two overlapping pieces cover any length of their class.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes, `bytes <= SHORT_BYTES`, and they do not overlap.
#[inline(always)]
unsafe fn copy_small(source: *const u8, target: *mut u8, bytes: usize) {
    /// Copies one piece at `offset`.
    #[inline(always)]
    unsafe fn piece<T: Copy>(source: *const u8, target: *mut u8, offset: usize) {
        // SAFETY: the caller chose an offset at which a `T` lies inside both.
        unsafe {
            target
                .add(offset)
                .cast::<T>()
                .write_unaligned(source.add(offset).cast::<T>().read_unaligned());
        }
    }
    // SAFETY: each piece lies inside the `bytes` bytes by the arm or branch it stands in.
    unsafe {
        // Compares, not a match: a jump table costs more than the commonest lengths need.
        if bytes == 8 {
            piece::<u64>(source, target, 0);
        } else if bytes == 1 {
            piece::<u8>(source, target, 0);
        } else if bytes == 4 {
            piece::<u32>(source, target, 0);
        } else if bytes >= 16 {
            piece::<[u64; 2]>(source, target, 0);
            if bytes > 32 {
                piece::<[u64; 2]>(source, target, 16);
            }
            piece::<[u64; 2]>(source, target, bytes - 16);
        } else if bytes > 8 {
            piece::<u64>(source, target, 0);
            piece::<u64>(source, target, bytes - 8);
        } else if bytes > 4 {
            piece::<u32>(source, target, 0);
            piece::<u32>(source, target, bytes - 4);
        } else if bytes != 0 {
            piece::<u16>(source, target, 0);
            piece::<u8>(source, target, bytes - 1);
        }
    }
}
