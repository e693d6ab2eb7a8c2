// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offers between nodes: a receiver opens the memory of a receive that nobody cancels, of a partition or a collective, and the sender puts
//! the message there.
//!
//! No word is shared, so nobody takes an offer back. Instead both sides know which message it is for: the receive is the first one of its
//! key in the queue, and the OFFER says how many cells its receiver had consumed. The sender puts only if the log of its ring shows
//! that no message of the key has left since. Then no other message can meet the receive, and a receive that has met a message is
//! never put to: so the receiver closes its memory then. Decision 0032 has the argument, the state machines of crate `protocols` the rules.

use std::ptr::NonNull;

use fabric::board::{PARTITIONED, kind as record_kind};
use fabric::counters::Counter;
use fabric::trace::TraceKind;
use fabric::transport::{Opening, PutBegun};
use protocols::{Key as PairKey, Offer, ReceiveId, SendAction, SendEvent, SendId};

use super::super::{begin_put, is_contiguous, send_control};
use super::offers::is_far;
use super::policy::asked_of;
use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestIndex};
use crate::settings::Rendezvous;
use crate::vci::cell::{self, FarOffer, Landed, Taken};
use crate::vci::matching::Key;
use crate::vci::offers::{LEAST_PUT_BYTES, Moment, is_of_collective};
use crate::vci::{Departure, VciState, task};

/// Whether a receive that nobody cancels should be offered: always with `write`. With `auto` that of a partition, which takes
/// fewer control messages so, and that of a nonblocking collective, where its data arrive while the program computes.
fn wants_offer(state: &VciState, entry: &RequestEntry, word: u64) -> bool {
    let is_part = entry.part().is_some() && word & PARTITIONED != 0;
    if !is_part && !is_of_collective(word) {
        return false;
    }
    match asked_of(state, entry) {
        Rendezvous::Write => true,
        Rendezvous::Auto => is_part || state.node.can.puts_unattended && task::is_polled(),
        Rendezvous::Read | Rendezvous::Pipeline => false,
    }
}

/// Opens the memory of a receive to its sender, if its communicator wants that.
pub(super) fn offer(state: &mut VciState, index: RequestIndex, key: Key) {
    let entry = state.slab.entry(index);
    let capacity = entry.record.bytes;
    let start = NonNull::new(entry.base);
    let is_wanted = state.node.offers
        && state.node.can.puts
        && wants_offer(state, entry, key.word)
        && capacity >= LEAST_PUT_BYTES as u64
        && is_contiguous(entry);
    let Some(start) = start.filter(|_| is_wanted) else {
        return;
    };
    if !state.links[key.peer].sender.is_connected()
        && let Err(error) = state.links.connect(&mut state.transport, key.peer)
    {
        state.fail(&error);
        return;
    }
    let link = &mut state.links[key.peer];
    if link.backlogged || !link.has_room() {
        return;
    }
    let opened = state
        .transport
        .open_memory(key.peer, start, capacity as usize);
    let Some((number, opening)) = opened else {
        return;
    };
    if !state.posted.offer_far(&mut state.slab, index, key) {
        state.transport.close_memory(number);
        return;
    }
    state.slab.entry_mut(index).set_open(number);
    let mut rings = state.incoming.iter();
    let ring = rings.find(|incoming| incoming.peer == key.peer);
    let id = state.slab.id(index).0;
    let cell = FarOffer {
        word: key.word,
        receive: id,
        capacity,
        address: opening.address,
        key: opening.key,
        consumed: ring.map_or(0, |incoming| incoming.ring.consumed()),
    };
    let link = &mut state.links[key.peer];
    if !cell.put(&mut link.sender) {
        // The receive gets its message by an answer to an RTS, as if the sender had dropped the offer.
        return;
    }
    // The cell leaves this node when the network is told of it.
    link.ring_doorbell();
    state.count_other_cell_sent();
    state.count(Counter::OffersSent);
    state.observe_cell_sent(key.peer, &cell.into());
}

/// Handles a FAR_OFFER cell.
pub(in super::super) fn arrived_far_offer(state: &mut VciState, peer: LinkIndex, cell: FarOffer) {
    let FarOffer {
        word,
        receive,
        capacity,
        address,
        key,
        consumed,
    } = cell;
    let is_possible = is_far(state, peer)
        && state.node.can.puts
        && capacity != 0
        && consumed <= state.links[peer].sender.published();
    if !is_possible {
        state.blame(peer, "offered memory that it cannot have");
        return;
    }
    let offer = Offer {
        receive: ReceiveId(receive),
        key: PairKey(word),
        capacity,
        number: consumed,
    };
    let memory = Opening { address, key };
    state.stored.obtain(peer).add(offer, memory);
}

