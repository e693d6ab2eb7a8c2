// SPDX-License-Identifier: MIT OR Apache-2.0
//! How one message travels.
//!
//! | message | cells |
//! |---|---|
//! | up to 48 bytes | INJECT: header and data in one cache line |
//! | up to the eager limit, or synchronous | EAGER and EAGER_CHUNK: data in the ring's payload area, in chunks that cells locate; FIN back if synchronous |
//! | with types to be checked | SIGNATURE, then EAGER or RTS, whatever the length |
//! | larger, or to a receiver with too much unexpected data | RTS (ready to send); then the receiver copies the data itself and answers FIN, or answers CTS (clear to send) and gets CHUNKs |
//! | the same where nothing else is in progress to the receiver | RTS_DATA and EARLY_CHUNK bring the first chunks before the CTS, CTS_REST requests the others ([`early`]) |
//!
//! A send can be cancelled until a receive or a probe has taken its message ([`cancel`]).
//!
//! A receiver trusts no number in a cell: operations are named by ids with a generation, lengths are bounded by the receiver's own
//! buffer.

mod backlog;
pub(crate) mod cancel;
mod copies;
pub(crate) mod eager;
mod early;
pub(crate) mod inject;
pub(crate) mod rendezvous;
#[cfg(test)]
mod tests;

use copies::{copy, fill_chunk, pack_chunk, unpack_chunk};
pub(crate) use copies::{is_contiguous, pack, unpack};
use std::ptr::NonNull;

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::ring::{Arrival, ChunkLocation, INJECT_BYTES};

use crate::datatype::SentSignature;
use crate::errors::Result;
use crate::request::{RequestEntry, RequestId, RequestIndex, flag};
use crate::vci::copy_mode;
use crate::vci::link::Queued;
use crate::vci::matching::Key;
use crate::vci::{CmaPolicy, CopyModes, VciState};

/// A bit beside [`CopyModes::preferences`]: the receiver has lately posted its receives before their messages arrived, so that
/// messages within the eager limit may use rendezvous too.
const PROMPT: u32 = 1 << 16;
/// A receiver is prompt from so many points on until it has none: a message whose receive is posted adds a point, an unexpected
/// message subtracts one.
const PROMPT_AT: u8 = 16;

/// Kinds of cells.
pub(crate) mod cell {
    /// A whole message. Zero, so that its head needs no constant.
    pub(crate) const INJECT: u8 = 0;
    /// The first chunk of a message in the payload area: words = bytes of all, sender's id if synchronous, position, bytes,
    /// ticks.
    pub(crate) const EAGER: u8 = 1;
    /// Ready to send; no data: words = bytes, sender's id, address, segment offset, address of the proof.
    pub(crate) const RTS: u8 = 2;
    /// Clear to send; the receiver requests chunks: words = sender's id, receiver's id, bytes wanted (in the match word).
    pub(crate) const CTS: u8 = 3;
    /// A chunk: words = receiver's id, bytes, position, and how many ticks the sender took to copy it, if measured, else 0.
    pub(crate) const CHUNK: u8 = 4;
    /// Finished: the receiver has all it wants, words = sender's id.
    pub(crate) const FIN: u8 = 5;
    /// The next chunk of an EAGER message: words = position, bytes, ticks.
    pub(crate) const EAGER_CHUNK: u8 = 6;
    /// Type signature of the next EAGER or RTS, where types are checked: words of a `SentSignature`, its count in the match word.
    pub(crate) const SIGNATURE: u8 = 7;
    /// The sender wants to cancel a message: words = sender's id.
    pub(crate) const RECALL: u8 = 8;
    /// The receiver has removed a message that no receive had taken: words = sender's id.
    pub(crate) const RECALLED: u8 = 9;
    /// Ready to send, with the first chunk: words = bytes, sender's id, position, bytes of the chunk, address,
    /// address of the proof.
    pub(crate) const RTS_DATA: u8 = 10;
    /// The next chunk of an RTS_DATA message, before the CTS: words = position, bytes, ticks.
    pub(crate) const EARLY_CHUNK: u8 = 11;
    /// Clear to send the rest; the receiver takes the early chunks: words = sender's id, receiver's id.
    pub(crate) const CTS_REST: u8 = 12;
}

