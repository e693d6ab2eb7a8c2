// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks: memory for long chunks whose owner changes with the data, so that an answer is written
//! where the question lay.
//!
//! Each ring has a pool of [`BLOCKS`] blocks, which belong to its sender at first. A block that
//! carries a chunk belongs to the chunk's receiver from then on: the block may carry a chunk in the
//! other direction, or go home through the word `returned` of the ring's line. So two ranks that
//! answer each other use the same few blocks, which stay in the caches of both, and neither
//! asks the other for room.
//!
//! Invariants: a block belongs to one side, or is under way in one cell. `returned` holds one bit for
//! each block of the ring's pool, and the receiver flips the bit to return the block. The receiver
//! cannot flip it again before the sender has seen the first flip, because only then can the block
//! come to the receiver again. A side that gets a block which it owns already ignores the block: the
//! peer broke the protocol.

// account: fabric

use std::ptr::NonNull;

/// Blocks in the pool of one ring. Those that a peer does not keep ([`KEPT`]) are how far a sender
/// runs ahead of its receiver: with too few of them each side waits for the other.
pub(super) const BLOCKS: u32 = if cfg!(loom) { 2 } else { 24 };
/// Most blocks of the peer's pool that a side keeps; the others go home.
pub(super) const KEPT: u32 = if cfg!(loom) { 1 } else { 8 };
/// Blocks that go home with one write.
pub(super) const RETURNED_TOGETHER: u32 = if cfg!(loom) { 1 } else { 2 };
// When the receiver keeps all that it may, the other blocks are enough to fill one write of
// `returned`, so none of them stays with the receiver for good.
const _: () = assert!(BLOCKS - KEPT >= RETURNED_TOGETHER);

/// The location of a chunk in a block has this bit, and one for blocks of the pool of the sender's peer.
const IS_BLOCK: u64 = 1 << 32;
const FROM_PEER: u64 = 1 << 8;

/// A block, seen from one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Whether the block belongs to the pool of the ring to the peer, not of the ring from it.
    pub(super) own: bool,
    pub(super) index: u8,
}

impl Block {
    /// The number for a cell that names this block and the offset of the data in it.
    pub(super) const fn location(self, shift: usize) -> u64 {
        IS_BLOCK | if self.own { 0 } else { FROM_PEER } | self.index as u64 | (shift as u64) << 16
    }

    /// Offset of an arrived chunk in its block, in bytes.
    pub(super) const fn shift(location: u64) -> usize {
        (location >> 16) as u16 as usize
    }

    /// The block that an arrived number names, seen from the receiver; `None` when it names none.
    pub(super) const fn arrived(location: u64) -> Option<Self> {
        let index = location & 0xff;
        if location & IS_BLOCK == 0 || index >= BLOCKS as u64 {
            return None;
        }
        Some(Self {
            own: location & FROM_PEER != 0,
            index: index as u8,
        })
    }

    const fn bit(self) -> u64 {
        let bit = 1 << self.index;
        if self.own { bit } else { bit << BLOCKS }
    }
}

/// The blocks that one side owns: last in, first out, because the last used block is in the cache.
pub(super) struct Stack {
    blocks: [Block; 2 * BLOCKS as usize],
    len: usize,
    /// One bit for each block on the stack.
    members: u64,
    /// How many blocks of the peer may be kept: one for each block used, so that a rank which only
    /// receives keeps none.
    wanted: u32,
    /// The pool of the ring from the peer, once one of its blocks has come.
    pub(super) peer_pool: Option<NonNull<u8>>,
    /// The last seen value of the word `returned`.
    seen: u64,
}

impl Stack {
    /// No block: the sender of a ring without a pool.
    pub(super) const fn empty() -> Self {
        Self {
            blocks: [Block {
                own: true,
                index: 0,
            }; 2 * BLOCKS as usize],
            len: 0,
            members: 0,
            wanted: 0,
            peer_pool: None,
            seen: 0,
        }
    }

