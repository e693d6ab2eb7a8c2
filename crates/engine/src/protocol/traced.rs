// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that are traced: injected ones have cells of their own kind, for those of others are handled where nothing is recorded.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use fabric::ring::INJECT_BYTES;
use fabric::trace::TraceKind;

use super::inject as injection;
use super::{Handled, eager, hand_injected};
use crate::identity::LinkIndex;
use crate::request::RequestIndex;
use crate::vci::VciState;
use crate::vci::cell;
use crate::vci::cell::Cell;
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

impl VciState {
    /// Records a cell that has gone to a peer, where messages are traced.
    #[inline]
    pub(crate) fn trace_cell_sent(&mut self, peer: LinkIndex, cell: &Cell) {
        if self.is_traced() {
            self.trace_cell(peer, TraceKind::ControlSent, cell);
        }
    }

    /// Records a cell that has been handled, where messages are traced.
    #[inline]
    pub(super) fn trace_cell_arrived(&mut self, ring: usize, cell: &Cell) {
        if self.is_traced() {
            let peer = self.incoming[ring].peer;
            self.trace_cell(peer, TraceKind::ControlArrived, cell);
        }
    }

    #[cold]
    fn trace_cell(&mut self, peer: LinkIndex, kind: TraceKind, cell: &Cell) {
        if let Some((control, request, bytes)) = cell.traced() {
            self.trace_control(peer, kind, control, (request, bytes));
        }
    }
}
