// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eager messages: their data travel with the header, inside a cell or in the ring's payload area.
//!
//! Longer messages come in chunks, one right after the other, so that both sides copy at the same time. The receiver copies a
//! chunk to its buffer, or keeps a copy until the receive is posted; either way the space in the ring is free again when the cell
//! is consumed. The bytes kept for one sender are bounded: beyond the limit the receiver asks the sender for rendezvous
//! (`throttle`).

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::ring::{Arrival, ChunkLocation, INJECT_BYTES, hand_over};
use std::ptr::NonNull;

use layout::SharedLayout;

use super::kept::keep;
use super::{
    chunk_at, consume, fill_chunk, is_contiguous, is_untyped_eager, note_arrival, note_message,
    pack_chunk, prefers_cma, release_chunk, send_control, unpack, unpack_chunk, zero_copy,
};
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, Role};
use crate::vci::cell::{Eager, EagerChunk, Fin, Marks};
use crate::vci::link::{Arriving, Link};
use crate::vci::matching::Key;
use crate::vci::{Met, VciState, copy_mode};

/// Most bytes that an eager message may claim to have: no sender's eager limit is larger.
const MAX_BYTES: u64 = 1 << 20;
/// Length of the chunks of a message to a peer. Between nodes chunks are as long as they may be: each is a message of the network.
fn chunk_bytes(link: &Link, bytes: usize) -> usize {
    if link.is_remote() {
        return link.longest_chunk();
    }
    protocols::eager_chunk_bytes(bytes)
}

/// Longest eager message to a peer, in bytes. Networks that need registered memory take only one chunk: there, to write longer data
/// straight into the receive costs less than to copy them twice.
pub(super) fn longest_eager(state: &VciState, peer: LinkIndex) -> usize {
    let link = &state.links[peer];
    let limit = state.node.eager_bytes;
    if link.is_remote() && !state.node.can.sends_zero_copy {
        return limit.min(link.longest_chunk());
    }
    limit
}

/// Where the packed bytes of an eager message come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Contiguous bytes at this address.
    Contiguous(*const u8),
    /// Bytes of a layout at this base address.
    Layout(&'a SharedLayout, *const u8),
    /// The memory of this send.
    Operation(RequestIndex),
}

/// An eager message, and how far it has been written.
pub(super) struct Outgoing<'a> {
    pub(super) peer: LinkIndex,
    pub(super) word: u64,
    pub(super) source: Source<'a>,
    /// Packed length.
    pub(super) bytes: usize,
    /// Bytes written before.
    pub(super) position: usize,
    /// The send's id if it is synchronous, else 0.
    pub(super) id: u64,
    pub(super) marks: Marks,
}

/// Writes chunks of an eager message, from its position on, until all is written (true) or the ring has no room.
///
/// # Safety
/// The source is readable.
pub(super) unsafe fn write(state: &mut VciState, message: &mut Outgoing<'_>) -> bool {
    loop {
        // Behind other messages, which the receiver copies meanwhile.
        let chunk = if state.links[message.peer].backlogged {
            state.node.chunk_bytes as usize
        } else {
            chunk_bytes(&state.links[message.peer], message.bytes)
        };
        let bytes = (message.bytes - message.position).min(chunk);
        // SAFETY: passed on.
        if !unsafe { write_chunk(state, message, bytes) } {
            return false;
        }
        message.position += bytes;
        if message.position == message.bytes {
            return true;
        }
    }
}

/// Writes the next `bytes` bytes of an eager message; false when the ring has no room.
///
/// # Safety
/// The source is readable.
#[inline(always)]
unsafe fn write_chunk(state: &mut VciState, message: &Outgoing<'_>, bytes: usize) -> bool {
    let (peer, start) = (message.peer, message.position);
    let base = match message.source {
        Source::Contiguous(base) | Source::Layout(_, base) => base,
        Source::Operation(index) => state.slab.entry(index).base.cast_const(),
    };
    let sender = &mut state.links[peer].sender;
    let Some((target, location)) = sender.reserve(bytes as u32, base.wrapping_add(start)) else {
        return false;
    };
    // SAFETY: the source is readable (caller); the reservation is `bytes` long.
    let ticks = unsafe {
        match message.source {
            Source::Contiguous(base) => fill_chunk(state, base.add(start), target, bytes),
            Source::Layout(layout, base) => {
                layout.pack(base, start..start + bytes, target.as_ptr());
                hand_over(target, bytes);
                0
            }
            Source::Operation(index) => pack_chunk(state, index, start, target, bytes),
        }
    };
    let (link, bytes) = (&mut state.links[peer], bytes as u64);
    let sent = if start == 0 {
        let cell = Eager {
            marks: message.marks,
            word: message.word,
            total: message.bytes as u64,
            sender: message.id,
            location,
            bytes,
            ticks,
        };
        cell.put(&mut link.sender)
    } else {
        let cell = EagerChunk {
            location,
            bytes,
            ticks,
        };
        cell.put(&mut link.sender)
    };
    debug_assert!(sent, "a reservation comes with a cell");
    link.ring_doorbell();
    state.count_other_cell_sent();
    true
}

