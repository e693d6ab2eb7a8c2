// SPDX-License-Identifier: MIT OR Apache-2.0
//! Zero-copy eager messages to other nodes: the network sends their data out of the memory of the program, and their room in the ring stays
//! empty.

use std::ptr::NonNull;

use protocols::IN_PLACE_BYTES;

use crate::identity::LinkIndex;
use crate::request::RequestIndex;
use crate::vci::VciState;
use crate::vci::cell::{Eager, EagerChunk, Marks};

/// Whether an eager message to a peer is zero-copy if its data are contiguous: its operation is complete when they have left.
#[inline]
pub(super) fn applies(state: &VciState, peer: LinkIndex, bytes: usize) -> bool {
    let link = &state.links[peer];
    bytes as u64 >= IN_PLACE_BYTES && link.is_remote() && state.node.can.sends_zero_copy
}

/// Writes as many chunks of an operation's zero-copy message as there is room for; true when all are written.
pub(super) fn write(state: &mut VciState, index: RequestIndex, word: u64) -> bool {
    let entry = state.slab.entry_mut(index);
    let (base, id, bytes) = (entry.base, entry.id(), entry.record.bytes as usize);
    let send = entry.send_mut();
    let (peer, mut position) = (send.target, send.position);
    let longest = state.links[peer].longest_chunk();
    if position == 0 {
        send.receiver = 0;
        send.leaves_in(bytes.div_ceil(longest) as u32);
    }
    while position < bytes {
        let length = longest.min(bytes - position);
        let from = base.wrapping_add(position);
        let sender = &mut state.links[peer].sender;
        let room = sender.reserve(length as u32, from.cast_const());
        let Some((start, (_, location))) = NonNull::new(from).zip(room) else {
            break;
        };
        // SAFETY: the send's memory is readable until it completes (contract of isend), which it does when the network has sent the data.
        unsafe {
            state
                .transport
                .send_zero_copy(peer, location, (start, length), id.0);
        }
        let sender = &mut state.links[peer].sender;
        let sent = if position == 0 {
            let cell = Eager {
                marks: Marks::default(),
                word,
                total: bytes as u64,
                sender: 0,
                location,
                bytes: length as u64,
                ticks: 0,
            };
            cell.put(sender)
        } else {
            let cell = EagerChunk {
                location,
                bytes: length as u64,
                ticks: 0,
            };
            cell.put(sender)
        };
        debug_assert!(sent, "a reservation comes with a cell");
        position += length;
        // The network sends a chunk while the next one is written; the caller rings for the last.
        if position < bytes {
            state.links[peer].ring_doorbell();
        }
        state.count_other_cell_sent();
    }
    state.slab.entry_mut(index).send_mut().position = position;
    position == bytes
}
