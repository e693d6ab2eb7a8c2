// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cancelling (MPI_Cancel).
//!
//! A receive that has not matched is taken out of its queue, a send that has not left this rank out of the backlog. For a send
//! whose receiver knows of it and which is not complete, the receiver is asked (RECALL): if no receive and no probe has taken
//! the message yet, it forgets it and says so (RECALLED); else the send goes on, and needs no answer. Cells
//! arrive in order, so the request finds all of the message there. What is complete stays so: eager messages are sent when their
//! data have left the buffer.

use fabric::board::kind as record_kind;

use super::rendezvous::{self, Answer};
use super::{eager, early, named_by_peer, send_control};
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, Role, SendBody, flag};
use crate::vci::VciState;
use crate::vci::cell::{Recall, Recalled};
use crate::vci::link::Queued;

/// Cancels a receive that has not matched; nothing else.
pub(crate) fn cancel_receive(state: &mut VciState, index: RequestIndex) {
    let kind = state.slab.record(index).kind;
    // A sender that has claimed the receive writes its message now.
    let posted = kind == record_kind::RECEIVE_POSTED
        || kind == record_kind::RECEIVE_OFFERED && state.posted.reclaim(&mut state.slab, index);
    if posted && state.posted.remove(&mut state.slab, index) {
        end(state, index);
    }
}

/// Cancels an operation if that is possible; a send may end cancelled later.
pub(crate) fn cancel(state: &mut VciState, index: RequestIndex) {
    let kind = state.slab.record(index).kind;
    match kind {
        record_kind::RECEIVE_POSTED | record_kind::RECEIVE_OFFERED => cancel_receive(state, index),
        record_kind::SEND_QUEUED if take_back(state, index) => end(state, index),
        record_kind::SEND_QUEUED | record_kind::SEND_ACTIVE => {
            let peer = state.slab.entry(index).send().target;
            let id = state.slab.id(index);
            rendezvous::note_answered(state, peer, id, Answer::Recalling);
            send_control(state, peer, Recall { sender: id.0 });
        }
        _ => {}
    }
}

fn end(state: &mut VciState, index: RequestIndex) {
    state.slab.record_mut(index).flags |= flag::CANCELLED;
    state.complete_noted(index);
}

/// Takes a send out of the backlog; false when a part of it has left.
fn take_back(state: &mut VciState, index: RequestIndex) -> bool {
    let entry = state.slab.entry(index);
    let SendBody {
        target: peer,
        position,
        ..
    } = *entry.send();
    let announced = entry.extra.as_ref().and_then(|extra| extra.types.as_ref());
    if position != 0 || announced.is_some_and(|types| types.is_announced) {
        return false;
    }
    let backlog = state.backlogs.iter_mut().find(|it| it.peer == peer);
    let Some(backlog) = backlog else {
        return false;
    };
    let before = backlog.queue.len();
    let other = |queued: &Queued| !matches!(queued, Queued::Send(send) if *send == index);
    backlog.queue.retain(other);
    backlog.queue.len() < before
}

/// Handles a RECALL cell: the sender wants to cancel a message.
pub(super) fn arrived_recall(state: &mut VciState, ring: usize, Recall { sender }: Recall) {
    let incoming = &state.incoming[ring];
    let peer = incoming.peer;
    let arriving = incoming.arriving.as_ref().map(|arriving| arriving.index);
    let named = (sender != 0).then(|| state.unexpected.find_sent(&state.slab, peer, sender));
    // A sender that recalls a message that is unknown or still arriving is ignored.
    let Some(message) = named.flatten().filter(|&it| arriving != Some(it)) else {
        return;
    };
    state.unexpected.remove(&mut state.slab, message);
    if state.slab.entry(message).role() == Role::Held {
        let extra = state.slab.entry_mut(message).extra.take();
        let held = extra.map_or(0, |extra| extra.held.len());
        eager::account(state, ring, -(held as i64));
    }
    state.slab.release(message);
    send_control(state, peer, Recalled { sender });
}

/// Handles a RECALLED cell: the receiver has forgotten a message.
pub(super) fn arrived_recalled(
    state: &mut VciState,
    peer: LinkIndex,
    Recalled { sender }: Recalled,
) {
    let named =
        named_by_peer(state, sender).filter(|&index| state.slab.entry(index).sends_to(peer));
    match named {
        Some(index) if state.slab.record(index).kind == record_kind::SEND_ACTIVE => {
            let id = state.slab.id(index);
            rendezvous::note_answered(state, peer, id, Answer::Done);
            early::note_answer(state, index, false);
            state.offered -= 1;
            end(state, index)
        }
        _ => {
            state.blame(peer, "gave back a message that was not sent");
        }
    }
}
