// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender: the RTS, and the answers to it.

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::trace::TraceKind;

use super::super::{complete_offered, early, is_contiguous, named_by_peer, receiver_prefers_cma};
use super::offers::{Answer, note_answered};
use super::policy::{moment_now, rendezvous_of};
use super::stream;
use crate::identity::LinkIndex;
use crate::request::{RequestId, RequestIndex, flag};
use crate::vci::VciState;
use crate::vci::cell::{Announced, Cts, Fin, Rts};

/// Sends the RTS of a send, with data where that helps; false when the ring has no room.
pub(in super::super) fn transmit_rts(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
) -> bool {
    if shared_offset(state, index, peer).is_none()
        && early::should_begin(state, index, peer)
        && early::transmit_rts_data(state, index, peer, word)
    {
        state.count(Counter::Requests);
        return true;
    }
    announce(state, index, peer, word)
}

/// Where the data of a send lie in the node segment, if its receiver may copy them from there.
fn shared_offset(state: &VciState, index: RequestIndex, peer: LinkIndex) -> Option<u64> {
    let entry = state.slab.entry(index);
    let (node, bytes) = (&state.node, entry.record.bytes);
    let most = node.direct_max_bytes(rendezvous_of(state, entry));
    if !is_contiguous(entry) || state.links[peer].is_remote() {
        return None;
    }
    let by_one = bytes <= most || receiver_prefers_cma(state, index);
    let shared = || node.handle.offset_of(entry.base, bytes as usize);
    by_one.then(shared).flatten()
}

/// Sends the RTS of a send without data; false when the ring has no room.
pub(super) fn announce(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
) -> bool {
    let shared = shared_offset(state, index, peer);
    let entry = state.slab.entry(index);
    let address = if is_contiguous(entry) {
        entry.base as u64
    } else {
        0
    };
    let proof: *const u64 = &raw const *state.node.proof;
    let cell = Rts {
        announced: Announced {
            typed: entry.has(flag::TYPED),
            moment: moment_now(state, peer),
        },
        word,
        total: entry.record.bytes,
        sender: entry.id().0,
        address,
        shared: shared.unwrap_or(0),
        proof: proof as u64,
    };
    let departure = state.before_sending(peer);
    if !cell.put(&mut state.links[peer].sender) {
        return false;
    }
    state.observe_sent(index, TraceKind::SentRts, departure);
    state.count_other_cell_sent();
    state.count(Counter::Requests);
    true
}

/// Handles a CTS or CTS_REST cell: the receiver wants the data in chunks, all of them or those not sent yet.
pub(in super::super) fn arrived_cts(
    state: &mut VciState,
    peer: LinkIndex,
    Cts { sender, receiver }: Cts,
    goes_on: bool,
) {
    let Some(index) = answered(state, peer, sender) else {
        return;
    };
    early::note_answer(state, index, goes_on);
    let send = state.slab.entry_mut(index).send_mut();
    send.receiver = receiver;
    if !goes_on {
        send.position = 0;
    }
    stream(state, peer, index);
}

/// The send that a peer's CTS names; `None`, and a fault, when it was not offered or is answered already.
pub(in super::super) fn answered(
    state: &mut VciState,
    peer: LinkIndex,
    sender: u64,
) -> Option<RequestIndex> {
    let is_offered = |index: &RequestIndex| {
        state.slab.entry(*index).sends_to(peer)
            && state.slab.record(*index).kind == record_kind::SEND_ACTIVE
            && !(state.node.can.puts && is_answered(state, *index, sender))
    };
    let known = named_by_peer(state, sender).filter(is_offered);
    let fits = note_answered(state, peer, RequestId(sender), Answer::Requested);
    let known = known.filter(|_| fits);
    if known.is_none() {
        state.blame(peer, "requested a message that was not offered");
    }
    known
}

/// Whether the data of a send are on their way to a peer on another node.
fn is_answered(state: &VciState, index: RequestIndex, sender: u64) -> bool {
    let mut streams = state.streaming.iter();
    streams.any(|streams| streams.queue.contains(&index)) || state.transport.is_putting(sender)
}

/// Handles a FIN cell: the receiver has all it wants.
pub(in super::super) fn arrived_fin(state: &mut VciState, peer: LinkIndex, Fin { sender }: Fin) {
    match named_by_peer(state, sender).filter(|&index| state.slab.entry(index).sends_to(peer)) {
        Some(index)
            if state.slab.record(index).kind == record_kind::SEND_ACTIVE
                && !(state.node.can.puts && state.transport.is_putting(sender))
                && note_answered(state, peer, RequestId(sender), Answer::Done) =>
        {
            // Of a message whose RTS brought data it wanted no chunks.
            early::note_answer(state, index, false);
            complete_offered(state, index)
        }
        _ => state.blame(peer, "acknowledged a message that was not sent"),
    }
}
