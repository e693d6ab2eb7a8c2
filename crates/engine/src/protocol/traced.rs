// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that are traced: injected ones have cells of their own kind, for those of others are handled where nothing is recorded.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use fabric::ring::INJECT_BYTES;
use fabric::trace::{TraceControl, TraceKind};

use super::inject as injection;
use super::{Handled, cell, eager, hand_injected};
use crate::identity::LinkIndex;
use crate::request::RequestIndex;
use crate::vci::VciState;
use crate::vci::matching::{Key, is_in_order};

/// Words of an injected message.
type Words = [u64; INJECT_BYTES / 8];

/// Injects the message of a send, for which there is a credit.
#[cold]
pub(super) fn inject(
    state: &mut VciState,
    index: RequestIndex,
    (peer, word): (LinkIndex, u64),
    (data, bytes): (&Words, usize),
) {
    let departure = state.before_sending(peer);
    let link = &mut state.links[peer];
    // SAFETY: a credit is there (caller), and `data` is as long as any injected message.
    unsafe {
        injection::write_as::<{ cell::INJECT_TRACED }>(link, word, data.as_ptr().cast(), bytes);
    }
    state.trace_sent(index, TraceKind::SentInject, departure);
}

/// Handles an INJECT_TRACED cell.
#[cold]
pub(super) fn arrived_injected(state: &mut VciState, ring: usize, bytes: usize) -> Handled {
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
        let kept = eager::keep_injected(state, ring, key, bytes);
        return if kept { Handled::Yes } else { Handled::No };
    };
    if state.is_traced() {
        state.trace_match(receive, key, bytes as u64);
        state.trace_match_of(receive, key, bytes as u64, (TraceKind::ReceiveDone, 0));
    }
    hand_injected(state, ring, receive, key, bytes);
    Handled::Yes
}

/// Hands a kept message that was injected to its receive.
#[cold]
pub(super) fn deliver_injected(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    (data, bytes): (Words, usize),
) {
    // Before the receive may be released.
    state.trace_match_of(receive, key, bytes as u64, (TraceKind::ReceiveDone, 0));
    eager::deliver(state, receive, key, data.as_ptr().cast(), bytes);
}

/// Records a cell without data that has gone to a peer, where messages are traced.
#[inline]
pub(super) fn note_sent<const N: usize>(
    state: &mut VciState,
    peer: LinkIndex,
    kind: u8,
    words: [u64; N],
) {
    if state.is_traced() {
        let told = (words[0], words[N - 1]);
        let bytes = match kind {
            cell::TAKEN | cell::LANDED | cell::CTS_PUT => told.1,
            _ => 0,
        };
        let told = (told.0, bytes);
        state.trace_control(peer, TraceKind::ControlSent, control_of(kind), told);
    }
}

/// Records a cell that has been handled, where messages are traced, unless it brought a message: that has met its receive, or is kept.
#[inline]
pub(super) fn note_arrived(state: &mut VciState, ring: usize, kind: u8) {
    if state.is_traced() {
        trace_arrived(state, ring, kind);
    }
}

#[cold]
fn trace_arrived(state: &mut VciState, ring: usize, kind: u8) {
    let incoming = &state.incoming[ring];
    let word = |index| incoming.ring.word(index);
    let told = match kind {
        cell::EAGER | cell::RTS | cell::RTS_DATA | cell::SIGNATURE => return,
        cell::CHUNK | cell::TAKEN | cell::LANDED | cell::OFFER => (word(0), word(1)),
        cell::EAGER_CHUNK | cell::EARLY_CHUNK => (0, word(1)),
        cell::CTS_PUT => (word(0), word(4)),
        _ => (word(0), 0),
    };
    let peer = incoming.peer;
    state.trace_control(peer, TraceKind::ControlArrived, control_of(kind), told);
}

const fn control_of(kind: u8) -> TraceControl {
    match kind {
        cell::CTS | cell::CTS_REST => TraceControl::Cts,
        cell::CHUNK | cell::EAGER_CHUNK | cell::EARLY_CHUNK => TraceControl::Chunk,
        cell::FIN => TraceControl::Fin,
        cell::CTS_PUT => TraceControl::PutRequest,
        cell::PUT_DONE => TraceControl::PutDone,
        cell::OFFER => TraceControl::Offer,
        cell::TAKEN => TraceControl::Taken,
        cell::LANDED => TraceControl::Landed,
        cell::RECALL => TraceControl::Recall,
        cell::RECALLED => TraceControl::Recalled,
        _ => TraceControl::Other,
    }
}
