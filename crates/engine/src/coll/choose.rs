// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which algorithm a collective uses: every threshold, in one place.
//!
//! A choice depends only on what all members know: the number of ranks, and the packed bytes, which are the same everywhere
//! because type signatures match. Thresholds are bytes at which the extra copies of the cheaper start-up begin to cost more
//! than the messages they save.

use super::primitives::Block;

/// Broadcasts up to this size go down a tree whole.
const BCAST_TREE_BYTES: usize = 128 << 10;
/// Pieces up to this size are gathered and scattered through a tree.
const TREE_PIECE_BYTES: usize = 2 << 10;
/// Allgathers whose result is at most this large double the number of known pieces in each step.
const ALLGATHER_DOUBLING_BYTES: usize = 64 << 10;
/// All-to-all pieces up to this size travel together, along the bits of their distance.
const ALLTOALL_BRUCK_BYTES: usize = 256;
/// Allreduces up to this size exchange whole vectors.
const ALLREDUCE_DOUBLING_BYTES: usize = 32 << 10;
/// Reduces up to this size send whole vectors up a tree.
const REDUCE_TREE_BYTES: usize = 64 << 10;
/// Reduce-scatters up to this size are an allreduce of which each rank keeps its part.
const REDUCE_SCATTER_DOUBLING_BYTES: usize = 16 << 10;

/// Collectives through shared memory up to these sizes, of what each member shows.
const SHARED_BCAST_BYTES: usize = 1 << 20;
const SHARED_REDUCTION_BYTES: usize = 1 << 20;
const SHARED_PIECE_BYTES: usize = 1 << 20;

/// Most turns that pieces of more than two members are cut into.
const FEW_TURNS: usize = 64;
/// Most bytes of a member in a blocking collective that takes one turn on a straight line.
pub(super) const SHORT_BYTES: usize = 2 << 10;
/// Most operand bytes of all members that each of more than two combines for itself; beyond it the last to come combines
/// them for all.
pub(super) const EACH_FOR_ITSELF_BYTES: usize = 4 << 10;

/// How an operation is cut into turns of the commons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    /// Number of turns.
    pub(super) count: usize,
    /// What one of them moves at most: bytes, or elements where they are combined.
    pub(super) most: usize,
}

impl Turns {
    fn of(amount: usize, most: usize) -> Self {
        Self {
            count: amount.div_ceil(most.max(1)),
            most,
        }
    }

    /// The turns, and the bytes that a member with `bytes` bytes shows in one of them at most.
    pub(super) fn shown(self, bytes: usize) -> (usize, usize) {
        (self.count, self.most.min(bytes))
    }

    /// The same where `most` counts elements.
    pub(super) fn shown_elements(self, block: &Block) -> (usize, usize) {
        let elements = self.most.min(block.count);
        (self.count, elements * block.layout.size())
    }

    /// The same where a piece for each of `size` members is shown.
    pub(super) fn shown_pieces(self, size: u32) -> (usize, usize) {
        (self.count, self.most * size as usize)
    }
}

/// A broadcast through areas of `area` bytes.
pub(super) fn shared_bcast(bytes: usize, area: usize) -> Option<Turns> {
    (1..=SHARED_BCAST_BYTES)
        .contains(&bytes)
        .then(|| Turns::of(bytes, area))
}

/// Whole pieces through areas of `area` bytes.
pub(super) fn shared_pieces(bytes: usize, area: usize) -> Option<Turns> {
    (1..=SHARED_PIECE_BYTES)
        .contains(&bytes)
        .then(|| Turns::of(bytes, area))
}

/// Parts of as many pieces as there are members through areas of `area` bytes.
pub(super) fn shared_parts(bytes: usize, area: usize, size: u32) -> Option<Turns> {
    let room = area / size as usize;
    let most = if bytes <= room { bytes } else { room / 16 * 16 };
    let turns = Turns::of(bytes, most);
    // Among many an area holds little of each piece: messages take fewer steps.
    let few = turns.count <= FEW_TURNS || size == 2;
    (most > 0 && bytes <= SHARED_PIECE_BYTES && few).then_some(turns)
}

/// Whether operands can be combined where they are packed.
fn is_dense(block: &Block) -> bool {
    block.layout.is_contiguous()
}

/// A reduction of whole vectors through areas of `area` bytes.
pub(super) fn shared_reduction(send: &Block, area: usize) -> Option<Turns> {
    let bytes = send.bytes();
    let most = area / send.layout.size().max(1);
    ((1..=SHARED_REDUCTION_BYTES).contains(&bytes) && most > 0 && is_dense(send))
        .then(|| Turns::of(send.count, most))
}

/// Whether a reduction of vectors fits into one area.
pub(super) fn shared_in_one_turn(send: &Block, area: usize) -> bool {
    (1..=area).contains(&send.bytes()) && is_dense(send)
}

/// Scatter and ring instead of a tree.
pub(super) const fn bcast_in_parts(bytes: usize, size: u32) -> bool {
    bytes > BCAST_TREE_BYTES && size > 2
}

/// A tree instead of messages straight from or to the root.
pub(super) const fn tree_of_pieces(piece_bytes: usize, size: u32) -> bool {
    piece_bytes <= TREE_PIECE_BYTES && size > 4
}

/// Doubling instead of a ring.
pub(super) const fn allgather_doubling(total_bytes: usize, size: u32) -> bool {
    total_bytes <= ALLGATHER_DOUBLING_BYTES && size > 2
}

/// Store and forward along the bits of the distance instead of direct messages.
pub(super) const fn alltoall_forwarding(piece_bytes: usize, size: u32) -> bool {
    piece_bytes <= ALLTOALL_BRUCK_BYTES && size > 8
}

/// Direct messages of an all-to-all under way at once.
pub(super) const fn alltoall_window(largest_piece_bytes: usize) -> u32 {
    match largest_piece_bytes {
        0..4097 => 32,
        4097..65537 => 8,
        _ => 2,
    }
}

/// Halving the vector instead of exchanging it whole.
pub(super) const fn allreduce_halving(bytes: usize, count: usize, size: u32) -> bool {
    bytes > ALLREDUCE_DOUBLING_BYTES && count >= size as usize && size > 2
}

/// Halving the vector instead of a tree.
pub(super) const fn reduce_halving(bytes: usize, count: usize, size: u32) -> bool {
    bytes > REDUCE_TREE_BYTES && count >= size as usize && size > 2
}

/// An allreduce instead of direct messages.
pub(super) const fn reduce_scatter_by_allreduce(total_bytes: usize, size: u32) -> bool {
    total_bytes <= REDUCE_SCATTER_DOUBLING_BYTES && size > 2
}
