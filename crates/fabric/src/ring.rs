// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring: messages from one rank to one other, in order, without locks.
//!
//! A ring has one sender and one receiver. It is a power-of-two array of one-line cells beside a payload area. A
//! short message lies whole in its cell, so that one cache line carries header and data; a longer one puts its bytes
//! into the payload area and only describes them in the cell.
//!
//! Who writes what: the sender alone writes cells and payload; the receiver alone writes `consumed` and `throttle`.
//! Invariant: cell `i & mask` may be written for index `i` only when the receiver has consumed index `i - cells`, and
//! payload position `p` only when it has consumed position `p - payload_bytes`. The receiver recognises cell `i` by the
//! sequence number `i + 1` in the low half of its head word, so no shared index moves with a message; a lap earlier
//! the same cell held `i + 1 - cells`, so the 32-bit wrap-around cannot be mistaken. Consumed indices return lazily, a
//! quarter of a ring at a time.
//! A sender that dies between two steps leaves a cell with an old sequence number: the message never existed. A
//! receiver that dies leaves a ring that fills up.
//!
//! The receiver trusts nothing it reads here: lengths and positions are checked before they become addresses.
// LONG: both sides of one data structure, whose invariant spans them.

use std::ptr::NonNull;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Bytes that fit into a cell beside its header.
pub const SHORT_BYTES: usize = 48;
/// 64-bit words of a cell's payload.
pub const SHORT_WORDS: usize = SHORT_BYTES / 8;
/// Granularity of the payload area: one cache line.
pub const PAYLOAD_LINE: u32 = 64;

/// One message, or the description of one. One cache line.
#[repr(C, align(64))]
pub struct Cell {
    /// Sequence number (32 bits), kind (8), length (8), auxiliary (16), from low to high.
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
}

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
    /// Number of cells, a power of two.
    pub cell_count: u32,
    /// Bytes of the payload area, a power of two, at least two lines.
    pub payload_bytes: u32,
}

impl RingPlace {
    /// Bytes that a ring of these sizes needs.
    pub const fn bytes(cell_count: u32, payload_bytes: u32) -> u64 {
        64 + 64 * cell_count as u64 + payload_bytes as u64
    }

    /// The ring that starts at `base`.
    ///
    /// # Safety
    /// `base` is line-aligned and starts [`RingPlace::bytes`] bytes that stay mapped while a side of the ring exists,
    /// were zero when the ring was made, and are used by one sender and one receiver only.
    pub const unsafe fn at(base: NonNull<u8>, cell_count: u32, payload_bytes: u32) -> Self {
        // SAFETY: inside the range that the caller promises.
        let (cells, payload) = unsafe { (base.add(64), base.add(64 + 64 * cell_count as usize)) };
        Self {
            shared: base.cast(),
            cells: cells.cast(),
            payload,
            cell_count,
            payload_bytes,
        }
    }
}

/// A message's length as payload lines.
const fn line_bytes(bytes: u32) -> u32 {
    bytes.next_multiple_of(PAYLOAD_LINE)
}

/// The sending side of a ring.
pub struct RingSender {
    cells: NonNull<Cell>,
    /// Cells that may be written without looking at `consumed`.
    credits: u32,
    /// Index of the next cell, wrapping.
    next: u32,
    mask: u32,
    payload_next: u32,
    payload_consumed: u32,
    payload_bytes: u32,
    payload: NonNull<u8>,
    shared: NonNull<RingShared>,
}

// SAFETY: the pointers lead into a mapping that outlives the ring (RingPlace::at); one side is used by one thread at a
// time because its methods take `&mut self`.
unsafe impl Send for RingSender {}

impl RingSender {
    /// The sender of a fresh ring.
    pub const fn new(place: RingPlace) -> Self {
        Self {
            cells: place.cells,
            credits: place.cell_count,
            next: 0,
            mask: place.cell_count - 1,
            payload_next: 0,
            payload_consumed: 0,
            payload_bytes: place.payload_bytes,
            payload: place.payload,
            shared: place.shared,
        }
    }

    /// A sender without a ring: it never has a credit.
    pub const fn unconnected() -> Self {
        Self {
            cells: NonNull::dangling(),
            credits: 0,
            next: 0,
            mask: 0,
            payload_next: 0,
            payload_consumed: 0,
            payload_bytes: 0,
            payload: NonNull::dangling(),
            shared: NonNull::dangling(),
        }
    }

    /// Whether a ring is behind this sender.
    pub const fn is_connected(&self) -> bool {
        self.payload_bytes != 0
    }

    /// Cells published so far, wrapping.
    pub const fn published(&self) -> u32 {
        self.next
    }

    /// Largest message that the payload area takes at once, in bytes. A quarter: what is skipped at the end, the message,
    /// and what the receiver has not returned yet (each up to a quarter) always fit together.
    pub const fn largest_payload(&self) -> u32 {
        self.payload_bytes / 4
    }

