// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles arrived cells, by their kinds.

// account: fabric

use fabric::ring::Arrival;

use super::signature::{TYPED, arrived_signature, check_types};
use super::{cancel, cell, eager, early, is_contiguous, put, rendezvous, traced};
use crate::request::{RequestId, RequestIndex};
use crate::vci::VciState;
use crate::vci::matching::Key;

/// The result of handling an arrived cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    /// It was handled.
    Yes,
    /// It was handled, and a waiting rank should poll for completion: the next message may answer what the rank does then.
    Poll,
    /// It must wait because the operation slab is full.
    No,
}

/// Handles one arrived cell of ring `index`.
// TIER: short
#[inline(always)]
pub(crate) fn arrived(state: &mut VciState, index: usize, arrival: Arrival) -> Handled {
    if arrival.kind() != cell::INJECT {
        return arrived_longer(state, index, arrival);
    }
    let incoming = &mut state.incoming[index];
    let bytes = arrival.bytes();
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let Some(receive) = state.posted.take(&mut state.slab, key) else {
        let kept = eager::keep_injected(state, index, key, bytes);
        return if kept { Handled::Yes } else { Handled::No };
    };
    hand_injected(state, index, receive, key, bytes);
    Handled::Yes
}

/// [`arrived`] of an injected message without a tag.
// TIER: short
#[inline]
fn arrived_in_order(state: &mut VciState, index: usize, bytes: usize) -> Handled {
    let incoming = &mut state.incoming[index];
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let Some(receive) = state.posted.take_in_order(&mut state.slab, key) else {
        let kept = eager::keep_injected(state, index, key, bytes);
        return if kept { Handled::Yes } else { Handled::No };
    };
    hand_injected(state, index, receive, key, bytes);
    Handled::Yes
}

/// Hands the injected message of ring `index` to its receive.
// TIER: short
#[inline(always)]
pub(super) fn hand_injected(
    state: &mut VciState,
    index: usize,
    receive: RequestIndex,
    key: Key,
    bytes: usize,
) {
    let incoming = &mut state.incoming[index];
    let entry = state.slab.entry(receive);
    if bytes as u64 <= entry.record.bytes && is_contiguous(entry) {
        // SAFETY: a receive's buffer is writable for its `bytes` until it completes (contract of irecv).
        unsafe { incoming.ring.copy_injected(entry.base, bytes) };
        incoming.ring.advance();
        incoming.injected_bytes += bytes as u64;
        let record = state.slab.record_mut(receive);
        (record.match_word, record.peer, record.bytes) = (key.word, key.peer, bytes as u64);
        state.complete(receive);
    } else {
        eager::deliver_injected(state, index, receive, key, bytes);
    }
}

/// Handles a cell that is no injected message with a tag: whole messages first.
#[inline(never)]
fn arrived_longer(state: &mut VciState, index: usize, arrival: Arrival) -> Handled {
    if arrival.kind() == cell::INJECT_IN_ORDER {
        return arrived_in_order(state, index, arrival.bytes());
    }
    if is_untyped_eager(arrival) && eager::arrived_untyped_eager(state, index) {
        return Handled::Poll;
    }
    arrived_other(state, index, arrival)
}

/// Whether a cell may hold a whole message without a signature.
#[inline(always)]
pub(super) fn is_untyped_eager(arrival: Arrival) -> bool {
    arrival.kind() == cell::EAGER && arrival.aux() == 0
}

/// Takes a handled cell out of its ring.
#[inline(always)]
pub(super) fn consume(state: &mut VciState, index: usize) {
    state.count_other_cell_received();
    state.incoming[index].ring.advance();
    state.count_taken_in();
}

#[cold]
#[inline(never)]
fn arrived_other(state: &mut VciState, index: usize, arrival: Arrival) -> Handled {
    if arrival.kind() == cell::INJECT_TRACED {
        return traced::arrived_injected(state, index, arrival.bytes());
    }
    let is_typed = arrival.aux() & TYPED != 0 && arrival.kind() != cell::OFFER;
    if is_typed {
        state.signature = state.incoming[index].signature.take();
    }
    let handled = match arrival.kind() {
        cell::EAGER => eager::arrived_eager(state, index),
        cell::EAGER_CHUNK => eager::arrived_eager_chunk(state, index),
        cell::RTS => rendezvous::arrived_rts(state, index),
        cell::CTS => rendezvous::arrived_cts(state, index, false),
        cell::CTS_REST => rendezvous::arrived_cts(state, index, true),
        cell::RTS_DATA => early::arrived_rts_data(state, index),
        cell::EARLY_CHUNK => early::arrived_early_chunk(state, index),
        cell::CHUNK => rendezvous::arrived_chunk(state, index),
        cell::FIN => rendezvous::arrived_fin(state, index),
        cell::CTS_PUT => put::arrived_request(state, index),
        cell::PUT_DONE => put::arrived_done(state, index),
        cell::SIGNATURE => arrived_signature(state, index),
        cell::RECALL => cancel::arrived_recall(state, index),
        cell::RECALLED => cancel::arrived_recalled(state, index),
        cell::OFFER => rendezvous::arrived_offer(state, index),
        cell::TAKEN => rendezvous::arrived_taken(state, index),
        cell::LANDED => rendezvous::arrived_landed(state, index),
        other => {
            let peer = state.incoming[index].peer;
            state.blame(peer, &format!("sent a cell of unknown kind {other}"));
            true
        }
    };
    if is_typed {
        // A handled message has taken its signature; a message that has to wait is handled again.
        let signature = state.signature.take();
        state.incoming[index].signature = signature.filter(|_| !handled);
    }
    if handled {
        traced::note_arrived(state, index, arrival.kind());
        consume(state, index);
    }
    if let Some(peer) = state.posted.contested.take() {
        state.blame(peer, "claimed a receive and sent another message for it");
    }
    match (handled, arrival.kind()) {
        (true, cell::FIN | cell::PUT_DONE | cell::LANDED) => Handled::Poll,
        // A program that waits for one message at a time posts the next receive now, so the next message is not unexpected.
        (true, cell::EAGER | cell::EAGER_CHUNK) if state.incoming[index].arriving.is_none() => {
            Handled::Poll
        }
        (true, _) => Handled::Yes,
        (false, _) => Handled::No,
    }
}

/// Records which message a receive got, and an error if it is longer than the buffer; returns the bytes that fit.
pub(crate) fn note_message(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    bytes: u64,
) -> usize {
    let entry = state.slab.entry_mut(receive);
    entry.record.match_word = key.word;
    entry.record.peer = key.peer;
    let capacity = entry.record.bytes;
    if bytes <= capacity {
        entry.record.bytes = bytes;
    } else {
        entry.error = crate::ErrorClass::ERR_TRUNCATE.0;
        entry.extra.get_or_insert_default().error_text =
            format!("the message has {bytes} bytes, the receive buffer holds {capacity}");
    }
    let fitting = entry.record.bytes as usize;
    if state.signature.is_some() {
        check_types(state, receive, key.peer);
    }
    fitting
}

/// The live request with an id that came from a peer. The id may be any number: the caller checks that the request is with this peer
/// and in the state that the message needs.
pub(crate) fn named_by_peer(state: &VciState, id: u64) -> Option<RequestIndex> {
    state.slab.find(RequestId(id))
}
