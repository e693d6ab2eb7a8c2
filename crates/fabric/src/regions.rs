// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that a member attached to a dynamic window, as the other members of the node see it.
//!
//! A table in node-shared memory, sorted by address: the number of regions, then three words for each. Only the member writes it, between
//! two increments of its version (a sequence lock): a reader that met an odd version, or another one afterwards, has read nothing. A
//! table that is too small is replaced by a longer one, and kept until the window is freed, because a reader may be in it.
//!
//! Every process can write these words: the number of regions is checked against the segment before any of them is read. A member that
//! dies while it writes leaves an odd version; readers then wait until the job ends.

use std::slice;

use sys::sync::{AtomicU64, Ordering, fence};

use crate::node::NodeHandle;
use crate::window::WindowBoard;

/// A range of attached memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Address in the member.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// 1 + its offset in the node segment; 0 for private memory.
    pub shared: u64,
}

/// Words of a region.
const REGION_WORDS: u64 = 3;

/// Bytes of a table of so many regions.
pub const fn table_bytes(regions: usize) -> u64 {
    8 * (1 + REGION_WORDS * regions as u64)
}

/// What a reader found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// This region holds the range.
    Region(Region),
    /// No region holds it.
    Nothing,
    /// The member is changing its table.
    Changing,
}

fn words(node: &NodeHandle, offset: u64, regions: u64) -> Option<&[AtomicU64]> {
    let count = regions.checked_mul(REGION_WORDS)?.checked_add(1)?;
    let base = node.address(offset, count.checked_mul(8)?)?;
    let is_aligned = offset.is_multiple_of(8);
    // SAFETY: memory of the segment that is long enough and aligned, and mapped as long as the segment; all atomics.
    is_aligned.then(|| unsafe { slice::from_raw_parts(base.cast().as_ptr(), count as usize) })
}

/// Publishes the regions of a member, sorted by address, in a table at this offset that has room for them. Calls do not overlap.
pub fn publish(node: &NodeHandle, board: &WindowBoard, table: u64, regions: &[Region]) {
    let Some(words) = words(node, table, regions.len() as u64) else {
        return;
    };
    // Relaxed: this member is the sole writer.
    let version = board.regions_version.load(Ordering::Relaxed);
    board
        .regions_version
        .store(version.wrapping_add(1), Ordering::Relaxed);
    // PAIRS: window.regions. The odd version is visible before any of the words.
    fence(Ordering::Release);
    board.regions.store(table, Ordering::Relaxed);
    words[0].store(regions.len() as u64, Ordering::Relaxed);
    for (three, region) in words[1..].chunks_exact(REGION_WORDS as usize).zip(regions) {
        three[0].store(region.address, Ordering::Relaxed);
        three[1].store(region.bytes, Ordering::Relaxed);
        three[2].store(region.shared, Ordering::Relaxed);
    }
    // PAIRS: window.regions
    board
        .regions_version
        .store(version.wrapping_add(2), Ordering::Release);
}

/// The region of a member that holds these bytes.
pub fn find(node: &NodeHandle, board: &WindowBoard, address: u64, bytes: u64) -> Found {
    // PAIRS: window.regions
    let version = board.regions_version.load(Ordering::Acquire);
    if !version.is_multiple_of(2) {
        return Found::Changing;
    }
    let region = search(node, board, address, bytes);
    // PAIRS: window.regions. What was read is older than the second look at the version.
    fence(Ordering::Acquire);
    if board.regions_version.load(Ordering::Relaxed) != version {
        return Found::Changing;
    }
    region.map_or(Found::Nothing, Found::Region)
}

fn search(node: &NodeHandle, board: &WindowBoard, address: u64, bytes: u64) -> Option<Region> {
    let table = board.regions.load(Ordering::Relaxed);
    if table == 0 {
        return None;
    }
    let count = words(node, table, 0)?[0].load(Ordering::Relaxed);
    let words = &words(node, table, count)?[1..];
    let region = |index: usize| {
        let word =
            |part: usize| words[index * REGION_WORDS as usize + part].load(Ordering::Relaxed);
        Region {
            address: word(0),
            bytes: word(1),
            shared: word(2),
        }
    };
    // The last region that starts at or before the address.
    let (mut low, mut high) = (0, count as usize);
    while low < high {
        let middle = usize::midpoint(low, high);
        if region(middle).address <= address {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let found = region(low.checked_sub(1)?);
    let end = address.checked_add(bytes)?;
    (end <= found.address.saturating_add(found.bytes)).then_some(found)
}
