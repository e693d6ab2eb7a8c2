// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver: how it gets the data of an announced message.

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::trace::TraceKind;
use sys::cma::Remote;

use super::super::{
    cell, eager, named_by_peer, note_arrival, note_message, note_written, put, send_control,
};
use super::movers::{fetch_across, fetch_own, fetch_shared, read, readable};
use super::policy::{note_announced, note_landed};
use crate::request::{RequestIndex, Role};
use crate::vci::matching::{Key, Taken};
use crate::vci::offers::ReceiveLanding;
use crate::vci::{CmaPolicy, VciState, copy_mode};

/// Handles an RTS cell; false when the slab is full.
pub(in super::super) fn arrived_rts(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let description = std::array::from_fn(|index| incoming.ring.word(index));
    let message = [description[0], description[1]];
    let aux = incoming.aux();
    let posted = state
        .posted
        .take_for_announced(&mut state.slab, key, message);
    note_arrival(state, ring, description[0], posted.is_some());
    if let Some((receive, taken)) = posted {
        state.count(Counter::ReceivesPosted);
        if state.is_traced() {
            state.trace_match(receive, key, description[0]);
        }
        note_announced(state, receive, key.peer, description[0], aux);
        let id = state.slab.id(receive).0;
        if taken == Taken::Claimed {
            await_writing(state, receive, key, description[0]);
        } else {
            begin(state, receive, key, description);
        }
        if taken == Taken::Reclaimed {
            state.posted.served(id);
        }
        return true;
    }
    if state.slab.has_room() && hold(state, ring, key, description) {
        return true;
    }
    let Some(index) = eager::keep(state, Role::Rts, key, description[0]) else {
        return false;
    };
    let message = state.slab.entry_mut(index).unexpected_mut();
    (message.words, message.sender) = (description, description[1]);
    true
}

/// Fetches an announced message for a receive that matches it.
pub(in super::super) fn begin(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    description: [u64; 6],
) {
    if let Some((wanted, sender)) = fetch_at_once(state, receive, key, description) {
        let ids = [sender, await_chunks(state, receive, sender, wanted, false)];
        state.count(Counter::Pulls);
        if !put::request(state, receive, key.peer, ids, false) {
            send_control(state, key.peer, cell::CTS, ids);
        }
    }
}

/// Completes a receive directly or by CMA where that is possible; else returns how many bytes it wants, and the sender's id.
pub(in super::super) fn fetch_at_once(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    description: [u64; 6],
) -> Option<(usize, u64)> {
    let [bytes, sender, address, shared, proof, _] = description;
    // An offer was of no use.
    state.close_open(receive);
    let wanted = note_message(state, receive, key, bytes);
    state.count_many(Counter::BytesReceived, wanted as u64);
    let is_fetched = wanted == 0
        || fetch_shared(state, receive, key.peer, shared, wanted)
        || fetch_own(state, receive, key.peer, sender, wanted)
        || (fetch_across(state, receive, key.peer, address, proof, wanted) && {
            state.count(Counter::CrossCopies);
            true
        });
    if !is_fetched {
        return Some((wanted, sender));
    }
    state.count(Counter::Dones);
    send_control(state, key.peer, cell::FIN, [sender, 0]);
    state.complete_noted(receive);
    None
}

/// Makes a receive one that gets its data in chunks; returns its id.
pub(in super::super) fn await_chunks(
    state: &mut VciState,
    receive: RequestIndex,
    sender: u64,
    wanted: usize,
    is_offered: bool,
) -> u64 {
    let entry = state.slab.entry_mut(receive);
    entry.receive_mut().await_chunks(wanted, sender, is_offered);
    entry.record.kind = record_kind::RECEIVE_ACTIVE;
    state.slab.id(receive).0
}

