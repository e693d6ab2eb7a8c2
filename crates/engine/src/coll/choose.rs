// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which algorithm a collective uses: every threshold, in one place.
//!
//! A choice depends only on what all members know: the number of ranks, and the packed bytes, which are the same everywhere
//! because type signatures match. Thresholds are bytes at which the extra copies of the cheaper start-up begin to cost more
//! than the messages they save.

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