/// Sends a message without an operation, if the ring has room for all of it and its receiver takes it eagerly; false when nothing was
/// done. Inlined, so that the kind of source is known where the chunk is written.
///
/// # Safety
/// The source is readable for `bytes` packed bytes.
#[inline(always)]
pub(crate) unsafe fn send(
    state: &mut VciState,
    peer: LinkIndex,
    word: u64,
    source: Source<'_>,
    bytes: usize,
) -> bool {
    let message = Outgoing {
        peer,
        word,
        source,
        bytes,
        position: 0,
        id: 0,
        marks: Marks::default(),
    };
    // Longer messages may go in several chunks, or their receivers may prefer CMA.
    if bytes as u64 >= copy_mode::SMALLEST {
        // SAFETY: passed on.
        return unsafe { send_chunks(state, message) };
    }
    let link = &mut state.links[peer];
    if bytes > state.node.eager_bytes || !link.has_room() || link.sender.is_throttled() {
        return false;
    }
    // SAFETY: passed on.
    let is_sent = unsafe { write_chunk(state, &message, bytes) };
    if is_sent {
        count_eager(state, bytes);
    }
    is_sent
}

/// [`send`] of at least [`copy_mode::SMALLEST`] bytes.
#[inline(never)]
unsafe fn send_chunks(state: &mut VciState, mut message: Outgoing<'_>) -> bool {
    let (peer, bytes) = (message.peer, message.bytes);
    let link = &mut state.links[peer];
    if bytes > state.node.eager_bytes
        || !link.has_room()
        || link.sender.is_throttled()
        || !may_send_chunks(state, peer, message.source, bytes)
    {
        return false;
    }
    // SAFETY: passed on.
    if unsafe { write(state, &mut message) } {
        count_eager(state, bytes);
        return true;
    }
    if message.position != 0 {
        state.blame(peer, "has less room in the ring to it than it said");
    }
    message.position != 0
}

/// Whether a message of at least [`copy_mode::SMALLEST`] bytes may be sent without an operation.
fn may_send_chunks(state: &VciState, peer: LinkIndex, source: Source<'_>, bytes: usize) -> bool {
    let link = &state.links[peer];
    let (chunk, sender) = (chunk_bytes(link, bytes).min(bytes), &link.sender);
    if bytes > longest_eager(state, peer) || zero_copy::applies(state, peer, bytes) {
        return false;
    }
    matches!(source, Source::Contiguous(_))
        && sender.has_room_for(bytes.div_ceil(chunk), chunk as u32)
        && !prefers_cma(state, peer, bytes as u64)
}

/// Counts a message that went without an operation.
#[inline(always)]
fn count_eager(state: &mut VciState, bytes: usize) {
    state.count(Counter::SendsEager);
    state.count_many(Counter::BytesSent, bytes as u64);
}

/// Delivers an injected message to a receive that is too small or not contiguous.
#[cold]
#[inline(never)]
pub(super) fn deliver_injected(
    state: &mut VciState,
    ring: usize,
    receive: RequestIndex,
    key: Key,
    bytes: usize,
) {
    let mut data = [0u64; INJECT_BYTES / 8];
    let incoming = &mut state.incoming[ring];
    // SAFETY: `data` holds INJECT_BYTES bytes and `bytes` is at most that (Arrival::bytes).
    unsafe { incoming.ring.copy_injected(data.as_mut_ptr().cast(), bytes) };
    incoming.ring.advance();
    deliver(state, receive, key, data.as_ptr().cast(), bytes);
}