/// Cells that describe payload: their words for the payload's location and length.
#[cfg(test)]
pub(crate) const PAYLOAD_RULES: &[fabric::sim::PayloadRule] = &[
    payload_rule(cell::EAGER, 2, 3),
    payload_rule(cell::EAGER_CHUNK, 0, 1),
    payload_rule(cell::CHUNK, 2, 1),
    payload_rule(cell::RTS_DATA, 2, 3),
    payload_rule(cell::EARLY_CHUNK, 0, 1),
];

#[cfg(test)]
const fn payload_rule(kind: u8, location_word: u8, bytes_word: u8) -> fabric::sim::PayloadRule {
    fabric::sim::PayloadRule {
        kind,
        location_word,
        bytes_word,
    }
}

/// Auxiliary bits of a cell whose message has a signature.
const TYPED: u16 = 1;

/// The auxiliary bits of a send's first cell.
fn first_aux(entry: &RequestEntry) -> u16 {
    if entry.has(flag::TYPED) { TYPED } else { 0 }
}

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
        let kept = eager::keep_injected(state, index, key, bytes);
        return if kept { Handled::Yes } else { Handled::No };
    };
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
    Handled::Yes
}

/// Handles a cell that is no injected message: whole messages first.
#[inline(never)]
fn arrived_longer(state: &mut VciState, index: usize, arrival: Arrival) -> Handled {
    if is_untyped_eager(arrival) && eager::arrived_untyped_eager(state, index) {
        return Handled::Poll;
    }
    arrived_other(state, index, arrival)
}

/// Whether a cell may hold a whole message without a signature.
#[inline(always)]
fn is_untyped_eager(arrival: Arrival) -> bool {
    arrival.kind() == cell::EAGER && arrival.aux() == 0
}

/// Takes a handled cell out of its ring.
#[inline(always)]
fn consume(state: &mut VciState, index: usize) {
    state.count_other_cell_received();
    state.incoming[index].ring.advance();
    state.count_taken_in();
}

#[cold]
#[inline(never)]
fn arrived_other(state: &mut VciState, index: usize, arrival: Arrival) -> Handled {
    let is_typed = arrival.aux() == TYPED;
    if is_typed {
        state.signature = state.incoming[index].signature.take();
    }
    let handled = match arrival.kind() {
        cell::EAGER => eager::arrived_eager(state, index),
        cell::EAGER_CHUNK => eager::arrived_eager_chunk(state, index),
        cell::RTS => rendezvous::arrived_rts(state, index),
        cell::CTS => rendezvous::arrived_cts(state, index, false),
        cell::CTS_REST => rendezvous::arrived_cts(state, index, true),
        cell::RTS_DATA => early::arrived_rts_data(state, index),
        cell::EARLY_CHUNK => early::arrived_early_chunk(state, index),
        cell::CHUNK => rendezvous::arrived_chunk(state, index),
        cell::FIN => rendezvous::arrived_fin(state, index),
        cell::SIGNATURE => arrived_signature(state, index),
        cell::RECALL => cancel::arrived_recall(state, index),
        cell::RECALLED => cancel::arrived_recalled(state, index),
        other => {
            let peer = state.incoming[index].peer;
            state.fault = Some(format!("rank {peer} sent a cell of unknown kind {other}"));
            true
        }
    };
    if is_typed {
        // A handled message has taken its signature; a message that has to wait is handled again.
        let signature = state.signature.take();
        state.incoming[index].signature = signature.filter(|_| !handled);
    }
    if handled {
        consume(state, index);
    }
    match (handled, arrival.kind()) {
        (true, cell::FIN) => Handled::Poll,
        // A program that waits for one message at a time posts the next receive now, so the next message is not unexpected.
        (true, cell::EAGER | cell::EAGER_CHUNK) if state.incoming[index].arriving.is_none() => {
            Handled::Poll
        }
        (true, _) => Handled::Yes,
        (false, _) => Handled::No,
    }
}

/// Handles a SIGNATURE cell.
fn arrived_signature(state: &mut VciState, index: usize) -> bool {
    let incoming = &mut state.incoming[index];
    incoming.signature = Some(Box::new(SentSignature {
        count: incoming.ring.match_word(),
        words: std::array::from_fn(|word| incoming.ring.word(word)),
    }));
    true
}