/// Whether a message with a match word may have left since a peer had consumed so many cells.
fn may_have_left(state: &VciState, peer: LinkIndex, word: u64, consumed: u64) -> bool {
    match state.links[peer].sender.published_since(consumed) {
        Some(mut cells) => cells.any(|cell| cell.match_word == word && cell::is_message(cell.kind)),
        None => true,
    }
}

/// Starts a long send to a receiver on another node that has offered memory for it: puts it there. `None` when the message has to be
/// announced, `Some(false)` when the ring has no room.
pub(super) fn put_offered(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
) -> Option<bool> {
    let consumed = state.stored.of(peer)?.offered_at(word)?;
    let link = &mut state.links[peer];
    if link.backlogged {
        return None;
    }
    if !link.has_room() {
        return Some(false);
    }
    let entry = state.slab.entry(index);
    let start = NonNull::new(entry.base).filter(|_| is_contiguous(entry));
    let start = start.filter(|_| !may_have_left(state, peer, word, consumed));
    let known = state.stored.of(peer)?;
    let Some(start) = start else {
        // The receive gets this message, or one before it.
        known.forget(word);
        return None;
    };
    let (send, bytes) = (state.slab.id(index).0, state.slab.record(index).bytes);
    let target = known.begin(send, word, bytes)?;
    let memory = (start, target.bytes as usize);
    // SAFETY: the send's memory is readable until it completes (contract of isend), which it does when the put has ended.
    let begun = unsafe { begin_put(state, index, memory, target.memory) };
    let name = SendId(send);
    let event = match begun {
        Ok(PutBegun::Whole) => SendEvent::Written { send: name },
        Ok(PutBegun::InParts) => SendEvent::Begun { send: name },
        Ok(PutBegun::No) => {
            // The announcement is that of all messages, and so is its answer.
            known_end(state, peer, name);
            return None;
        }
        Err(error) => {
            state.fail(&error);
            return Some(true);
        }
    };
    let record = state.slab.record_mut(index);
    record.kind = record_kind::SEND_ACTIVE;
    state.slab.entry_mut(index).send_mut().receiver = 0;
    state.offered += 1;
    state.count(Counter::SendsRendezvous);
    state.count_many(Counter::BytesSent, bytes);
    for counter in [Counter::FastReceives, Counter::OffersUsed, Counter::Puts] {
        state.count(counter);
    }
    let departure = Departure {
        position: target.receive,
        ..state.before_sending(peer)
    };
    state.observe_sent(index, TraceKind::Written, departure);
    tell(state, peer, event);
    Some(true)
}

/// The state machine need not know of a send any longer.
fn known_end(state: &mut VciState, peer: LinkIndex, send: SendId) {
    if let Some(known) = state.stored.of(peer) {
        known.handle(SendEvent::Refused { send });
        known.handle(SendEvent::Fin { send });
    }
}

/// Has the state machine handle an event, and tells the receiver what follows.
fn tell(state: &mut VciState, peer: LinkIndex, event: SendEvent) {
    let Some(known) = state.stored.of(peer) else {
        return;
    };
    for action in known.handle(event) {
        match action {
            SendAction::SendTaken { receive, bytes, .. } => {
                let receive = receive.0;
                send_control(state, peer, Taken { receive, bytes });
            }
            SendAction::SendLanded { receive, bytes, .. } => {
                let (moment, receive) = (Moment::NONE, receive.0);
                send_control(
                    state,
                    peer,
                    Landed {
                        moment,
                        receive,
                        bytes,
                    },
                );
            }
            // The send is complete when the put has left its memory.
            _ => {}
        }
    }
}

/// The put of a send has ended: tells the receiver, unless it has been told.
pub(in super::super) fn note_put_ended(state: &mut VciState, peer: LinkIndex, send: u64) {
    let known = state.stored.of(peer);
    if known.is_some_and(|known| known.knows(send)) {
        let send = SendId(send);
        tell(state, peer, SendEvent::Written { send });
    }
}
