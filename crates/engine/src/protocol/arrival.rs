// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles arrived cells, by their kinds.

// account: fabric

use fabric::ring::Arrival;

use super::signature::{arrived_signature, check_types};
use super::{cancel, eager, early, is_contiguous, kept, put, rendezvous};
use crate::request::{RequestId, RequestIndex};
use crate::vci::VciState;
use crate::vci::cell;
use crate::vci::cell::{Cell, Cts, CtsRest, Eager};
use crate::vci::matching::{Key, is_in_order};

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
        let kept = kept::keep_injected(state, index, key, bytes);
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
        let kept = kept::keep_injected(state, index, key, bytes);
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
    arrival.kind() == Eager::KIND && arrival.aux() == 0
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
        return arrived_traced(state, index, arrival.bytes());
    }
    let read = Cell::read(&state.incoming[index].ring, arrival.kind(), arrival.aux());
    let is_typed = read.is_some_and(|cell| cell.is_typed());
    if is_typed {
        state.signature = state.incoming[index].signature.take();
    }
    let handled = match read {
        Some(cell) => handle(state, index, cell),
        None => {
            let peer = state.incoming[index].peer;
            let kind = arrival.kind();
            state.blame(peer, &format!("sent a cell of unknown kind {kind}"));
            true
        }
    };
    if is_typed {
        // A handled message has taken its signature; a message that has to wait is handled again.
        let signature = state.signature.take();
        state.incoming[index].signature = signature.filter(|_| !handled);
    }
    if handled {
        if let Some(cell) = &read {
            state.observe_cell_arrived(index, cell);
        }
        consume(state, index);
    }
    if let Some(peer) = state.posted.contested.take() {
        state.blame(peer, "claimed a receive and sent another message for it");
    }
    match (handled, read) {
        (true, Some(Cell::Fin(_) | Cell::PutDone(_) | Cell::Landed(_))) => Handled::Poll,
        // A program that waits for one message at a time posts the next receive now, so the next message is not unexpected.
        (true, Some(Cell::Eager(_) | Cell::EagerChunk(_)))
            if state.incoming[index].arriving.is_none() =>
        {
            Handled::Poll
        }
        (true, _) => Handled::Yes,
        (false, _) => Handled::No,
    }
}

/// Handles an injected message that is traced: those of others are handled where nothing is recorded.
fn arrived_traced(state: &mut VciState, ring: usize, bytes: usize) -> Handled {
    let incoming = &state.incoming[ring];
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let posted = match is_in_order(key.word) {
        true => state.posted.take_in_order(&mut state.slab, key),
        false => state.posted.take(&mut state.slab, key),
    };
    let Some(receive) = posted else {
        let kept = kept::keep_injected(state, ring, key, bytes);
        return if kept { Handled::Yes } else { Handled::No };
    };
    state.observe_injected(receive, key, bytes as u64);
    hand_injected(state, ring, receive, key, bytes);
    Handled::Yes
}

/// Handles a cell; false when it must wait because the operation slab is full.
fn handle(state: &mut VciState, index: usize, cell: Cell) -> bool {
    let peer = state.incoming[index].peer;
    match cell {
        Cell::Eager(cell) => return eager::arrived_eager(state, index, cell),
        Cell::Rts(cell) => return rendezvous::arrived_rts(state, index, cell),
        Cell::RtsData(cell) => return early::arrived_rts_data(state, index, cell),
        Cell::EagerChunk(cell) => eager::arrived_eager_chunk(state, index, cell),
        Cell::EarlyChunk(cell) => early::arrived_early_chunk(state, index, cell),
        Cell::Chunk(cell) => rendezvous::copy_chunk(state, index, cell),
        Cell::Cts(cell) => rendezvous::arrived_cts(state, peer, cell, false),
        Cell::CtsRest(CtsRest { sender, receiver }) => {
            rendezvous::arrived_cts(state, peer, Cts { sender, receiver }, true);
        }
        Cell::CtsPut(cell) => put::arrived_request(state, peer, cell),
        Cell::PutDone(cell) => put::arrived_done(state, peer, cell),
        Cell::Fin(cell) => rendezvous::arrived_fin(state, peer, cell),
        Cell::Signature(cell) => arrived_signature(state, index, cell),
        Cell::Recall(cell) => cancel::arrived_recall(state, index, cell),
        Cell::Recalled(cell) => cancel::arrived_recalled(state, peer, cell),
        Cell::Offer(cell) => rendezvous::arrived_offer(state, peer, cell),
        Cell::FarOffer(cell) => rendezvous::arrived_far_offer(state, peer, cell),
        Cell::Taken(cell) => rendezvous::arrived_taken(state, index, cell),
        Cell::Landed(cell) => rendezvous::arrived_landed(state, index, cell),
    }
    true
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
