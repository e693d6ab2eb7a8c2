// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transmits sends by the protocol that fits, or queues them in order.

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::ring::INJECT_BYTES;
use fabric::trace::TraceKind;
use protocols::{Facts, Protocol, protocol_of};

use super::preferences::receiver_prefers_cma;
use super::signature::{announce, mark_announced};
use super::{eager, inject, is_contiguous, pack, rendezvous, zero_copy};
use crate::errors::Result;
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, flag};
use crate::vci::VciState;
use crate::vci::cell::{self, Marks};
use crate::vci::link::Queued;

const _: () = assert!(INJECT_BYTES as u64 == protocols::INJECT_BYTES);

/// Starts a send whose fields are filled in: transmits it, or queues it in order.
pub(crate) fn start_send(state: &mut VciState, index: RequestIndex) -> Result<()> {
    let peer = state.slab.entry(index).send().target;
    state.observe_send(index);
    let entry = state.slab.entry_mut(index);
    entry.send_mut().position = 0;
    if entry.has(flag::TYPED) {
        mark_announced(entry, false);
    }
    if entry.extra.is_some() {
        load_staged(state, index)?;
    }
    if state.links[peer].backlogged || !transmit(state, index)? {
        state.slab.record_mut(index).kind = record_kind::SEND_QUEUED;
        state.count(Counter::SendsQueued);
        state.enqueue(peer, Queued::Send(index));
    }
    Ok(())
}

/// Fetches the packed bytes of a send whose memory is a GPU's.
#[inline(never)]
pub(crate) fn load_staged(state: &mut VciState, index: RequestIndex) -> Result<()> {
    let extra = state.slab.entry_mut(index).extra.as_mut();
    match extra.and_then(|extra| extra.staged.as_mut()) {
        Some(staged) => staged.load(),
        None => Ok(()),
    }
}

/// Transmits a send; false when the ring has no room.
pub(crate) fn transmit(state: &mut VciState, index: RequestIndex) -> Result<bool> {
    let entry = state.slab.entry(index);
    let (peer, word) = (entry.send().target, entry.record.match_word);
    if !state.links[peer].sender.is_connected() {
        state.links.connect(&mut state.transport, peer)?;
    }
    let facts = facts_of(state, index);
    if facts.is_typed && !announce(state, index, peer) {
        return Ok(false);
    }
    let protocol = protocol_of(&facts);
    let sent = match protocol {
        Protocol::Inject => transmit_injected(state, index, peer, word),
        Protocol::InPlace => zero_copy::write(state, index, word),
        Protocol::Eager => transmit_eager(state, index, peer, word, facts.is_synchronous),
        Protocol::Offered => match rendezvous::write_offered(state, index, peer, word) {
            Some(is_started) => return Ok(is_started),
            None => rendezvous::transmit_rts(state, index, peer, word),
        },
        Protocol::Announced => rendezvous::transmit_rts(state, index, peer, word),
    };
    if sent {
        sent_by(state, index, protocol, &facts);
    }
    Ok(sent)
}

/// Gathers what decides how a send travels.
fn facts_of(state: &VciState, index: RequestIndex) -> Facts {
    let entry = state.slab.entry(index);
    let (peer, bytes) = (entry.send().target, entry.record.bytes);
    let limit = eager::longest_eager(state, peer) as u64;
    Facts {
        bytes,
        eager_bytes: limit,
        is_begun: entry.send().position != 0,
        is_synchronous: entry.has(flag::SYNCHRONOUS),
        is_typed: entry.has(flag::TYPED),
        is_contiguous: is_contiguous(entry),
        is_throttled: state.links[peer].sender.is_throttled(),
        reads_rather: bytes <= limit && receiver_prefers_cma(state, index),
        leaves_in_place: !state.is_traced() && zero_copy::applies(state, peer, bytes as usize),
        // Only the attempt shows whether it has.
        may_be_offered: true,
    }
}

/// Injects a message; false when the ring has no room.
fn transmit_injected(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
) -> bool {
    let (entry, link) = (state.slab.entry(index), &mut state.links[peer]);
    let bytes = entry.record.bytes as usize;
    let mut data = [0u64; INJECT_BYTES / 8];
    // SAFETY: the send's memory is readable (contract of isend); `data` holds at least `bytes` bytes (`Protocol::Inject`).
    unsafe { pack(entry, 0, data.as_mut_ptr().cast(), bytes) };
    if !link.has_room_in_order() {
        return false;
    }
    let (is_traced, departure) = (state.is_traced(), state.before_sending(peer));
    let (link, data) = (&mut state.links[peer], data.as_ptr().cast());
    // SAFETY: a credit is there, and `data` is as long as any injected message.
    unsafe {
        match is_traced {
            true => inject::write_as::<{ cell::INJECT_TRACED }>(link, word, data, bytes),
            false => inject::write(link, word, data, bytes),
        }
    }
    state.observe_sent(index, TraceKind::SentInject, departure);
    true
}

/// Records that a message has gone, and completes its send unless that waits for something.
fn sent_by(state: &mut VciState, index: RequestIndex, protocol: Protocol, facts: &Facts) {
    let peer = state.slab.entry(index).send().target;
    let link = &mut state.links[peer];
    let wakes = link.wakes;
    link.ring_doorbell();
    state.observe_wakes(peer, wakes);
    let counter = match protocol {
        // Counted by the link.
        Protocol::Inject => None,
        Protocol::InPlace | Protocol::Eager => Some(Counter::SendsEager),
        Protocol::Offered | Protocol::Announced => Some(Counter::SendsRendezvous),
    };
    if let Some(counter) = counter {
        state.count(counter);
        state.count_many(Counter::BytesSent, facts.bytes);
    }
    let is_complete =
        matches!(protocol, Protocol::Inject | Protocol::Eager) && !facts.is_synchronous;
    if is_complete {
        state.complete_noted(index);
    } else {
        state.slab.record_mut(index).kind = record_kind::SEND_ACTIVE;
        state.offered += 1;
    }
}

/// Writes as much of an operation's eager message as there is room for; true when all of it is written.
fn transmit_eager(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
    synchronous: bool,
) -> bool {
    let entry = state.slab.entry(index);
    let mut message = eager::Outgoing {
        peer,
        word,
        source: eager::Source::Operation(index),
        bytes: entry.record.bytes as usize,
        position: entry.send().position,
        id: if synchronous { entry.id().0 } else { 0 },
        marks: Marks {
            typed: entry.has(flag::TYPED),
            traced: state.is_traced(),
        },
    };
    let (begun, departure) = (message.position, state.before_sending(peer));
    // SAFETY: a send's memory is readable until it completes (contract of isend).
    let is_written = unsafe { eager::write(state, &mut message) };
    if begun == 0 && (message.position != 0 || is_written) {
        state.observe_sent(index, TraceKind::SentEager, departure);
    }
    state.slab.entry_mut(index).send_mut().position = message.position;
    is_written
}

/// Completes a send that waited for its receiver.
pub(super) fn complete_offered(state: &mut VciState, index: RequestIndex) {
    state.offered -= 1;
    state.complete_noted(index);
}
