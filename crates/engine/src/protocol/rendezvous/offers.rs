// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offers: a receiver lets a sender write into the memory of a posted receive, before it knows of a message.
//!
//! An OFFER is a hint and rings no doorbell. The receiver stays the only one that matches: the sender uses an offer when no own message
//! with the same key can be on its way to the receiver, which it sees in its ring ([`is_blocked`]), and when it wins the claim word. It
//! then writes the data and says LANDED, in the order of the ring. Where the system refuses the write, it says TAKEN and sends chunks.
//! Which offer meets which message is decided by the state machines of crate `protocols`; this file feeds them and does what they say.

use fabric::board::kind as record_kind;
use fabric::claim::{ClaimTable, MOST_OFFERS};
use fabric::counters::Counter;
use fabric::trace::TraceKind;
use protocols::{Key as PairKey, Kind, ReceiveId, SendAction, SendEvent, SendId};

use super::super::{complete_offered, is_contiguous, named_by_peer, send_control};
use super::far_offers;
use super::movers::write_landing;
use super::policy::{note_post, rendezvous_of, weighs_offers};
use super::sender::announce;
use super::stream;
use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestId, RequestIndex};
use crate::settings::Rendezvous;
use crate::vci::cell::{self, Landed, Offer, Taken};
use crate::vci::matching::{Key, is_in_order};
use crate::vci::offers::{Landing, Moment, Place};
use crate::vci::{Departure, VciState};

/// In the word of an OFFER that locates the memory: it is an offset of the node segment.
const IN_SEGMENT: u64 = 1 << 63;
/// Bits of the word that locates the claim words: which of them.
const SLOT_MASK: u64 = 63;

/// Records a receive that was posted just now, where messages are traced, and offers its memory to its sender, if it is long enough.
#[cold]
#[inline(never)]
pub(crate) fn note_posted(state: &mut VciState, index: RequestIndex, key: Key) {
    state.observe_receive(index, key);
    if state.slab.record(index).bytes >= state.node.offer_min_bytes {
        note_post(state, index);
        offer_receive(state, index, key);
    }
}

/// Offers the memory of a receive to its sender, if its communicator wants that and it is safe.
fn offer_receive(state: &mut VciState, index: RequestIndex, key: Key) {
    if is_far(state, key.peer) {
        return far_offers::offer(state, index, key);
    }
    let entry = state.slab.entry(index);
    let is_typed = |entry: &RequestEntry| {
        entry
            .extra
            .as_ref()
            .is_some_and(|extra| extra.types.is_some())
    };
    if key.is_wild()
        || is_in_order(key.word)
        || !wants_offer(state, entry, key.peer)
        || entry.base.is_null()
        || !is_contiguous(entry)
        || is_typed(entry)
        || !can_offer(state, key.peer)
    {
        return;
    }
    if !state.links[key.peer].sender.is_connected()
        && let Err(error) = state.links.connect(&mut state.transport, key.peer)
    {
        state.fail(&error);
        return;
    }
    // A queued answer to another message has to arrive first; and an offer that comes late is of no use.
    let link = &mut state.links[key.peer];
    if link.backlogged || !link.has_room() {
        return;
    }
    let segment = &state.node.handle;
    let Some(grant) = state.posted.offer(&mut state.slab, segment, index, key) else {
        return;
    };
    let entry = state.slab.entry(index);
    let capacity = entry.record.bytes;
    let shared = segment.offset_of(entry.base, capacity as usize);
    let place = shared.map_or(entry.base as u64, |offset| offset | IN_SEGMENT);
    let proof: *const u64 = &raw const *state.node.proof;
    let mut rings = state.incoming.iter();
    let ring = rings.find(|incoming| incoming.peer == key.peer);
    let cell = Offer {
        number: grant.number,
        word: key.word,
        receive: entry.id().0,
        capacity,
        place,
        proof: proof as u64,
        claims: grant.table | grant.slot as u64,
        consumed: ring.map_or(0, |incoming| incoming.ring.consumed()),
    };
    if cell.put(&mut state.links[key.peer].sender) {
        state.count_other_cell_sent();
        state.count(Counter::OffersSent);
        state.observe_cell_sent(key.peer, &cell.into());
    } else {
        // Nobody knows of the offer.
        let _ = state.posted.reclaim(&mut state.slab, index);
    }
}

