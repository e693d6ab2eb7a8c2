// SPDX-License-Identifier: MIT OR Apache-2.0
//! The regions of a member as the other members of the node see them.
//!
//! A table in node-shared memory: how many blocks are in use and for how many there is room; their numbers in order of address; and the
//! blocks, each the number of its regions and three words for each. Only the member writes it, between
//! two increments of its version (a sequence lock): a reader that met an odd version, or another one afterwards, has read nothing. A
//! table that is too small is replaced by a longer one, and kept until the window is freed, because a reader may be in it.
//!
//! Every process can write these words: readers check all numbers before they use them. A member that
//! dies while it writes leaves an odd version; readers then wait until the job ends.

use std::slice;

use sys::sync::{AtomicU64, Ordering, fence};

use super::blocks::{BLOCK, Region, Regions};
use crate::node::NodeHandle;
use crate::window::WindowBoard;

/// Words before the order of the blocks.
const HEADER_WORDS: usize = 2;
/// Words of a region.
const REGION_WORDS: usize = 3;
/// Words of a block.
const BLOCK_WORDS: usize = 1 + BLOCK * REGION_WORDS;

/// Words of a table with room for so many blocks.
const fn table_words(capacity: usize) -> Option<usize> {
    match capacity.checked_mul(1 + BLOCK_WORDS) {
        Some(words) => words.checked_add(HEADER_WORDS),
        None => None,
    }
}

/// Bytes of a table with room for so many blocks; `None` when no memory is as long.
pub fn table_bytes(capacity: usize) -> Option<usize> {
    table_words(capacity)?.checked_mul(size_of::<u64>())
}

/// The result of a reader's look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// This region holds the range.
    Region(Region),
    /// No region holds it.
    Nothing,
    /// The member is changing its table.
    Changing,
}

fn words(node: &NodeHandle, offset: u64, count: usize) -> Option<&[AtomicU64]> {
    let bytes = count.checked_mul(size_of::<u64>())?;
    let base = node.address(offset, bytes as u64)?;
    let is_aligned = offset.is_multiple_of(8);
    // SAFETY: memory of the segment that is long enough and aligned, and mapped as long as the segment; all atomics.
    is_aligned.then(|| unsafe { slice::from_raw_parts(base.cast().as_ptr(), count) })
}

/// Publishes what changed of the regions of a member, in a table at `offset` that has room for `capacity` blocks, which are enough. Calls
/// do not overlap.
pub fn publish(
    node: &NodeHandle,
    board: &WindowBoard,
    (offset, capacity): (u64, usize),
    regions: &mut Regions,
) {
    let changes = regions.take_changes();
    let Some(words) = table_words(capacity).and_then(|count| words(node, offset, count)) else {
        return;
    };
    // Relaxed: this member is the sole writer.
    let version = board.regions_version.load(Ordering::Relaxed);
    board
        .regions_version
        .store(version.wrapping_add(1), Ordering::Relaxed);
    // PAIRS: window.regions. The odd version is visible before any of the words.
    fence(Ordering::Release);
    board.regions.store(offset, Ordering::Relaxed);
    words[0].store(regions.order.len() as u64, Ordering::Relaxed);
    words[1].store(capacity as u64, Ordering::Relaxed);
    let (order, blocks) = words[HEADER_WORDS..].split_at(capacity);
    if let Some(from) = changes.order_from {
        for (word, &number) in order.iter().zip(&regions.order).skip(from) {
            word.store(u64::from(number), Ordering::Relaxed);
        }
    }
    for number in changes.blocks {
        let block = &blocks[number as usize * BLOCK_WORDS..][..BLOCK_WORDS];
        let regions = &regions.blocks[number as usize];
        block[0].store(regions.len() as u64, Ordering::Relaxed);
        for (three, region) in block[1..].chunks_exact(REGION_WORDS).zip(regions) {
            three[0].store(region.address, Ordering::Relaxed);
            three[1].store(region.bytes, Ordering::Relaxed);
            three[2].store(region.shared, Ordering::Relaxed);
        }
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
    let region = search(node, board, address);
    // PAIRS: window.regions. What was read is older than the second look at the version.
    fence(Ordering::Acquire);
    if board.regions_version.load(Ordering::Relaxed) != version {
        return Found::Changing;
    }
    let end = address.checked_add(bytes);
    let found = region.filter(|region| end.is_some_and(|end| end <= region.end()));
    found.map_or(Found::Nothing, Found::Region)
}

/// The last region that starts at or before an address.
fn search(node: &NodeHandle, board: &WindowBoard, address: u64) -> Option<Region> {
    let table = board.regions.load(Ordering::Relaxed);
    if table == 0 {
        return None;
    }
    let header = words(node, table, HEADER_WORDS)?;
    let [used, capacity] = [0, 1].map(|word| header[word].load(Ordering::Relaxed) as usize);
    let words = words(node, table, table_words(capacity)?)?;
    let (order, blocks) = words[HEADER_WORDS..].split_at(capacity);
    let block = |position: usize| {
        let number = order.get(position)?.load(Ordering::Relaxed) as usize;
        blocks
            .get(number.checked_mul(BLOCK_WORDS)?..)?
            .get(..BLOCK_WORDS)
    };
    let position = last_at(used, address, |position| {
        Some(block(position)?[1].load(Ordering::Relaxed))
    })?;
    let block = block(position)?;
    let count = (block[0].load(Ordering::Relaxed) as usize).min(BLOCK);
    let word =
        |index: usize, part: usize| block[1 + index * REGION_WORDS + part].load(Ordering::Relaxed);
    let index = last_at(count, address, |index| Some(word(index, 0)))?;
    Some(Region {
        address: word(index, 0),
        bytes: word(index, 1),
        shared: word(index, 2),
    })
}

/// The last of `count` sorted addresses that is not above `address`; `None` also if one of them cannot be read.
fn last_at(count: usize, address: u64, address_of: impl Fn(usize) -> Option<u64>) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if address_of(middle)? <= address {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low.checked_sub(1)
}
