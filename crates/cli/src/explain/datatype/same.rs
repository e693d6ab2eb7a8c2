// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two layouts are the same object.

use layout::{Block, Layout};

use super::text;

/// Blocks that are compared one by one.
const MOST_BLOCKS: u128 = 1 << 24;

/// Compares two layouts, and says where they differ.
pub(super) fn compare(first: &Layout, second: &Layout) -> String {
    if first.form() == second.form() {
        let bounds = |it: &Layout| (it.lower_bound(), it.extent());
        return if bounds(first) == bounds(second) {
            "yes: the same form and bounds".to_owned()
        } else {
            format!(
                "one element is: the same form; the bounds differ: lower bound {} and extent {}, not {} and {}",
                first.lower_bound(),
                first.extent(),
                second.lower_bound(),
                second.extent()
            )
        };
    }
    if first.size() != second.size() {
        return format!("no: {} bytes, not {}", first.size(), second.size());
    }
    let too_many = |it: &Layout| text::blocks(it.form()).0 > MOST_BLOCKS;
    if too_many(first) || too_many(second) {
        return "no: the forms differ, and there are too many blocks to compare".to_owned();
    }
    let (first, second) = (joined(first.blocks()), joined(second.blocks()));
    let sorted = |blocks: &[Block]| {
        let mut blocks = blocks.to_vec();
        blocks.sort_unstable_by_key(|block| block.offset);
        joined(blocks)
    };
    let mut packed = 0;
    for (one, other) in first.iter().zip(&second) {
        if one != other {
            let text = if sorted(&first) == sorted(&second) {
                "the same bytes in another order"
            } else {
                "other bytes"
            };
            // The blocks before are the same; of this one, either the start or the length differs.
            let common = if one.offset == other.offset {
                one.bytes.min(other.bytes)
            } else {
                0
            };
            let at = packed + common;
            return format!("no: {text}, from packed byte {at} on");
        }
        packed += one.bytes;
    }
    "yes: the same bytes in the same order, in different forms".to_owned()
}

/// Blocks that touch as one.
fn joined(blocks: Vec<Block>) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        match all.last_mut() {
            Some(last) if last.offset + last.bytes as i64 == block.offset => {
                last.bytes += block.bytes;
            }
            _ => all.push(block),
        }
    }
    all
}