/// Whether a receive should be offered to a peer: always with `write`, and with `auto` while that pays.
fn wants_offer(state: &VciState, entry: &RequestEntry, peer: LinkIndex) -> bool {
    match rendezvous_of(state, entry) {
        Rendezvous::Write => true,
        Rendezvous::Auto => {
            state.offer_gains.pays(peer, entry.record.bytes) && weighs_offers(state, peer)
        }
        Rendezvous::Read | Rendezvous::Pipeline => false,
    }
}

/// Whether the receive of a long send may be offered to this rank: with `auto` it may where the receiver has made offers before.
pub(crate) fn may_be_offered(state: &mut VciState, index: RequestIndex) -> bool {
    let entry = state.slab.entry(index);
    let peer = entry.send().target;
    match rendezvous_of(state, entry) {
        Rendezvous::Write => true,
        Rendezvous::Auto => state.known.of(peer).is_some() || state.stored.of(peer).is_some(),
        Rendezvous::Read | Rendezvous::Pipeline => false,
    }
}

/// Whether offers between this rank and a peer can be: both see the claim words.
fn can_offer(state: &VciState, peer: LinkIndex) -> bool {
    let node = &state.node;
    node.offers && peer != node.own_link() && node.handle.is_here(node.peers.process(peer))
}

/// Whether a peer is on another node.
pub(super) fn is_far(state: &VciState, peer: LinkIndex) -> bool {
    let node = &state.node;
    !node.handle.is_here(node.peers.process(peer))
}

/// Handles an OFFER cell.
pub(in super::super) fn arrived_offer(state: &mut VciState, peer: LinkIndex, cell: Offer) {
    let Offer {
        number,
        word,
        receive,
        capacity,
        place,
        proof,
        claims,
        consumed,
    } = cell;
    let segment = &state.node.handle;
    let slot = (claims & SLOT_MASK) as usize;
    let claims = ClaimTable::at(segment, claims & !SLOT_MASK);
    let place = match place & IN_SEGMENT {
        0 => Some(Place::Private(place, proof)),
        _ => segment
            .address(place & !IN_SEGMENT, capacity)
            .map(|_| Place::Segment(place & !IN_SEGMENT)),
    };
    let is_possible = slot < MOST_OFFERS
        && capacity != 0
        && can_offer(state, peer)
        && consumed <= state.links[peer].sender.published();
    let (true, Some(claims), Some(place)) = (is_possible, claims, place) else {
        state.blame(peer, "offered memory that it cannot have");
        return;
    };
    let landing = Landing {
        receive,
        place,
        claims,
        slot,
        number,
    };
    let offers = state.known.obtain(peer);
    offers.consumed = offers.consumed.max(consumed);
    let offer = offers.add(word, capacity, landing);
    let open = offers.oldest_open(word);
    let is_blocked = open.is_some_and(|position| is_blocked(state, peer, word, position));
    drive(state, peer, SendEvent::Rtr { offer, is_blocked });
}

/// Whether a message with a match word may be on its way to a peer, in the cells before position `end`: the peer may give it the next
/// receive that it offers. An announced message that was answered, or written into an offered receive, is not on its way any longer.
fn is_blocked(state: &mut VciState, peer: LinkIndex, word: u64, end: u64) -> bool {
    let known = state.known.of(peer).map_or(0, |offers| offers.consumed);
    let cells = state.links[peer].sender.unconsumed(known);
    let is_waiting = |id: u64| {
        let send = named_by_peer(state, id);
        send.is_some_and(|index| state.slab.record(index).kind == record_kind::SEND_ACTIVE)
    };
    cells
        .take_while(|&(position, _)| position < end)
        .filter(|(_, cell)| cell.match_word == word)
        .any(|(_, cell)| match cell.kind {
            cell::INJECT | cell::INJECT_TRACED | cell::Eager::KIND => true,
            cell::Rts::KIND | cell::RtsData::KIND => is_waiting(cell.words[1]),
            _ => false,
        })
}

