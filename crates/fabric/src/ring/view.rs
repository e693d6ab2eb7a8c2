// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the parts of a ring lie, and their layout.
#![expect(unsafe_code, reason = "a ring is memory of the node segment")]

// account: fabric

use std::ptr::NonNull;

use super::blocks::{BLOCKS, Block};
use super::{BLOCK_SLACK, BLOCKS_AN_AREA, INJECT_WORDS};
use sys::sync::{AtomicU32, AtomicU64};

/// One message, or the description of one. One cache line.
#[repr(C, align(64))]
pub struct Cell {
    /// Lap (32 bits), kind (8), length (8), auxiliary (16), from low to high.
    pub(super) head: AtomicU64,
    /// Context id and tag.
    pub(super) match_word: AtomicU64,
    /// Data, or arguments of the kind.
    pub(super) words: [AtomicU64; INJECT_WORDS],
}

// As mpi_rankpoint_inline.h has it; another layout needs another version there. The model checker's words are larger.
#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Cell>() == 64);
    assert!(std::mem::offset_of!(Cell, match_word) == 8);
    assert!(std::mem::offset_of!(Cell, words) == 16);
};

/// The receiver's line: what it tells the sender. One cache line, seldom written.
#[repr(C, align(64))]
pub struct RingShared {
    /// Cells consumed (low half) and payload position consumed (high half), both wrapping.
    pub(super) consumed: AtomicU64,
    /// 1 while the receiver holds too many unexpected bytes of this sender.
    pub(super) throttle: AtomicU32,
    /// Which messages the receiver would rather copy itself; the engine defines the bits.
    pub(super) preferences: AtomicU32,
    /// One bit for each block, flipped when the block goes back to the sender.
    pub(super) returned: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Cell>() == 64);
    assert!(size_of::<RingShared>() == 64);
};

/// Where a ring lies and how large it is; the same for both sides.
#[derive(Clone, Copy)]
pub struct RingView {
    /// The receiver's line.
    pub shared: NonNull<RingShared>,
    /// The first cell.
    pub cells: NonNull<Cell>,
    /// The payload area.
    pub payload: NonNull<u8>,
    /// The pool of blocks; `None` in a ring without blocks, whose payload area takes all payload.
    pub pool: Option<NonNull<u8>>,
    /// Number of cells, a power of two.
    pub cell_count: u32,
    /// Bytes of the payload area, a power of two, at least 8 KiB.
    pub payload_bytes: u32,
}

/// Where a chunk lies, as a cell describes it.
pub type ChunkLocation = u64;

impl RingView {
    /// Bytes that a ring of these sizes needs.
    pub const fn bytes(cell_count: u32, payload_bytes: u32) -> u64 {
        let stride = Self::block_bytes_of(payload_bytes) as u64 + BLOCK_SLACK as u64;
        let pool = BLOCKS as u64 * stride;
        Self::bytes_without_blocks(cell_count, payload_bytes) + pool
    }

    /// Bytes that a ring of these sizes needs when it has no blocks.
    pub const fn bytes_without_blocks(cell_count: u32, payload_bytes: u32) -> u64 {
        64 + 64 * cell_count as u64 + payload_bytes as u64
    }

    /// Bytes of a block of a ring whose payload area has `payload_bytes` bytes.
    pub const fn block_bytes_of(payload_bytes: u32) -> u32 {
        payload_bytes / BLOCKS_AN_AREA
    }

    /// Bytes of a block; 0 in a ring without blocks.
    pub(super) const fn block_bytes(&self) -> u32 {
        match self.pool {
            Some(_) => Self::block_bytes_of(self.payload_bytes),
            None => 0,
        }
    }

    /// The ring that starts at `base`.
    ///
    /// # Safety
    /// `base` is line-aligned and starts [`RingView::bytes`] bytes that stay mapped while a side of the ring exists,
    /// were zero when the ring was made, and are used by one sender and one receiver only.
    pub const unsafe fn at(base: NonNull<u8>, cell_count: u32, payload_bytes: u32) -> Self {
        // SAFETY: the caller promises more bytes than a ring without blocks needs.
        let view = unsafe { Self::without_blocks(base, cell_count, payload_bytes) };
        // SAFETY: the pool follows the payload area inside the range that the caller promises.
        let pool = unsafe { view.payload.add(payload_bytes as usize) };
        Self {
            pool: Some(pool),
            ..view
        }
    }

    /// The ring without blocks that starts at `base`.
    ///
    /// # Safety
    /// `base` is line-aligned and starts [`RingView::bytes_without_blocks`] bytes that stay mapped
    /// while a side of the ring exists, were zero when the ring was made, and are used by one
    /// sender and one receiver only.
    pub const unsafe fn without_blocks(
        base: NonNull<u8>,
        cell_count: u32,
        payload_bytes: u32,
    ) -> Self {
        // SAFETY: the cells follow the receiver's line, inside the range that the caller promises.
        let cells = unsafe { base.add(64) };
        // SAFETY: the payload area follows the cells, inside the range that the caller promises.
        let payload = unsafe { base.add(64 + 64 * cell_count as usize) };
        Self {
            shared: base.cast(),
            cells: cells.cast(),
            payload,
            pool: None,
            cell_count,
            payload_bytes,
        }
    }

    /// The block of a pool that starts at `pool` and has this ring's sizes.
    pub(super) const fn block(&self, pool: NonNull<u8>, block: Block) -> NonNull<u8> {
        // SAFETY: a block's index is below BLOCKS, and a pool has that many blocks (RingView::at; all pools are alike).
        unsafe { pool.add((block.index as u32 * (self.block_bytes() + BLOCK_SLACK)) as usize) }
    }

    /// One past the last cell.
    pub(super) const fn end(&self) -> *mut Cell {
        self.cells.as_ptr().wrapping_add(self.cell_count as usize)
    }

    /// Cells between the first one and `cursor`.
    pub(super) fn offset_of(&self, cursor: *const Cell) -> u32 {
        ((cursor as usize - self.cells.as_ptr() as usize) / size_of::<Cell>()) as u32
    }

    /// Index of the cell at `cursor` in a lap, counted from the ring's first cell on and wrapping.
    pub(super) fn index_of(&self, lap: u32, cursor: *const Cell) -> u32 {
        lap.wrapping_sub(1)
            .wrapping_mul(self.cell_count)
            .wrapping_add(self.offset_of(cursor))
    }

    /// Cells before the one at `cursor` in a lap, from the ring's first one on; for counters, which may
    /// start anew after 2^32 laps.
    pub(super) fn cells_before(&self, lap: u64, cursor: *const Cell) -> u64 {
        lap.wrapping_sub(1)
            .wrapping_mul(u64::from(self.cell_count))
            .wrapping_add(u64::from(self.offset_of(cursor)))
    }

    pub(super) fn shared(&self) -> &RingShared {
        // SAFETY: `shared` points into the mapping (RingView::at); all fields are atomics.
        unsafe { self.shared.as_ref() }
    }
}
