// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver: takes the chunks, or drops them and keeps the RTS.

use fabric::counters::Counter;

use super::super::rendezvous::{self, copy_chunk};
use super::super::{cell, eager, note_arrival, put, send_control};
use crate::request::{RequestIndex, Role};
use crate::vci::VciState;
use crate::vci::matching::Key;

/// Handles an RTS_DATA cell; false when the slab is full.
pub(in super::super) fn arrived_rts_data(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let [total, sender, location, bytes, address, proof] =
        std::array::from_fn(|index| incoming.ring.word(index));
    let aux = incoming.aux();
    let description = [total, sender, address, 0, proof, 0];
    let receive = state.posted.take(&mut state.slab, key);
    note_arrival(state, ring, total, receive.is_some());
    let taker = if let Some(receive) = receive {
        state.count(Counter::ReceivesPosted);
        if state.is_traced() {
            state.trace_match(receive, key, total);
        }
        rendezvous::note_announced(state, receive, key.peer, total, aux);
        accept(state, receive, key, description)
    } else {
        let Some(message) = eager::keep(state, Role::Rts, key, total) else {
            return false;
        };
        let body = state.slab.entry_mut(message).unexpected_mut();
        (body.words, body.sender) = (description, sender);
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
    let id = rendezvous::await_chunks(state, receive, sender, wanted, false);
    if !put::request(state, receive, key.peer, [sender, id], true) {
        send_control(state, key.peer, cell::CTS_REST, [sender, id]);
    }
    state.count(Counter::Pulls);
    id
}

/// Handles an EARLY_CHUNK cell.
pub(in super::super) fn arrived_early_chunk(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let [location, bytes, taken] = std::array::from_fn(|index| incoming.ring.word(index));
    copy_chunk(state, ring, [incoming.early, bytes, location, taken]);
    true
}