/// Starts a long send to a receiver that has offered memory: writes it there, or announces it. `None` when the receiver has offered
/// none, or other messages wait for room; `Some(false)` when the ring has none.
pub(in super::super) fn write_offered(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
) -> Option<bool> {
    if is_far(state, peer) {
        return far_offers::put_offered(state, index, peer, word);
    }
    let is_asked = rendezvous_of(state, state.slab.entry(index)) == Rendezvous::Write;
    if is_asked && can_offer(state, peer) {
        // So that an offer may meet the first message, too.
        state.known.obtain(peer);
    }
    let has_offer = state.known.of(peer)?.has_offer(word);
    if !has_offer && !is_asked {
        return None;
    }
    let link = &mut state.links[peer];
    if link.backlogged {
        return None;
    }
    if !link.has_room() {
        return Some(false);
    }
    let is_blocked = has_offer && is_blocked(state, peer, word, u64::MAX);
    if has_offer && !is_blocked {
        state.count(Counter::FastReceives);
    }
    let record = state.slab.record_mut(index);
    record.kind = record_kind::SEND_ACTIVE;
    let bytes = record.bytes;
    state.offered += 1;
    state.count(Counter::SendsRendezvous);
    state.count_many(Counter::BytesSent, bytes);
    let send = state.slab.id(index);
    state.known.obtain(peer).track(send);
    let event = SendEvent::Posted {
        send: SendId(send.0),
        key: PairKey(word),
        bytes,
        kind: Kind::Long,
        is_blocked,
    };
    drive(state, peer, event);
    Some(true)
}

/// Tells the state machine of an answer to a send, if it knows the send; false when the answer fits nothing.
pub(in super::super) fn note_answered(
    state: &mut VciState,
    peer: LinkIndex,
    send: RequestId,
    answer: Answer,
) -> bool {
    let Some(offers) = state.known.of(peer).filter(|offers| offers.knows(send)) else {
        return true;
    };
    let name = SendId(send.0);
    let event = match answer {
        Answer::Done => SendEvent::Fin { send: name },
        Answer::Requested => SendEvent::Cts {
            send: name,
            receive: ReceiveId(0),
            capacity: 0,
        },
        Answer::Pushed => SendEvent::Pushed { send: name },
        Answer::Recalling => SendEvent::Recalled { send: name },
    };
    let mut actions = Vec::new();
    offers.handle(event, &mut actions);
    if matches!(answer, Answer::Done | Answer::Requested) {
        offers.note_answer(send);
    }
    if matches!(answer, Answer::Done | Answer::Pushed) {
        offers.forget(send);
    }
    let is_fault = |action: &SendAction| matches!(action, SendAction::Fault { .. });
    !actions.iter().any(is_fault)
}

/// What becomes of a send by what others do; the caller completes it, or sends its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Answer {
    /// The receiver has it, or has forgotten it.
    Done,
    /// The receiver wants chunks.
    Requested,
    /// All chunks are in the ring.
    Pushed,
    /// This rank asks for it back.
    Recalling,
}

/// Has the state machine handle an event, and does what it says.
fn drive(state: &mut VciState, peer: LinkIndex, event: SendEvent) {
    let mut actions = Vec::new();
    state.known.obtain(peer).handle(event, &mut actions);
    let mut next = 0;
    while let Some(&action) = actions.get(next) {
        next += 1;
        if let Some(outcome) = execute(state, peer, action) {
            state.known.obtain(peer).handle(outcome, &mut actions);
        }
    }
}

