// SPDX-License-Identifier: MIT OR Apache-2.0
//! RTS with data: long messages whose first chunks travel before the receiver's CTS.
//!
//! A sender that has nothing else in progress to the receiver does not wait for the CTS: RTS_DATA announces the message and brings
//! its first chunk, EARLY_CHUNK cells bring a few more. A receiver with a matching receive copies them at once and answers
//! CTS_REST; then the rest follows as CHUNKs. The answer travels while both sides copy. A receiver without a matching receive drops
//! the data and keeps the RTS; it requests the whole message with CTS when the receive is posted. So nothing is stored for a late
//! receiver, and the loss is one copy of at most [`EARLY_BYTES`] by a sender that would have waited anyway.
//!
//! One message to a peer at a time is sent like this, and after one was sent in vain the next ones send the RTS only.

#[cfg(test)]
mod tests;

use fabric::counters::Counter;

use super::rendezvous::{self, chunk_bytes, copy_chunk};
use super::{
    cell, first_aux, is_contiguous, note_arrival, pack_chunk, receiver_prefers_cma, send_control,
};
use crate::request::{RequestIndex, Role};
use crate::vci::VciState;
use crate::vci::matching::Key;

/// Bytes that a sender sends before the CTS: their copy takes a little longer than the CTS takes to arrive.
const EARLY_BYTES: usize = 64 << 10;
/// Messages that send the RTS only, after one sent data with it in vain.
const RTS_ONLY_AFTER_WASTE: u8 = 16;
/// `Link::early` while an RTS with data is not answered.
const UNANSWERED: u8 = u8::MAX;

/// Whether the RTS of this operation to `peer` should bring data: nothing else is in progress to `peer`, and the receiver will want
/// chunks.
pub(super) fn should_begin(state: &mut VciState, index: RequestIndex, peer: u32) -> bool {
    let prefers_cma = receiver_prefers_cma(state, index);
    let link = &mut state.links[peer as usize];
    if peer == state.node.me || prefers_cma || link.backlogged || !state.streaming.is_empty() {
        return false;
    }
    match link.early {
        0 => !link.sender.is_throttled(),
        UNANSWERED => false,
        _ => {
            link.early -= 1;
            false
        }
    }
}

/// Sends the RTS of a message with its first chunks; false, with nothing sent, when the ring has no room for the first.
pub(super) fn transmit_rts_data(
    state: &mut VciState,
    index: RequestIndex,
    peer: u32,
    word: u64,
) -> bool {
    let total = state.slab.record(index).bytes as usize;
    let sender = state.slab.id(index).0;
    let most = state.node.chunk_bytes as usize;
    loop {
        let entry = state.slab.entry(index);
        let link = &mut state.links[peer as usize];
        let start = entry.position;
        let bytes = chunk_bytes(start, total - start, most);
        let room = (start < EARLY_BYTES && bytes != 0)
            .then(|| {
                link.sender
                    .reserve(bytes as u32, entry.base.wrapping_add(start))
            })
            .flatten();
        let Some((target, location)) = room else {
            return start != 0;
        };
        // SAFETY: the send's memory is readable until it completes (contract of isend), the reservation is `bytes` long.
        let taken = unsafe { pack_chunk(state, index, start, target, bytes) };
        let entry = state.slab.entry_mut(index);
        let link = &mut state.links[peer as usize];
        let sent = if start == 0 {
            link.early = UNANSWERED;
            let address = if is_contiguous(entry) {
                entry.base as u64
            } else {
                0
            };
            let proof: *const u64 = &raw const *state.node.proof;
            let words = [
                total as u64,
                sender,
                location,
                bytes as u64,
                address,
                proof as u64,
            ];
            link.sender
                .put_words(cell::RTS_DATA, first_aux(entry), word, &words)
        } else {
            link.sender
                .put_words(cell::EARLY_CHUNK, 0, 0, &[location, bytes as u64, taken])
        };
        debug_assert!(sent, "a reservation comes with a cell");
        entry.position = start + bytes;
        link.ring_doorbell();
        state.count_other_cell_sent();
        if start == 0 {
            state.count(Counter::SendsBegun);
        }
    }
}

/// Notes the answer to a message that may have sent data with its RTS.
pub(super) fn note_answer(state: &mut VciState, index: RequestIndex, was_wanted: bool) {
    let entry = state.slab.entry(index);
    if entry.position == 0 {
        return;
    }
    let link = &mut state.links[entry.target as usize];
    link.early = if was_wanted { 0 } else { RTS_ONLY_AFTER_WASTE };
    if !was_wanted {
        state.count(Counter::SendsBegunInVain);
    }
}

/// Handles an RTS_DATA cell; false when the slab is full.
pub(super) fn arrived_rts_data(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let [total, sender, location, bytes, address, proof] =
        std::array::from_fn(|index| incoming.ring.word(index));
    let description = [total, sender, address, 0, proof, 0];
    let receive = state.posted.take(&mut state.slab, key);
    note_arrival(state, ring, total, receive.is_some());
    let taker = if let Some(receive) = receive {
        state.count(Counter::ReceivesPosted);
        accept(state, receive, key, description)
    } else {
        let Some(message) = super::eager::keep(state, Role::Rts, key, total) else {
            return false;
        };
        let entry = state.slab.entry_mut(message);
        entry.inline = description;
        entry.remote = sender;
        0
    };
    state.incoming[ring].early = taker;
    copy_chunk(state, ring, [taker, bytes, location, 0]);
    true
}

/// Starts a receive of a message whose RTS brought data; returns its id, or 0 when it does not want the chunks.
fn accept(state: &mut VciState, receive: RequestIndex, key: Key, description: [u64; 6]) -> u64 {
    let Some((wanted, sender)) = rendezvous::fetch_at_once(state, receive, key, description) else {
        return 0;
    };
    let id = rendezvous::await_chunks(state, receive, sender, wanted);
    send_control(state, key.peer, cell::CTS_REST, [sender, id]);
    id
}

/// Handles an EARLY_CHUNK cell.
pub(super) fn arrived_early_chunk(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let [location, bytes, taken] = std::array::from_fn(|index| incoming.ring.word(index));
    copy_chunk(state, ring, [incoming.early, bytes, location, taken]);
    true
}
