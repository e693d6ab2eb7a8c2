// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the bytes of longer messages lie: in the payload area, or in blocks ([`super::blocks`]).
#![expect(unsafe_code, reason = "a ring is memory of the node segment")]

use std::ptr::NonNull;

use super::blocks::{Block, RETURNED_TOGETHER};
use super::{BLOCK_SLACK, Back, Cell, ChunkLocation, PAYLOAD_LINE, RingReceiver, RingSender};
use sys::sync::Ordering;

/// Longest chunk that goes into the payload area while there are blocks, in bytes.
const AREA_CHUNK_BYTES: u32 = if cfg!(loom) { 0 } else { 2 << 10 };
/// Smallest payload area, in bytes: [`RingSender::reserve`] compares short chunks only with
/// [`AREA_CHUNK_BYTES`], which must not exceed [`RingSender::largest_payload`].
pub(super) const LEAST_PAYLOAD_BYTES: u32 = if cfg!(loom) { 512 } else { 8 << 10 };
const _: () = assert!(4 * AREA_CHUNK_BYTES <= LEAST_PAYLOAD_BYTES);
/// The same for a chunk that answers one: ranks that answer each other use few blocks.
const AREA_ANSWER_BYTES: u32 = if cfg!(loom) { 0 } else { 512 };
/// Longest chunk that goes into the payload area when no block is left; a longer one waits for a
/// block.
const FALLBACK_BYTES: u32 = 8 << 10;

/// Offset in a block at `start` for the bytes at `source`: a copy is fastest between addresses that
/// agree in their offset in a cache line and differ in their offset in a page.
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

impl RingSender {
    /// Room for `bytes` bytes of payload and for the cell that will describe them: the address, and
    /// the location to put into the cell. `None` while the ring is too full, or when `bytes` exceeds
    /// [`Self::largest_payload`].
    #[inline(always)]
    pub fn reserve(
        &mut self,
        bytes: u32,
        source: *const u8,
    ) -> Option<(NonNull<u8>, ChunkLocation)> {
        if !self.has_credit() && !self.refresh() {
            return None;
        }
        let back = self.back.as_mut()?;
        let in_area = if std::mem::take(&mut back.answers) {
            AREA_ANSWER_BYTES
        } else {
            AREA_CHUNK_BYTES
        };
        if bytes <= in_area
            && back.payload_limit.wrapping_sub(back.payload_next) >= line_bytes(bytes)
        {
            let position = back.payload_next;
            return Some(back.take_area(position, position.wrapping_add(line_bytes(bytes))));
        }
        self.reserve_elsewhere(bytes, source, in_area)
    }

    /// Whether [`Self::reserve`] will succeed `chunks` times for up to `chunk` bytes each, as far as
    /// this side knows without reading the receiver's line.
    pub fn has_room_for(&self, chunks: usize, chunk: u32) -> bool {
        let cells = (self.limit as usize - self.cursor as usize) / size_of::<Cell>();
        self.back.as_ref().is_some_and(|back| {
            let area = back.payload_limit.wrapping_sub(back.payload_next) as usize;
            if back.forgets {
                return cells >= chunks && chunk <= back.view.payload_bytes / 4;
            }
            if back.view.pool.is_none() {
                return cells >= chunks
                    && chunk <= back.view.payload_bytes / 4
                    && area >= chunks * line_bytes(chunk) as usize;
            }
            cells >= chunks
                && back.blocks.len() >= chunks
                && chunk <= back.view.block_bytes()
                && area >= chunks * AREA_CHUNK_BYTES as usize
        })
    }

    /// A block for a chunk of more than `in_area` bytes, if there is one, else room in the payload
    /// area.
    #[inline(never)]
    fn reserve_elsewhere(
        &mut self,
        bytes: u32,
        source: *const u8,
        in_area: u32,
    ) -> Option<(NonNull<u8>, ChunkLocation)> {
        if bytes > self.largest_payload() {
            return None;
        }
        if bytes > in_area && self.fits_a_block(bytes) {
            let found = self.reserve_block(source);
            if found.is_some() || bytes > FALLBACK_BYTES {
                return found;
            }
        }
        let (position, end) = self.back.as_ref()?.room(bytes);
        let fits = |back: &Back| end.wrapping_sub(back.payload_consumed) <= back.view.payload_bytes;
        if !(fits(self.back.as_ref()?) || self.refresh() && fits(self.back.as_ref()?)) {
            return None;
        }
        let back = self.back.as_mut()?;
        let reserved = back.take_area(position, end);
        back.payload_limit = end.wrapping_add(back.free_from(end));
        Some(reserved)
    }

    /// Whether a chunk fits into a block. In small rings, and in rings without blocks, some chunks do
    /// not, and lie in the payload area.
    fn fits_a_block(&self, bytes: u32) -> bool {
        let back = self.back.as_ref();
        back.is_some_and(|back| bytes <= back.view.block_bytes())
    }

    /// A block, if one is left or has come back.
    pub(super) fn reserve_block(
        &mut self,
        source: *const u8,
    ) -> Option<(NonNull<u8>, ChunkLocation)> {
        let view = self.back.as_ref()?.view;
        let block = match self.back.as_mut()?.blocks.pop() {
            Some(block) => block,
            None if self.refresh() => self.back.as_mut()?.blocks.pop()?,
            None => return None,
        };
        let pool = if block.own {
            view.pool?
        } else {
            self.back.as_ref()?.blocks.peer_pool?
        };
        let start = view.block(pool, block);
        let shift = shift_for(start, source);
        // SAFETY: a block is longer by more than the largest shift than the longest chunk (BLOCK_SLACK).
        Some((unsafe { start.add(shift) }, block.location(shift)))
    }