/// Does what the state machine says; an outcome that it has to hear at once.
fn execute(state: &mut VciState, peer: LinkIndex, action: SendAction) -> Option<SendEvent> {
    match action {
        SendAction::SendRts { send } => send_rts(state, peer, send),
        SendAction::Claim { send, receive } => {
            let landing = state.known.obtain(peer).landing(receive);
            let is_won = landing.is_some_and(|landing| landing.claim());
            if is_won {
                observe_written(state, peer, send, receive);
            }
            return Some(SendEvent::Claimed {
                send,
                is_won,
                in_parts: false,
            });
        }
        SendAction::Write {
            send,
            receive,
            bytes,
            rts_sent,
        } => {
            state.count(Counter::OffersUsed);
            if rts_sent {
                state.count(Counter::Crossings);
            }
            let landing = state.known.obtain(peer).landing(receive);
            let index = named_by_peer(state, send.0);
            let is_written = landing.zip(index).is_some_and(|(landing, index)| {
                write_landing(state, index, peer, &landing, bytes as usize)
            });
            return Some(match is_written {
                true => SendEvent::Written { send },
                false => SendEvent::Refused { send },
            });
        }
        SendAction::SendTaken { receive, bytes, .. } => {
            let receive = landing_of(state, peer, receive);
            if let Some(receive) = receive {
                send_control(state, peer, Taken { receive, bytes });
            }
        }
        SendAction::SendLanded { receive, bytes, .. } => {
            let receive = landing_of(state, peer, receive);
            if let Some(receive) = receive {
                let moment = Moment::NONE;
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
        }
        SendAction::Push { send, receive } => push(state, peer, send, receive),
        SendAction::Complete { send } => {
            state.known.obtain(peer).forget(RequestId(send.0));
            if let Some(index) = named_by_peer(state, send.0) {
                complete_offered(state, index);
            }
        }
        SendAction::Fault { reason } => state.blame(peer, reason),
        // Variants without claim words, and a dead peer, with which the job ends.
        SendAction::SendEager { .. } | SendAction::Fail { .. } => {}
    }
    None
}

/// Announces a send; an offer may meet it later.
fn send_rts(state: &mut VciState, peer: LinkIndex, send: SendId) {
    let position = state.links[peer].sender.published();
    let Some(index) = named_by_peer(state, send.0) else {
        return;
    };
    let word = state.slab.record(index).match_word;
    if !announce(state, index, peer, word) {
        state.fail_with("a cell that was there was not available".to_owned());
        return;
    }
    state.links[peer].ring_doorbell();
    let offers = state.known.obtain(peer);
    offers.note_rts(RequestId(send.0), position);
}

/// Records that a send has an offered receive, to which its data go now.
fn observe_written(state: &mut VciState, peer: LinkIndex, send: SendId, receive: ReceiveId) {
    let landing = state.known.obtain(peer).landing(receive);
    if let Some((index, landing)) = named_by_peer(state, send.0).zip(landing) {
        let departure = Departure {
            position: landing.receive,
            ..state.before_sending(peer)
        };
        state.observe_sent(index, TraceKind::Written, departure);
    }
}

/// The offered receive, as its owner names it.
fn landing_of(state: &mut VciState, peer: LinkIndex, receive: ReceiveId) -> Option<u64> {
    let landing = state.known.obtain(peer).landing(receive)?;
    Some(landing.receive)
}

/// Sends the data of a send in chunks to an offered receive.
fn push(state: &mut VciState, peer: LinkIndex, send: SendId, receive: ReceiveId) {
    let landing = state.known.obtain(peer).landing(receive);
    if let Some((index, landing)) = named_by_peer(state, send.0).zip(landing) {
        let body = state.slab.entry_mut(index).send_mut();
        (body.receiver, body.position) = (landing.receive, 0);
        stream(state, peer, index);
    }
}