    /// All blocks of the own pool.
    pub(super) fn full() -> Self {
        let mut stack = Self::empty();
        for index in (0..BLOCKS as u8).rev() {
            stack.push(Block { own: true, index });
        }
        stack
    }

    /// Blocks on the stack.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn pop(&mut self) -> Option<Block> {
        self.len = self.len.checked_sub(1)?;
        let block = self.blocks[self.len];
        self.members &= !block.bit();
        self.wanted = KEPT.min(self.wanted + 1);
        Some(block)
    }

    fn push(&mut self, block: Block) {
        if self.members & block.bit() == 0 {
            self.members |= block.bit();
            self.blocks[self.len] = block;
            self.len += 1;
        }
    }

    /// Takes a block that came with a chunk; false when there are enough of its kind and the block
    /// should go home.
    pub(super) fn adopt(&mut self, block: Block, peer_pool: NonNull<u8>) -> bool {
        let borrowed = (self.members >> BLOCKS).count_ones();
        if !block.own {
            if borrowed >= KEPT || self.wanted == 0 {
                return false;
            }
            self.wanted -= 1;
        }
        self.peer_pool = Some(peer_pool);
        self.push(block);
        true
    }

    /// Takes back the blocks that the receiver has returned, given its word `returned`.
    pub(super) fn take_returned(&mut self, word: u64) {
        let mut back = (word ^ self.seen) & ((1 << BLOCKS) - 1);
        self.seen = word;
        while back != 0 {
            let index = back.trailing_zeros() as u8;
            self.push(Block { own: true, index });
            back &= back - 1;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{BLOCKS, Block, KEPT, Stack};
    use std::ptr::NonNull;

    #[test]
    fn the_last_used_block_is_used_first_and_none_twice() {
        let mut stack = Stack::full();
        let first = stack.pop().unwrap();
        let second = stack.pop().unwrap();
        assert_eq!((first.index, second.index), (0, 1));
        assert!(stack.adopt(first, NonNull::dangling()));
        assert!(stack.adopt(first, NonNull::dangling()));
        assert_eq!(stack.pop(), Some(first));
        for _ in 2..BLOCKS {
            assert!(stack.pop().is_some_and(|block| block != first));
        }
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn a_rank_that_sends_keeps_the_peers_blocks_up_to_a_limit() {
        let mut stack = Stack::full();
        for _ in 0..BLOCKS {
            stack.pop();
        }
        let foreign = |index: u32| Block {
            own: false,
            index: index as u8,
        };
        assert!((0..KEPT).all(|index| stack.adopt(foreign(index), NonNull::dangling())));
        assert!(!stack.adopt(foreign(KEPT), NonNull::dangling()));
        assert!(!Stack::full().adopt(foreign(0), NonNull::dangling()));
    }

    #[test]
    fn flipped_bits_come_home_once() {
        let mut stack = Stack::full();
        while stack.pop().is_some() {}
        stack.take_returned(0b101);
        stack.take_returned(0b101);
        let mut back = [stack.pop().unwrap().index, stack.pop().unwrap().index];
        back.sort_unstable();
        assert_eq!((back, stack.pop()), ([0, 2], None));
        stack.take_returned(0b100);
        assert_eq!(stack.pop().map(|block| block.index), Some(0));
        stack.take_returned(u64::MAX);
        assert_eq!(
            std::iter::from_fn(|| stack.pop()).count(),
            BLOCKS as usize - 1
        );
    }

    #[test]
    fn locations_name_blocks_from_the_other_side() {
        let block = Block {
            own: true,
            index: 7,
        };
        assert_eq!(
            Block::arrived(block.location(0)),
            Some(Block {
                own: false,
                index: 7
            })
        );
        assert_eq!(Block::arrived(7), None);
        assert_eq!(Block::arrived(block.location(0) + u64::from(BLOCKS)), None);
    }
}
