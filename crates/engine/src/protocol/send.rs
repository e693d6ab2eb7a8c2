// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transmits sends by the protocol that fits, or queues them in order.

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::ring::INJECT_BYTES;
use fabric::trace::TraceKind;

use super::preferences::receiver_prefers_cma;
use super::signature::{announce, first_aux, mark_announced};
use super::{TRACED, eager, inject, is_contiguous, pack, rendezvous, traced, zero_copy};
use crate::errors::Result;
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, flag};
use crate::vci::VciState;
use crate::vci::link::Queued;

/// Starts a send whose fields are filled in: transmits it, or queues it in order.
pub(crate) fn start_send(state: &mut VciState, index: RequestIndex) -> Result<()> {
    let peer = state.slab.entry(index).send().target;
    if state.is_traced() {
        state.trace_send(index);
    }
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
    let (peer, bytes) = (entry.send().target, entry.record.bytes as usize);
    let (synchronous, typed) = (entry.has(flag::SYNCHRONOUS), entry.has(flag::TYPED));
    let word = state.slab.record(index).match_word;
    // An eager message whose first chunks are out goes on, whatever has changed.
    let begun = entry.send().position != 0;
    if !state.links[peer].sender.is_connected() {
        state.links.connect(&mut state.transport, peer)?;
    }
    let link = &mut state.links[peer];
    let throttled = link.sender.is_throttled();
    if typed && !announce(state, index, peer) {
        return Ok(false);
    }
    let fits_eager = bytes <= eager::longest_eager(state, peer) && !throttled;
    let at_once = begun || fits_eager && (synchronous || !receiver_prefers_cma(state, index));
    let is_traced = state.is_traced();
    let is_zero_copy = at_once
        && !synchronous
        && !typed
        && !is_traced
        && zero_copy::applies(state, peer, bytes)
        && is_contiguous(state.slab.entry(index));
    let (entry, link) = (state.slab.entry(index), &mut state.links[peer]);
    let sent = if bytes <= INJECT_BYTES && !synchronous && !throttled && !typed {
        let mut data = [0u64; INJECT_BYTES / 8];
        // SAFETY: the send's memory is readable (contract of isend); `data` holds at least `bytes` bytes.
        unsafe { pack(entry, 0, data.as_mut_ptr().cast(), bytes) };
        let has_room = link.has_room_in_order();
        if has_room && is_traced {
            traced::inject(state, index, (peer, word), (&data, bytes));
        } else if has_room {
            // SAFETY: a credit is there, and `data` is as long as any injected message.
            unsafe { inject::write(link, word, data.as_ptr().cast(), bytes) };
        }
        has_room
    } else if is_zero_copy {
        zero_copy::write(state, index, word)
    } else if at_once {
        transmit_eager(state, index, peer, word, synchronous)
    } else if let Some(is_started) = (!typed)
        .then(|| rendezvous::write_offered(state, index, peer, word))
        .flatten()
    {
        return Ok(is_started);
    } else {
        rendezvous::transmit_rts(state, index, peer, word)
    };
    if sent {
        let link = &mut state.links[peer];
        let wakes = link.wakes;
        link.ring_doorbell();
        if state.is_traced() {
            state.trace_wakes(peer, wakes);
        }
        count_sent(state, bytes, at_once, synchronous || typed);
        if synchronous || !at_once || is_zero_copy {
            state.slab.record_mut(index).kind = record_kind::SEND_ACTIVE;
            state.offered += 1;
        } else {
            state.complete_noted(index);
        }
    }
    Ok(sent)
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
        aux: first_aux(entry) | if state.is_traced() { TRACED } else { 0 },
    };
    let (begun, departure) = (message.position, state.before_sending(peer));
    // SAFETY: a send's memory is readable until it completes (contract of isend).
    let is_written = unsafe { eager::write(state, &mut message) };
    if state.is_traced() && begun == 0 && (message.position != 0 || is_written) {
        state.trace_sent(index, TraceKind::SentEager, departure);
    }
    state.slab.entry_mut(index).send_mut().position = message.position;
    is_written
}

/// Counts a transmitted message; injected ones are counted by their links.
fn count_sent(state: &mut VciState, bytes: usize, eager: bool, in_payload: bool) {
    if bytes <= INJECT_BYTES && eager && !in_payload {
        return;
    }
    let counter = if eager {
        Counter::SendsEager
    } else {
        Counter::SendsRendezvous
    };
    state.count(counter);
    state.count_many(Counter::BytesSent, bytes as u64);
}

/// Completes a send that waited for its receiver.
pub(super) fn complete_offered(state: &mut VciState, index: RequestIndex) {
    state.offered -= 1;
    state.complete_noted(index);
}