    /// Whether a cell may be written without looking at the receiver's line.
    // TIER: short
    #[inline(always)]
    pub const fn has_credit(&self) -> bool {
        self.credits != 0
    }

    /// Reads the receiver's line; true when a cell may be written now.
    #[cold]
    pub fn refresh(&mut self) -> bool {
        if !self.is_connected() {
            return false;
        }
        // PAIRS: ring.consumed. The receiver's reads of a cell happen before we overwrite it.
        let consumed = self.shared().consumed.load(Ordering::Acquire);
        let in_flight = self.next.wrapping_sub(consumed as u32);
        // A receiver that claims to have consumed what was never sent gets no credit.
        self.credits = (self.mask + 1).saturating_sub(in_flight);
        self.payload_consumed = (consumed >> 32) as u32;
        self.credits != 0
    }

    /// Whether the receiver asks for descriptions instead of data.
    pub fn is_throttled(&self) -> bool {
        self.is_connected() && self.shared().throttle.load(Ordering::Relaxed) != 0
    }

    /// Publishes `bytes` bytes at `source` inside one cell.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes, `bytes <= SHORT_BYTES`, and [`Self::has_credit`] holds.
    // TIER: short
    #[inline(always)]
    pub unsafe fn put_short(&mut self, kind: u8, match_word: u64, source: *const u8, bytes: usize) {
        debug_assert!(bytes <= SHORT_BYTES && self.credits != 0);
        // SAFETY: a credit means that the masked index is ours to write; it is below the cell count.
        let cell = unsafe { self.cells.add((self.next & self.mask) as usize).as_ref() };
        cell.match_word.store(match_word, Ordering::Relaxed);
        // SAFETY: the caller's promise about `source`.
        unsafe { store_words(&cell.words, source, bytes) };
        self.publish(cell, kind, bytes as u8, 0);
    }