/// Copies a whole message into a receive and completes it.
pub(super) fn deliver(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    source: *const u8,
    bytes: usize,
) {
    let fitting = note_message(state, receive, key, bytes as u64);
    // SAFETY: a receive's buffer is writable for its `bytes` (contract of irecv); `source` holds `bytes` bytes.
    unsafe { unpack(state.slab.entry_mut(receive), 0, source, fitting) };
    state.count_many(Counter::BytesReceived, fitting as u64);
    state.complete(receive);
}

/// A whole message that an EAGER cell describes.
struct Whole {
    word: u64,
    chunk: NonNull<u8>,
    location: ChunkLocation,
    bytes: u64,
}

/// The message of an EAGER cell, if it is whole and needs neither an answer nor a measurement.
#[inline(always)]
fn whole_message(state: &mut VciState, ring: usize) -> Option<Whole> {
    let incoming = &mut state.incoming[ring];
    let Eager {
        word,
        total,
        sender,
        location,
        bytes,
        ticks,
        ..
    } = Eager::read(&incoming.ring, 0);
    let is_whole = bytes == total && bytes < copy_mode::SMALLEST && incoming.arriving.is_none();
    if !is_whole || sender != 0 || ticks != 0 {
        return None;
    }
    let reverse = &state.links.get(incoming.peer)?.sender;
    let chunk = incoming.ring.payload(location, bytes as u32, reverse)?;
    Some(Whole {
        word,
        chunk,
        location,
        bytes,
    })
}

/// Handles an EAGER cell that brings a whole message for a posted receive; false, with nothing done, in every other case
/// ([`arrived_eager`] handles those).
#[inline]
pub(super) fn arrived_untyped_eager(state: &mut VciState, ring: usize) -> bool {
    let Some(message) = whole_message(state, ring) else {
        return false;
    };
    let key = Key {
        word: message.word,
        peer: state.incoming[ring].peer,
    };
    let Some(receive) = state.posted.take(&mut state.slab, key) else {
        return false;
    };
    let (source, bytes) = (message.chunk.as_ptr(), message.bytes as usize);
    let entry = state.slab.entry_mut(receive);
    if message.bytes <= entry.record.bytes && is_contiguous(entry) {
        // SAFETY: a receive's buffer is writable for its `bytes` (contract of irecv); the ring checked the chunk.
        unsafe { layout::copy_bytes(source, entry.base, bytes) };
        let record = &mut entry.record;
        (record.match_word, record.peer, record.bytes) = (key.word, key.peer, message.bytes);
        state.count_many(Counter::BytesReceived, message.bytes);
        state.complete(receive);
    } else {
        deliver(state, receive, key, source, bytes);
    }
    state.count(Counter::ReceivesPosted);
    release_chunk(state, ring, message.location, message.bytes);
    consume(state, ring);
    true
}

/// Takes a whole message of at most `room` bytes out of its ring; its bytes, or `None` when nothing was done.
///
/// # Safety
/// `target` is writable for `room` bytes.
#[inline]
pub(crate) unsafe fn take_untyped_eager(
    state: &mut VciState,
    ring: usize,
    arrival: Arrival,
    target: *mut u8,
    room: usize,
) -> Option<u64> {
    if !is_untyped_eager(arrival) {
        return None;
    }
    let message = whole_message(state, ring).filter(|one| one.bytes <= room as u64)?;
    let (source, bytes) = (message.chunk.as_ptr(), message.bytes as usize);
    // SAFETY: writable (caller) for so many bytes (checked); the ring checked the chunk.
    unsafe { layout::copy_bytes(source, target, bytes) };
    state.count(Counter::ReceivesPosted);
    state.count_many(Counter::BytesReceived, message.bytes);
    release_chunk(state, ring, message.location, message.bytes);
    consume(state, ring);
    state.took_one(ring);
    Some(message.bytes)
}