/// A receive gets a message of so many bytes that its sender writes, or sends in chunks, without being asked.
fn await_writing(state: &mut VciState, receive: RequestIndex, key: Key, bytes: u64) {
    let wanted = note_message(state, receive, key, bytes);
    state.count_many(Counter::BytesReceived, wanted as u64);
    await_chunks(state, receive, 0, wanted, true);
}

/// Handles a LANDED cell: the sender has written a message into a receive that was offered.
pub(in super::super) fn arrived_landed(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let (peer, aux) = (incoming.peer, incoming.aux());
    if let Some(receive) = land(state, ring, true) {
        note_landed(state, receive, peer, aux);
        state.count(Counter::Landed);
        state.complete_noted(receive);
    }
    true
}

/// Handles a TAKEN cell: the sender sends the chunks of a message for a receive that was offered.
pub(in super::super) fn arrived_taken(state: &mut VciState, ring: usize) -> bool {
    let _ = land(state, ring, false);
    true
}

/// The receive that a LANDED or TAKEN cell names; it has matched then, and awaits its chunks. `None`, and a fault, when the
/// sender may not name it.
fn land(state: &mut VciState, ring: usize, is_whole: bool) -> Option<RequestIndex> {
    let incoming = &state.incoming[ring];
    let (peer, id, bytes) = (incoming.peer, incoming.ring.word(0), incoming.ring.word(1));
    let known = named_by_peer(state, id).filter(|&index| {
        let entry = state.slab.entry(index);
        entry.role() == Role::Receive && entry.record.peer == peer
    });
    let Some(receive) = known else {
        state.blame(peer, "wrote into a receive that does not exist");
        return None;
    };
    let message = (peer, bytes);
    match state
        .posted
        .landed(&mut state.slab, receive, message, is_whole)
    {
        ReceiveLanding::Fault(reason) => {
            state.blame(peer, reason);
            return None;
        }
        ReceiveLanding::Matched => {}
        ReceiveLanding::Matches => {
            let key = Key {
                word: state.slab.record(receive).match_word,
                peer,
            };
            state.count(Counter::ReceivesPosted);
            if state.is_traced() {
                let kind = (TraceKind::MatchedByOffer, id);
                state.trace_match_of(receive, key, bytes, kind);
            }
            match is_whole {
                true => note_written(state, ring, bytes),
                false => note_arrival(state, ring, bytes, true),
            }
            await_writing(state, receive, key, bytes);
        }
    }
    Some(receive)
}

/// Copies a message whose receive is not posted into memory of its own, where the message would have been eager but for this
/// rank's preference: so its sender waits no longer than until this rank makes progress.
fn hold(state: &mut VciState, ring: usize, key: Key, description: [u64; 6]) -> bool {
    let [bytes, sender, address, _, proof, _] = description;
    let incoming = &state.incoming[ring];
    let fits_eager = bytes <= state.node.eager_bytes as u64 && bytes >= copy_mode::SMALLEST;
    if !fits_eager || address == 0 || incoming.throttled || state.node.cma != CmaPolicy::Measured {
        return false;
    }
    let Some(pid) = readable(state, key.peer, proof) else {
        return false;
    };
    // Without memory the message stays with its sender.
    let Ok(mut memory) = state.spare.take(bytes as usize) else {
        return false;
    };
    memory.resize(bytes as usize, 0);
    // SAFETY: `memory` has `bytes` bytes.
    if !unsafe {
        read(
            state,
            Remote { pid, address },
            memory.as_mut_ptr(),
            bytes as usize,
        )
    } {
        state.spare.keep(memory);
        return false;
    }
    let Some(index) = eager::keep(state, Role::Held, key, bytes) else {
        return false;
    };
    let entry = state.slab.entry_mut(index);
    entry.unexpected_mut().sender = 0;
    entry.extra.get_or_insert_default().held = memory;
    state.count(Counter::CrossCopies);
    eager::account(state, ring, bytes as i64);
    state.count(Counter::Dones);
    send_control(state, key.peer, cell::FIN, [sender, 0]);
    true
}
