// SPDX-License-Identifier: MIT OR Apache-2.0
//! Zero-copy eager messages to other nodes: the network sends their data out of the memory of the program, and their room in the ring stays
//! empty.

use std::ptr::NonNull;

use super::cell;
use crate::identity::LinkIndex;
use crate::request::RequestIndex;
use crate::vci::VciState;

/// Shortest zero-copy message in bytes: to copy a shorter one takes less time than its operation.
const LEAST_BYTES: usize = 16 << 10;

/// Whether an eager message to a peer is zero-copy if its data are contiguous: its operation is complete when they have left.
#[inline]
pub(super) fn applies(state: &VciState, peer: LinkIndex, bytes: usize) -> bool {
    let link = &state.links[peer];
    bytes >= LEAST_BYTES && link.is_remote() && state.node.can.sends_zero_copy
}

/// Writes the cell of an operation's zero-copy message; false when the ring has no room.
pub(super) fn write(state: &mut VciState, index: RequestIndex, word: u64) -> bool {
    let entry = state.slab.entry_mut(index);
    entry.remote = 0;
    let (peer, base, id) = (entry.target, entry.base, entry.id());
    let bytes = entry.record.bytes as usize;
    let sender = &mut state.links[peer].sender;
    let Some((start, (_, location))) =
        NonNull::new(base).zip(sender.reserve(bytes as u32, base.cast_const()))
    else {
        return false;
    };
    // SAFETY: the send's memory is readable until it completes (contract of isend), which it does when the network has sent the data.
    unsafe {
        state
            .transport
            .send_zero_copy(peer, location, (start, bytes), id.0);
    }
    let words = [bytes as u64, 0, location, bytes as u64, 0];
    let sender = &mut state.links[peer].sender;
    let sent = sender.put_words(cell::EAGER, 0, word, &words);
    debug_assert!(sent, "a reservation comes with a cell");
    state.count_other_cell_sent();
    true
}