/// Sends the type signature of a message to the receiver, once; false when the ring has no room.
#[cold]
fn announce(state: &mut VciState, index: RequestIndex, peer: u32) -> bool {
    let types = |entry: &mut RequestEntry| {
        entry
            .extra
            .as_mut()?
            .types
            .as_mut()
            .map(|types| (types.signature(), types.is_announced))
    };
    let Some((signature, false)) = types(state.slab.entry_mut(index)) else {
        return true;
    };
    let sender = &mut state.links[peer as usize].sender;
    if !sender.put_words(cell::SIGNATURE, 0, signature.count, &signature.words) {
        return false;
    }
    state.count_other_cell_sent();
    mark_announced(state.slab.entry_mut(index), true);
    true
}

/// Notes whether the signature of a send has been transmitted.
fn mark_announced(entry: &mut RequestEntry, is_announced: bool) {
    if let Some(types) = entry.extra.as_mut().and_then(|extra| extra.types.as_mut()) {
        types.is_announced = is_announced;
    }
}

/// Compares the type signature of a message with that of a receive.
#[cold]
#[inline(never)]
fn check_types(state: &mut VciState, receive: RequestIndex, peer: u32) {
    let signature = state.signature.take();
    let entry = state.slab.entry_mut(receive);
    let extra = entry.extra.get_or_insert_default();
    let mismatch = signature.and_then(|signature| extra.types.as_ref()?.mismatch(&signature, peer));
    if let Some(text) = mismatch
        && entry.error == 0
    {
        entry.error = crate::ErrorClass::ERR_TYPE.0;
        extra.error_text = text;
    }
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

/// Starts a send whose fields are filled in: transmits it, or queues it in order.
pub(crate) fn start_send(state: &mut VciState, index: RequestIndex) -> Result<()> {
    let peer = state.slab.entry(index).target;
    let entry = state.slab.entry_mut(index);
    entry.position = 0;
    if entry.has(flag::TYPED) {
        mark_announced(entry, false);
    }
    if entry.extra.is_some() {
        load_staged(state, index)?;
    }
    if state.links[peer as usize].backlogged || !transmit(state, index)? {
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
    let (peer, bytes) = (entry.target, entry.record.bytes as usize);
    let (synchronous, typed) = (entry.has(flag::SYNCHRONOUS), entry.has(flag::TYPED));
    let word = state.slab.record(index).match_word;
    // An eager message whose first chunks are out goes on, whatever has changed.
    let begun = entry.position != 0;
    if !state.links[peer as usize].sender.is_connected() {
        state.links.connect(&mut state.transport, peer)?;
    }
    let link = &mut state.links[peer as usize];
    let throttled = link.sender.is_throttled();
    if typed && !announce(state, index, peer) {
        return Ok(false);
    }
    let fits_eager = bytes <= state.node.eager_bytes && !throttled;
    let at_once = begun || fits_eager && (synchronous || !receiver_prefers_cma(state, index));
    let (entry, link) = (state.slab.entry(index), &mut state.links[peer as usize]);
    let sent = if bytes <= INJECT_BYTES && !synchronous && !throttled && !typed {
        let mut data = [0u64; INJECT_BYTES / 8];
        // SAFETY: the send's memory is readable (contract of isend); `data` holds at least `bytes` bytes.
        unsafe { pack(entry, 0, data.as_mut_ptr().cast(), bytes) };
        let has_room = link.has_room_in_order();
        if has_room {
            // SAFETY: a credit is there, and `data` is as long as any injected message.
            unsafe { inject::write(link, word, data.as_ptr().cast(), bytes) };
        }
        has_room
    } else if at_once {
        transmit_eager(state, index, peer, word, synchronous)
    } else {
        rendezvous::transmit_rts(state, index, peer, word)
    };
    if sent {
        state.links[peer as usize].ring_doorbell();
        count_sent(state, bytes, at_once, synchronous || typed);
        if synchronous || !at_once {
            state.slab.record_mut(index).kind = record_kind::SEND_ACTIVE;
            state.offered += 1;
        } else {
            state.complete(index);
        }
    }
    Ok(sent)
}

/// Writes as much of an operation's eager message as there is room for; true when all of it is written.
fn transmit_eager(
    state: &mut VciState,
    index: RequestIndex,
    peer: u32,
    word: u64,
    synchronous: bool,
) -> bool {
    let entry = state.slab.entry(index);
    let mut message = eager::Outgoing {
        peer,
        word,
        source: eager::Source::Operation(index),
        bytes: entry.record.bytes as usize,
        position: entry.position,
        id: if synchronous { entry.id().0 } else { 0 },
        aux: first_aux(entry),
    };
    // SAFETY: a send's memory is readable until it completes (contract of isend).
    let is_written = unsafe { eager::write(state, &mut message) };
    state.slab.entry_mut(index).position = message.position;
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

/// Sends a protocol cell, or queues it in order.
pub(crate) fn send_control(state: &mut VciState, peer: u32, kind: u8, words: [u64; 2]) {
    if !state.links[peer as usize].sender.is_connected()
        && let Err(error) = state.links.connect(&mut state.transport, peer)
    {
        state.fault = Some(error.to_string());
        return;
    }
    if state.links[peer as usize].backlogged || !put_control(state, peer, kind, words) {
        state.enqueue(peer, Queued::Control { kind, words });
    }
}

/// Sends a protocol cell; false when the ring has no room.
pub(crate) fn put_control(state: &mut VciState, peer: u32, kind: u8, words: [u64; 2]) -> bool {
    let link = &mut state.links[peer as usize];
    let sent = link.sender.put_words(kind, 0, 0, &words);
    if sent {
        link.ring_doorbell();
        state.count_other_cell_sent();
    }
    sent
}

/// The address of an arrived chunk, if its description is possible.
fn chunk_at(
    state: &VciState,
    ring: usize,
    location: ChunkLocation,
    bytes: u64,
) -> Option<NonNull<u8>> {
    let incoming = &state.incoming[ring];
    let reverse = &state.links[incoming.peer as usize].sender;
    let bytes = u32::try_from(bytes).ok()?;
    incoming.ring.payload(location, bytes, reverse)
}

/// Notes that an arrived chunk has been copied out.
#[inline]
fn release_chunk(state: &mut VciState, ring: usize, location: ChunkLocation, bytes: u64) {
    state.taken_in += bytes as usize;
    let incoming = &mut state.incoming[ring];
    let reverse = &mut state.links[incoming.peer as usize].sender;
    incoming
        .ring
        .release_payload(location, bytes as u32, reverse);
}

/// Whether the receiver of a send prefers CMA to chunks.
fn receiver_prefers_cma(state: &VciState, index: RequestIndex) -> bool {
    let entry = state.slab.entry(index);
    is_contiguous(entry) && prefers_cma(state, entry.target, entry.record.bytes)
}

/// Whether a peer prefers CMA to chunks for a message of `bytes` contiguous bytes.
fn prefers_cma(state: &VciState, peer: u32, bytes: u64) -> bool {
    let node = &state.node;
    if bytes < node.cma_min_bytes || peer == node.me {
        return false;
    }
    match node.cma {
        CmaPolicy::Never => false,
        CmaPolicy::Always => bytes > node.eager_bytes as u64,
        CmaPolicy::Measured => CopyModes::class(bytes).is_some_and(|class| {
            let preferences = state.links[peer as usize].sender.preferences();
            preferences >> class & 1 != 0
                && (bytes > node.eager_bytes as u64 || preferences & PROMPT != 0)
        }),
    }
}

/// Publishes to all senders for which messages this rank prefers CMA.
pub(crate) fn publish_preferences(state: &VciState) {
    let preferences = u32::from(state.copy_modes.preferences());
    for incoming in &state.incoming {
        let prompt = if incoming.prompt { PROMPT } else { 0 };
        incoming.ring.set_preferences(preferences | prompt);
    }
}

/// Completes a send that waited for its receiver.
fn complete_offered(state: &mut VciState, index: RequestIndex) {
    state.offered -= 1;
    state.complete(index);
}

/// Notes a message of `bytes` bytes from the sender of `ring`, and whether it found its receive posted.
fn note_arrival(state: &mut VciState, ring: usize, bytes: u64, posted: bool) {
    if bytes < copy_mode::SMALLEST || state.node.cma != CmaPolicy::Measured {
        return;
    }
    let incoming = &mut state.incoming[ring];
    incoming.points = if posted {
        PROMPT_AT.min(incoming.points + 1)
    } else {
        incoming.points.saturating_sub(1)
    };
    let before = incoming.prompt;
    incoming.prompt = incoming.points == PROMPT_AT || before && incoming.points != 0;
    let is_new = incoming.prompt != before;
    let sends_too = state.offered != 0 || !state.backlogs.is_empty();
    if state.copy_modes.count(bytes, sends_too) || is_new {
        publish_preferences(state);
    }
}

/// The live operation that a peer names, if it is one that talks to that peer.
pub(crate) fn named_by_peer(state: &VciState, id: u64) -> Option<RequestIndex> {
    state.slab.find(RequestId(id))
}
