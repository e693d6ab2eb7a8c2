// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends cells without data.

use super::rendezvous::moment_aux;
use super::{cell, traced};
use crate::identity::LinkIndex;
use crate::vci::VciState;
use crate::vci::link::Queued;

/// Sends a protocol cell, or queues it in order.
pub(crate) fn send_control(state: &mut VciState, peer: LinkIndex, kind: u8, words: [u64; 2]) {
    if !state.links[peer].sender.is_connected()
        && let Err(error) = state.links.connect(&mut state.transport, peer)
    {
        state.fail(&error);
        return;
    }
    if state.links[peer].backlogged || !put_control(state, peer, kind, words) {
        state.enqueue(peer, Queued::Control { kind, words });
    }
}

/// Sends a protocol cell; false when the ring has no room.
pub(crate) fn put_control(
    state: &mut VciState,
    peer: LinkIndex,
    kind: u8,
    words: [u64; 2],
) -> bool {
    // A cell that has waited behind a full ring says when it leaves.
    let aux = match kind {
        cell::LANDED => moment_aux(state, peer),
        _ => 0,
    };
    let link = &mut state.links[peer];
    let sent = link.sender.put_words(kind, aux, 0, &words);
    if sent {
        link.ring_doorbell();
        state.count_other_cell_sent();
        traced::note_sent(state, peer, kind, words);
    }
    sent
}