    /// [`Self::put_short`] for a length that [`is_simple`]: no call, so that the caller needs no stack frame.
    ///
    /// # Safety
    /// As for [`Self::put_short`], and [`is_simple`] holds.
    // TIER: short
    #[inline(always)]
    pub unsafe fn put_simple(
        &mut self,
        kind: u8,
        match_word: u64,
        source: *const u8,
        bytes: usize,
    ) {
        debug_assert!(bytes <= SHORT_BYTES && self.credits != 0 && is_simple(bytes));
        // SAFETY: a credit means that the masked index is ours to write; it is below the cell count.
        let cell = unsafe { self.cells.add((self.next & self.mask) as usize).as_ref() };
        cell.match_word.store(match_word, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { store_simple(&cell.words, source, bytes) };
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
        if self.credits == 0 && !self.refresh() {
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
        self.credits = 0;
    }

    /// Publishes a cell whose data are `words`; false when there is no credit.
    #[must_use]
    pub fn put_words(&mut self, kind: u8, aux: u16, match_word: u64, words: &[u64]) -> bool {
        if self.credits == 0 && !self.refresh() {
            return false;
        }
        // SAFETY: as in put_short.
        let cell = unsafe { self.cells.add((self.next & self.mask) as usize).as_ref() };
        cell.match_word.store(match_word, Ordering::Relaxed);
        for (slot, &word) in cell.words.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.publish(cell, kind, (words.len().min(SHORT_WORDS) * 8) as u8, aux);
        true
    }

    /// Room for `bytes` bytes of payload and for the cell that will describe them: where they go, and the position to
    /// put into the cell. `None` while the ring is too full, or when `bytes` exceeds [`Self::largest_payload`].
    pub fn reserve(&mut self, bytes: u32) -> Option<(NonNull<u8>, u32)> {
        if bytes > self.largest_payload() || (self.credits == 0 && !self.refresh()) {
            return None;
        }
        let needed = line_bytes(bytes);
        let offset = self.payload_next & (self.payload_bytes - 1);
        let skip = if offset + needed > self.payload_bytes {
            self.payload_bytes - offset
        } else {
            0
        };
        let position = self.payload_next.wrapping_add(skip);
        let end = position.wrapping_add(needed);
        if end.wrapping_sub(self.payload_consumed) > self.payload_bytes {
            self.refresh();
            if end.wrapping_sub(self.payload_consumed) > self.payload_bytes || self.credits == 0 {
                return None;
            }
        }
        self.payload_next = end;
        // SAFETY: the masked position plus `needed` lies inside the payload area by the choice of `skip`.
        let target = unsafe {
            self.payload
                .add((position & (self.payload_bytes - 1)) as usize)
        };
        Some((target, position))
    }

    fn shared(&self) -> &RingShared {
        debug_assert!(self.is_connected());
        // SAFETY: connected, so `shared` points into the mapping (RingPlace::at); all fields are atomics.
        unsafe { self.shared.as_ref() }
    }

    // TIER: short
    #[inline(always)]
    fn publish(&mut self, cell: &Cell, kind: u8, length: u8, aux: u16) {
        self.next = self.next.wrapping_add(1);
        self.credits -= 1;
        let head = u64::from(self.next)
            | u64::from(kind) << 32
            | u64::from(length) << 40
            | u64::from(aux) << 48;
        // PAIRS: ring.published. Everything stored in the cell and the payload is visible with the head.
        cell.head.store(head, Ordering::Release);
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
    cells: NonNull<Cell>,
    /// Index of the next cell to read, wrapping.
    next: u32,
    mask: u32,
    /// `next` when credits were last returned.
    returned: u32,
    payload_next: u32,
    payload_returned: u32,
    payload_bytes: u32,
    payload: NonNull<u8>,
    shared: NonNull<RingShared>,
}

// SAFETY: as for RingSender.
unsafe impl Send for RingReceiver {}

impl RingReceiver {
    /// The receiver of a fresh ring.
    pub const fn new(place: RingPlace) -> Self {
        Self {
            cells: place.cells,
            next: 0,
            mask: place.cell_count - 1,
            returned: 0,
            payload_next: 0,
            payload_returned: 0,
            payload_bytes: place.payload_bytes,
            payload: place.payload,
            shared: place.shared,
        }
    }

    /// The next message, if it has arrived.
    // TIER: short
    #[inline(always)]
    pub fn peek(&self) -> Option<Arrival> {
        // PAIRS: ring.published. Seeing the sequence number makes the cell and its payload visible.
        let head = self.cell().head.load(Ordering::Acquire);
        (head as u32 == self.next.wrapping_add(1)).then_some(Arrival(head))
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
        unsafe { load_words(&self.cell().words, target, bytes) };
    }

    /// The payload at `position` that the peeked cell describes; `None` when the sender's numbers are impossible.
    pub fn payload(&self, position: u32, bytes: u32) -> Option<NonNull<u8>> {
        let offset = position & (self.payload_bytes - 1);
        let fits = bytes <= self.payload_bytes && offset <= self.payload_bytes - bytes;
        // SAFETY: inside the payload area by the comparison.
        fits.then(|| unsafe { self.payload.add(offset as usize) })
    }

    /// Notes that the payload at `position` has been copied out; the next [`Self::advance`] may return it.
    pub const fn release_payload(&mut self, position: u32, bytes: u32) {
        self.payload_next = position.wrapping_add(line_bytes(bytes));
    }

    /// Consumes the peeked cell.
    // TIER: short
    #[inline(always)]
    pub fn advance(&mut self) {
        self.next = self.next.wrapping_add(1);
        let cells = self.next.wrapping_sub(self.returned);
        let payload = self.payload_next.wrapping_sub(self.payload_returned);
        if cells > self.mask >> 2 || payload > self.payload_bytes >> 2 {
            self.return_credits();
        }
    }

    /// Tells the sender to describe messages instead of sending data, or to stop doing so.
    pub fn set_throttle(&self, on: bool) {
        self.shared()
            .throttle
            .store(u32::from(on), Ordering::Relaxed);
    }

    #[cold]
    fn return_credits(&mut self) {
        self.returned = self.next;
        self.payload_returned = self.payload_next;
        let consumed = u64::from(self.next) | u64::from(self.payload_next) << 32;
        // PAIRS: ring.consumed. Our reads of the consumed cells are complete before the sender sees this.
        self.shared().consumed.store(consumed, Ordering::Release);
    }

    #[inline(always)]
    fn cell(&self) -> &Cell {
        // SAFETY: the masked index is below the cell count; the mapping outlives the ring (RingPlace::at).
        unsafe { self.cells.add((self.next & self.mask) as usize).as_ref() }
    }

    fn shared(&self) -> &RingShared {
        // SAFETY: `shared` points into the mapping (RingPlace::at); all fields are atomics.
        unsafe { self.shared.as_ref() }
    }
}

/// Stores `bytes` bytes at `source` into words, the last one zero-padded, without reading past the source.
///
/// # Safety
/// `source` is readable for `bytes` bytes and `bytes <= SHORT_BYTES`.
#[inline(always)]
unsafe fn store_words(words: &[AtomicU64; SHORT_WORDS], source: *const u8, bytes: usize) {
    if is_simple(bytes) {
        // SAFETY: the caller's promise; the length is a simple one.
        unsafe { store_simple(words, source, bytes) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { store_words_any(words, source, bytes) };
    }
}

/// Lengths that [`store_simple`] copies without a call: 0, 1, 4 and whole words.
#[inline(always)]
pub const fn is_simple(bytes: usize) -> bool {
    bytes.is_multiple_of(8) || bytes == 1 || bytes == 4
}

/// [`store_words`] for simple lengths.
///
/// # Safety
/// As for [`store_words`], and [`is_simple`] holds.
#[inline(always)]
unsafe fn store_simple(words: &[AtomicU64; SHORT_WORDS], source: *const u8, bytes: usize) {
    // SAFETY: each arm reads the `bytes` readable bytes only (caller); unaligned reads are allowed.
    unsafe {
        match bytes {
            8 => words[0].store(source.cast::<u64>().read_unaligned(), Ordering::Relaxed),
            1 => words[0].store(u64::from(source.read()), Ordering::Relaxed),
            4 => words[0].store(
                u64::from(source.cast::<u32>().read_unaligned()),
                Ordering::Relaxed,
            ),
            _ => {
                for (index, word) in words.iter().enumerate().take(bytes / 8) {
                    word.store(
                        source.cast::<u64>().add(index).read_unaligned(),
                        Ordering::Relaxed,
                    );
                }
            }
        }
    }
}

/// [`store_words`] for any length.
///
/// # Safety
/// As for [`store_words`].
#[inline(never)]
unsafe fn store_words_any(words: &[AtomicU64; SHORT_WORDS], source: *const u8, bytes: usize) {
    let whole = bytes / 8;
    let rest = bytes % 8;
    for (index, word) in words.iter().enumerate().take(whole) {
        // SAFETY: word `index` lies whole inside the `bytes` readable bytes.
        word.store(
            unsafe { source.cast::<u64>().add(index).read_unaligned() },
            Ordering::Relaxed,
        );
    }
    if rest != 0 {
        // SAFETY: the `rest` bytes after the whole words are readable.
        words[whole].store(
            unsafe { read_part(source.add(8 * whole), rest) },
            Ordering::Relaxed,
        );
    }
}

/// Reads 1 to 7 bytes as the low bytes of a word: two overlapping reads instead of a loop.
///
/// # Safety
/// `source` is readable for `bytes` bytes, 1 to 7.
#[inline(always)]
unsafe fn read_part(source: *const u8, bytes: usize) -> u64 {
    // SAFETY: each read lies inside the `bytes` bytes by the branch taken.
    unsafe {
        if bytes >= 4 {
            let low = u64::from(source.cast::<u32>().read_unaligned());
            let high = u64::from(source.add(bytes - 4).cast::<u32>().read_unaligned());
            low | high << (8 * (bytes - 4))
        } else {
            let first = u64::from(source.read());
            let middle = u64::from(source.add(bytes / 2).read());
            let last = u64::from(source.add(bytes - 1).read());
            first | middle << (8 * (bytes / 2)) | last << (8 * (bytes - 1))
        }
    }
}

/// Copies words to `target`, exactly `bytes` bytes.
///
/// # Safety
/// `target` is writable for `bytes` bytes and `bytes <= SHORT_BYTES`.
#[inline(always)]
unsafe fn load_words(words: &[AtomicU64; SHORT_WORDS], target: *mut u8, bytes: usize) {
    if bytes == 8 {
        // SAFETY: eight bytes are writable; unaligned is allowed.
        unsafe {
            target
                .cast::<u64>()
                .write_unaligned(words[0].load(Ordering::Relaxed))
        };
        return;
    }
    let whole = bytes / 8;
    let rest = bytes % 8;
    for (index, word) in words.iter().enumerate().take(whole) {
        // SAFETY: word `index` lies whole inside the `bytes` writable bytes.
        unsafe {
            target
                .cast::<u64>()
                .add(index)
                .write_unaligned(word.load(Ordering::Relaxed))
        };
    }
    if rest != 0 {
        let tail = words[whole].load(Ordering::Relaxed).to_ne_bytes();
        // SAFETY: the `rest` bytes after the whole words are writable; the regions cannot overlap.
        unsafe { write_part(target.add(8 * whole), u64::from_ne_bytes(tail), rest) };
    }
}

/// Writes the low 1 to 7 bytes of a word.
///
/// # Safety
/// `target` is writable for `bytes` bytes, 1 to 7.
#[inline(always)]
unsafe fn write_part(target: *mut u8, word: u64, bytes: usize) {
    // SAFETY: each write lies inside the `bytes` bytes by the branch taken; overlapping writes store equal bytes.
    unsafe {
        if bytes >= 4 {
            target.cast::<u32>().write_unaligned(word as u32);
            target
                .add(bytes - 4)
                .cast::<u32>()
                .write_unaligned((word >> (8 * (bytes - 4))) as u32);
        } else {
            target.write(word as u8);
            target
                .add(bytes / 2)
                .write((word >> (8 * (bytes / 2))) as u8);
            target
                .add(bytes - 1)
                .write((word >> (8 * (bytes - 1))) as u8);
        }
    }
}