/// Handles an EAGER cell, the first or only chunk of a message; false when the slab is full.
pub(super) fn arrived_eager(state: &mut VciState, ring: usize, cell: Eager) -> bool {
    let Eager {
        word,
        total,
        sender,
        location,
        bytes,
        ticks,
        ..
    } = cell;
    let key = Key {
        word,
        peer: state.incoming[ring].peer,
    };
    let Some(data) = chunk_at(state, ring, location, bytes).filter(|_| {
        bytes <= total && total <= MAX_BYTES && state.incoming[ring].arriving.is_none()
    }) else {
        state.blame(key.peer, "described a message outside its ring");
        return true;
    };
    let posted = state.posted.take(&mut state.slab, key);
    note_arrival(state, ring, total, posted.is_some());
    let index = if let Some(receive) = posted {
        let fitting = note_message(state, receive, key, total);
        let entry = state.slab.entry_mut(receive);
        entry.receive_mut().await_chunks(fitting, sender, false);
        entry.record.kind = record_kind::RECEIVE_ACTIVE;
        state.observe_match(receive, key, total, Met::Arriving);
        receive
    } else {
        let memory = match state.spare.take(total as usize) {
            Ok(memory) => memory,
            Err(error) => {
                state.blame(
                    key.peer,
                    &format!("sent a message without a receive: {error}"),
                );
                return true;
            }
        };
        let Some(index) = keep(state, Role::Held, key, total) else {
            state.spare.keep(memory);
            return false;
        };
        let entry = state.slab.entry_mut(index);
        entry.unexpected_mut().sender = sender;
        entry.extra.get_or_insert_default().held = memory;
        index
    };
    state.incoming[ring].arriving = Some(Arriving {
        index,
        rest: total as usize,
    });
    let chunk = EagerChunk {
        location,
        bytes,
        ticks,
    };
    take_chunk(state, ring, data, chunk);
    true
}

/// Handles an EAGER_CHUNK cell: the next chunk of the message that is arriving.
pub(super) fn arrived_eager_chunk(state: &mut VciState, ring: usize, chunk: EagerChunk) {
    let incoming = &state.incoming[ring];
    let expected = incoming
        .arriving
        .as_ref()
        .is_some_and(|arriving| chunk.bytes <= arriving.rest as u64);
    match chunk_at(state, ring, chunk.location, chunk.bytes).filter(|_| expected) {
        Some(data) => take_chunk(state, ring, data, chunk),
        None => {
            let peer = state.incoming[ring].peer;
            state.blame(peer, "described a chunk of no message");
        }
    }
}

/// Copies a chunk of the arriving message to where the message goes, and ends the message with its last chunk.
fn take_chunk(state: &mut VciState, ring: usize, data: NonNull<u8>, chunk: EagerChunk) {
    let EagerChunk {
        location,
        bytes,
        ticks,
    } = chunk;
    let incoming = &mut state.incoming[ring];
    let Some(arriving) = incoming.arriving.as_mut() else {
        return;
    };
    let (index, peer) = (arriving.index, incoming.peer);
    arriving.rest -= bytes as usize;
    let last = arriving.rest == 0;
    if last {
        incoming.arriving = None;
    }
    let entry = state.slab.entry_mut(index);
    let receives = entry.role() == Role::Receive;
    if receives {
        let receive = entry.receive();
        let fitting = (bytes as usize).min(receive.wanted - receive.position);
        // SAFETY: the receive's buffer is writable for `wanted` bytes (contract of irecv); the ring checked the chunk.
        unsafe { unpack_chunk(state, index, data.as_ptr(), fitting, ticks) };
    } else {
        // SAFETY: the ring checked that `bytes` bytes at `data` lie in its payload area.
        let data = unsafe { std::slice::from_raw_parts(data.as_ptr(), bytes as usize) };
        entry
            .extra
            .get_or_insert_default()
            .held
            .extend_from_slice(data);
        account(state, ring, bytes as i64);
    }
    release_chunk(state, ring, location, bytes);
    if last && receives {
        finish_receive(state, index, peer);
    }
}

/// Completes a receive whose message is there, and tells a synchronous sender.
pub(super) fn finish_receive(state: &mut VciState, receive: RequestIndex, peer: LinkIndex) {
    let bytes = state.slab.record(receive).bytes;
    state.count_many(Counter::BytesReceived, bytes);
    let sender = state.slab.entry(receive).receive().sender;
    if sender != 0 {
        state.count(Counter::Dones);
        send_control(state, peer, Fin { sender });
    }
    state.complete_noted(receive);
}

/// Adjusts the unexpected bytes held for the sender of `ring`, and its throttle.
pub(super) fn account(state: &mut VciState, ring: usize, change: i64) {
    let limit = state.node.unexpected_bytes;
    let incoming = &mut state.incoming[ring];
    incoming.held_bytes = incoming.held_bytes.saturating_add_signed(change);
    let throttled = if incoming.throttled {
        incoming.held_bytes > limit / 2
    } else {
        incoming.held_bytes > limit
    };
    if throttled != incoming.throttled {
        incoming.throttled = throttled;
        incoming.ring.set_throttle(throttled);
    }
}