    /// Notes that a chunk has come from the peer.
    fn note_chunk(&mut self) {
        if let Some(back) = self.back.as_mut() {
            back.answers = true;
        }
    }

    /// Takes over the block of a chunk that `from` brought and the receiver has copied out; false when
    /// the block should go home.
    fn adopt(&mut self, block: Block, from: &RingReceiver) -> bool {
        // Blocks change hands only where both rings of the pair have them.
        let Some(pool) = from.view.pool else {
            return false;
        };
        self.back
            .as_mut()
            .is_some_and(|back| back.view.pool.is_some() && back.blocks.adopt(block, pool))
    }

    /// The block of this side's pool that comes home with a chunk.
    fn home(&self, block: Block) -> Option<NonNull<u8>> {
        let view = self.back.as_ref()?.view;
        Some(view.block(view.pool?, block))
    }
}

impl Back {
    /// Gives away the payload area from `position` to `end`, which lie in one lap of it and are free.
    #[inline(always)]
    const fn take_area(&mut self, position: u32, end: u32) -> (NonNull<u8>, ChunkLocation) {
        self.payload_next = end;
        let offset = position & (self.view.payload_bytes - 1);
        // SAFETY: masked, so inside the payload area.
        let target = unsafe { self.view.payload.add(offset as usize) };
        (target, position as ChunkLocation)
    }

    /// Bytes that are free from `position` on and lie together.
    fn free_from(&self, position: u32) -> u32 {
        let area = self.view.payload_bytes;
        let to_end = area - (position & (area - 1));
        to_end.min(area - position.wrapping_sub(self.payload_consumed))
    }

    /// Where the next `bytes` bytes of payload start, and the position behind them: a chunk that does
    /// not fit before the end of the area starts at its beginning.
    const fn room(&self, bytes: u32) -> (u32, u32) {
        let needed = line_bytes(bytes);
        let offset = self.payload_next & (self.view.payload_bytes - 1);
        let skip = if offset + needed > self.view.payload_bytes {
            self.view.payload_bytes - offset
        } else {
            0
        };
        let position = self.payload_next.wrapping_add(skip);
        (position, position.wrapping_add(needed))
    }
}

impl RingReceiver {
    /// The payload at `location` that the peeked cell describes, where `reverse` is the ring to the same
    /// peer; `None` when the sender's numbers are impossible.
    #[inline]
    pub fn payload(
        &self,
        location: ChunkLocation,
        bytes: u32,
        reverse: &RingSender,
    ) -> Option<NonNull<u8>> {
        self.expect_next();
        let Ok(position) = u32::try_from(location) else {
            return self.payload_of_block(location, bytes, reverse);
        };
        if let Some(memory) = &self.memory
            && let Some(start) = memory.lent.find(location, bytes)
        {
            return Some(start);
        }
        let area = self.view.payload_bytes;
        let offset = position & (area - 1);
        let fits = bytes <= area && offset <= area - bytes;
        // SAFETY: inside the payload area by the comparison.
        fits.then(|| unsafe { self.view.payload.add(offset as usize) })
    }

    /// [`Self::payload`] for a chunk in a block.
    #[inline(never)]
    fn payload_of_block(
        &self,
        location: ChunkLocation,
        bytes: u32,
        reverse: &RingSender,
    ) -> Option<NonNull<u8>> {
        let block = Block::arrived(location)?;
        let start = if block.own {
            reverse.home(block)
        } else {
            self.view.pool.map(|pool| self.view.block(pool, block))
        };
        let shift = Block::shift(location);
        let fits = bytes <= self.view.block_bytes() && shift < BLOCK_SLACK as usize;
        // SAFETY: inside the block by the comparison.
        start
            .filter(|_| fits)
            .map(|start| unsafe { start.add(shift) })
    }

    /// Prefetches the line of the next cell, so that it arrives while the caller copies the payload of
    /// this one.
    fn expect_next(&self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; it never faults, wherever the cells end.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.cursor.wrapping_add(1).cast());
        }
    }

    /// Notes that the payload at `location` has been copied out. The next [`Self::advance`] may return
    /// room of the payload area; a block moves to `reverse`, the ring to the same peer, or goes home.
    #[inline]
    pub fn release_payload(
        &mut self,
        location: ChunkLocation,
        bytes: u32,
        reverse: &mut RingSender,
    ) {
        reverse.note_chunk();
        let Ok(position) = u32::try_from(location) else {
            return self.release_block(location, reverse);
        };
        if let Some(memory) = &self.memory {
            memory.lent.release(location, bytes);
        }
        self.payload_next = position.wrapping_add(line_bytes(bytes));
        if self.payload_next.wrapping_sub(self.payload_returned) > self.view.payload_bytes >> 2 {
            self.pause = self.cursor.wrapping_add(1);
        }
    }

    /// [`Self::release_payload`] for a chunk in a block.
    #[inline(never)]
    fn release_block(&mut self, location: ChunkLocation, reverse: &mut RingSender) {
        let Some(block) = Block::arrived(location) else {
            return;
        };
        if reverse.adopt(block, self) || block.own || self.view.pool.is_none() {
            return;
        }
        self.returned ^= 1 << block.index;
        self.unsaid += 1;
        if self.unsaid == RETURNED_TOGETHER {
            self.unsaid = 0;
            self.credited = true;
            // PAIRS: ring.returned. Our reads of the blocks are complete before the sender sees this.
            self.view
                .shared()
                .returned
                .store(self.returned, Ordering::Release);
        }
    }
}
