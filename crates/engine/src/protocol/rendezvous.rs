// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rendezvous: messages whose data travel when the receive is known.
//!
//! The sender announces its message (RTS). The receiver then uses the first copy mode that applies:
//! * direct: it copies out of the node segment, when the data lie there (`MPI_Alloc_mem`) and are not so long that two cores are
//!   faster;
//! * CMA: it copies out of the sender's private memory, where the kernel allows it;
//! * pipeline: it requests chunks through the ring (CTS), which both sides copy at the same time.
//!
//! Some chunks may come before the CTS ([`super::early`]). The sender's buffer is free when FIN arrives, or, in the pipeline, when
//! the sender has written the last chunk.

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use sys::clock;
use sys::cma::{self, Remote};
use sys::sync::Ordering;

use super::{
    cell, chunk_at, complete_offered, copy, eager, early, first_aux, is_contiguous, named_by_peer,
    note_arrival, note_message, pack, pack_chunk, publish_preferences, put, receiver_prefers_cma,
    release_chunk, send_control, unpack, unpack_chunk,
};
use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestIndex, Role};
use crate::vci::copy_mode::{self, CopyMode};
use crate::vci::link::{Access, QUANTUM_BYTES, Streams};
use crate::vci::matching::Key;
use crate::vci::{CmaPolicy, VciState};

/// Bytes read at a time from a peer's memory when they must be unpacked.
const UNPACK_CHUNK: usize = 64 << 10;

/// Length of the first and of the last chunks.
const EDGE_CHUNK: usize = 16 << 10;
/// Chunks of a message that are enough for both sides to copy at the same time most of the time.
const MANY: usize = 4;

/// Sends the RTS of a send, with data where that helps; false when the ring has no room.
pub(super) fn transmit_rts(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    word: u64,
) -> bool {
    let entry = state.slab.entry(index);
    let address = if is_contiguous(entry) {
        entry.base as u64
    } else {
        0
    };
    let (node, bytes) = (&state.node, entry.record.bytes);
    let by_one = bytes <= node.direct_max_bytes || receiver_prefers_cma(state, index);
    let shared = (address != 0 && by_one && !state.links[peer].is_remote())
        .then(|| node.handle.offset_of(entry.base, bytes as usize))
        .flatten();
    if shared.is_none()
        && early::should_begin(state, index, peer)
        && early::transmit_rts_data(state, index, peer, word)
    {
        return true;
    }
    let entry = state.slab.entry(index);
    let aux = first_aux(entry);
    let proof: *const u64 = &raw const *state.node.proof;
    let words = [
        entry.record.bytes,
        state.slab.id(index).0,
        address,
        shared.unwrap_or(0),
        proof as u64,
    ];
    state.links[peer]
        .sender
        .put_words(cell::RTS, aux, word, &words)
        && {
            state.count_other_cell_sent();
            true
        }
}

/// Handles an RTS cell; false when the slab is full.
pub(super) fn arrived_rts(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let description = std::array::from_fn(|index| incoming.ring.word(index));
    let posted = state.posted.take(&mut state.slab, key);
    note_arrival(state, ring, description[0], posted.is_some());
    if let Some(receive) = posted {
        state.count(Counter::ReceivesPosted);
        begin(state, receive, key, description);
        return true;
    }
    if state.slab.has_room() && hold(state, ring, key, description) {
        return true;
    }
    let Some(index) = eager::keep(state, Role::Rts, key, description[0]) else {
        return false;
    };
    let entry = state.slab.entry_mut(index);
    entry.inline = description;
    entry.remote = description[1];
    true
}

/// Fetches an announced message for a receive that matches it.
pub(super) fn begin(state: &mut VciState, receive: RequestIndex, key: Key, description: [u64; 6]) {
    if let Some((wanted, sender)) = fetch_at_once(state, receive, key, description) {
        let ids = [sender, await_chunks(state, receive, sender, wanted)];
        if !put::request(state, receive, key.peer, ids, false) {
            send_control(state, key.peer, cell::CTS, ids);
        }
    }
}

/// Completes a receive directly or by CMA where that is possible; else returns how many bytes it wants, and the sender's id.
pub(super) fn fetch_at_once(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    description: [u64; 6],
) -> Option<(usize, u64)> {
    let [bytes, sender, address, shared, proof, _] = description;
    let wanted = note_message(state, receive, key, bytes);
    state.count_many(Counter::BytesReceived, wanted as u64);
    let is_fetched = wanted == 0
        || fetch_shared(state, receive, key.peer, shared, wanted)
        || fetch_own(state, receive, key.peer, sender, wanted)
        || (fetch_across(state, receive, key.peer, address, proof, wanted) && {
            state.count(Counter::CrossCopies);
            true
        });
    if !is_fetched {
        return Some((wanted, sender));
    }
    send_control(state, key.peer, cell::FIN, [sender, 0]);
    state.complete(receive);
    None
}

/// Makes a receive one that gets its data in chunks; returns its id.
pub(super) fn await_chunks(
    state: &mut VciState,
    receive: RequestIndex,
    sender: u64,
    wanted: usize,
) -> u64 {
    let entry = state.slab.entry_mut(receive);
    (entry.position, entry.wanted, entry.remote) = (0, wanted, sender);
    // Its memory is not open (`put`).
    entry.inline[0] = 0;
    state.slab.record_mut(receive).kind = record_kind::RECEIVE_ACTIVE;
    state.slab.id(receive).0
}

/// Copies data that lie in the node segment, which a peer on another node does not share.
fn fetch_shared(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    shared: u64,
    wanted: usize,
) -> bool {
    let Some(source) = state
        .node
        .handle
        .address(shared, wanted as u64)
        .filter(|_| shared != 0 && state.node.handle.is_here(state.node.peers.process(peer)))
    else {
        return false;
    };
    // SAFETY: `source` holds `wanted` bytes (checked); the receive's buffer is writable for them (contract of irecv).
    unsafe { unpack(state.slab.entry_mut(receive), 0, source.as_ptr(), wanted) };
    true
}

/// Copies data that this process sent to itself, whatever the layouts of both sides are.
fn fetch_own(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    sender: u64,
    wanted: usize,
) -> bool {
    let own = (peer == state.node.own_link()).then(|| named_by_peer(state, sender));
    let Some(send) = own.flatten() else {
        return false;
    };
    let is_staged = |entry: &RequestEntry| {
        entry
            .extra
            .as_ref()
            .is_some_and(|extra| extra.staged.is_some())
    };
    if is_staged(state.slab.entry(send)) || is_staged(state.slab.entry(receive)) {
        let mut packed = vec![0; wanted];
        // SAFETY: both memories have `wanted` bytes (contracts of isend and irecv), as `packed` has.
        unsafe {
            pack(state.slab.entry(send), 0, packed.as_mut_ptr(), wanted);
            unpack(state.slab.entry_mut(receive), 0, packed.as_ptr(), wanted);
        }
        return true;
    }
    let (send, receive) = (state.slab.entry(send), state.slab.entry(receive));
    // SAFETY: the send buffer is readable until the send completes (contract of isend) and has `wanted` bytes, the receive
    // buffer is writable for them (contract of irecv), and no program may give one buffer to both.
    unsafe { copy(send, receive, wanted) };
    true
}

/// Copies data out of the sender's private memory by CMA, where that is the better copy mode.
fn fetch_across(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    address: u64,
    proof: u64,
    wanted: usize,
) -> bool {
    let is_dense = is_contiguous(state.slab.entry(receive));
    let asked = match state.node.cma {
        CmaPolicy::Never => false,
        CmaPolicy::Measured => is_dense && state.copy_modes.mode(wanted as u64) == CopyMode::Cma,
        CmaPolicy::Always => true,
    };
    if !asked || address == 0 || (wanted as u64) < state.node.cma_min_bytes {
        return false;
    }
    let Some(pid) = readable(state, peer, proof) else {
        return false;
    };
    if is_dense {
        let target = state.slab.entry(receive).base;
        // SAFETY: the receive's buffer is writable for `wanted` bytes (contract of irecv).
        return unsafe { read(state, Remote { pid, address }, target, wanted) };
    }
    let entry = state.slab.entry_mut(receive);
    let mut chunk = vec![0u8; UNPACK_CHUNK.min(wanted)];
    let mut position = 0;
    while position < wanted {
        let bytes = chunk.len().min(wanted - position);
        let remote = Remote {
            pid,
            address: address + position as u64,
        };
        // SAFETY: `chunk` is writable for `bytes` bytes.
        if unsafe { cma::read(remote, chunk.as_mut_ptr(), bytes) }.is_err() {
            return false;
        }
        // SAFETY: the receive's buffer is writable (contract of irecv), `chunk` holds `bytes` bytes.
        unsafe { unpack(entry, position, chunk.as_ptr(), bytes) };
        position += bytes;
    }
    true
}

/// The process id of a peer whose memory CMA can read; found out at first use, with `proof`, an address there.
fn readable(state: &mut VciState, peer: LinkIndex, proof: u64) -> Option<u32> {
    let node = &state.node;
    let link = &mut state.links[peer];
    let process = node.peers.process(peer);
    if !node.handle.is_here(process) {
        return None;
    }
    let pid = node.handle.board(process).pid.load(Ordering::Relaxed);
    if link.cma == Access::Untried {
        let remote = Remote {
            pid,
            address: proof,
        };
        link.cma = if cma::verify(remote, *node.proof) {
            Access::Works
        } else {
            Access::Refused
        };
        if link.cma == Access::Refused {
            state.copy_modes.refuse();
            publish_preferences(state);
        }
    }
    (state.links[peer].cma == Access::Works).then_some(pid)
}

/// Copies `bytes` bytes of a message out of a peer's memory by CMA, and notes the time.
///
/// # Safety
/// `target` is writable for `bytes` bytes.
unsafe fn read(state: &mut VciState, remote: Remote, target: *mut u8, bytes: usize) -> bool {
    let whole = bytes as u64;
    let is_measured = state.node.cma == CmaPolicy::Measured
        && (state.copy_modes.is_tried(whole) || state.copy_modes.is_due());
    let start = is_measured.then(clock::ticks);
    // SAFETY: the caller's promise.
    let is_read = unsafe { cma::read(remote, target, bytes) }.is_ok();
    if let Some(start) = start.filter(|_| is_read) {
        let ticks = clock::ticks().wrapping_sub(start);
        if state.copy_modes.note_cma(whole, ticks) {
            publish_preferences(state);
        }
    }
    is_read
}

/// Copies a message whose receive is not posted into memory of its own, where the message would have been eager but for this
/// rank's preference: so its sender waits no longer than until this rank makes progress.
fn hold(state: &mut VciState, ring: usize, key: Key, description: [u64; 6]) -> bool {
    let [bytes, sender, address, _, proof, _] = description;
    let incoming = &state.incoming[ring];
    let fits_eager = bytes <= state.node.eager_bytes as u64 && bytes >= copy_mode::SMALLEST;
    if !fits_eager || address == 0 || incoming.throttled || state.node.cma != CmaPolicy::Measured {
        return false;
    }
    let Some(pid) = readable(state, key.peer, proof) else {
        return false;
    };
    let mut memory = state.spare.take(bytes as usize);
    memory.resize(bytes as usize, 0);
    // SAFETY: `memory` has `bytes` bytes.
    if !unsafe {
        read(
            state,
            Remote { pid, address },
            memory.as_mut_ptr(),
            bytes as usize,
        )
    } {
        state.spare.keep(memory);
        return false;
    }
    let Some(index) = eager::keep(state, Role::Held, key, bytes) else {
        return false;
    };
    let entry = state.slab.entry_mut(index);
    entry.remote = 0;
    entry.extra.get_or_insert_default().held = memory;
    state.count(Counter::CrossCopies);
    eager::account(state, ring, bytes as i64);
    send_control(state, key.peer, cell::FIN, [sender, 0]);
    true
}

/// Handles a CTS or CTS_REST cell: the receiver wants the data in chunks, all of them or those not sent yet.
pub(super) fn arrived_cts(state: &mut VciState, ring: usize, goes_on: bool) -> bool {
    let incoming = &state.incoming[ring];
    let (peer, sender, receiver) = (incoming.peer, incoming.ring.word(0), incoming.ring.word(1));
    let Some(index) = answered(state, peer, sender) else {
        return true;
    };
    early::note_answer(state, index, goes_on);
    let entry = state.slab.entry_mut(index);
    entry.remote = receiver;
    if !goes_on {
        entry.position = 0;
    }
    stream(state, peer, index);
    true
}

/// The send that a peer's CTS names; `None`, and a fault, when it was not offered or is answered already.
pub(super) fn answered(state: &mut VciState, peer: LinkIndex, sender: u64) -> Option<RequestIndex> {
    let is_offered = |index: &RequestIndex| {
        state.slab.entry(*index).target == peer
            && state.slab.record(*index).kind == record_kind::SEND_ACTIVE
            && !(state.node.puts && is_answered(state, *index, sender))
    };
    let known = named_by_peer(state, sender).filter(is_offered);
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

/// Sends a message in chunks from now on.
pub(super) fn stream(state: &mut VciState, peer: LinkIndex, index: RequestIndex) {
    let known = state.streaming.iter_mut().find(|known| known.peer == peer);
    match known {
        Some(streams) => streams.queue.push_back(index),
        None => state.streaming.push(Streams {
            peer,
            queue: [index].into(),
        }),
    }
    push_streams(state);
}

/// Pushes chunks of the sends whose receivers wait, to each peer until its ring is full or a quantum is sent; returns the
/// number of chunks.
pub(crate) fn push_streams(state: &mut VciState) -> usize {
    let mut chunks = 0;
    let mut slot = 0;
    while let Some(streams) = state.streaming.get(slot) {
        let is_only = state.streaming.len() == 1 && streams.queue.len() == 1;
        let mut quantum = QUANTUM_BYTES;
        while let Some(&index) = state.streaming[slot].queue.front() {
            chunks += push_chunks(state, index, is_only, &mut quantum);
            let entry = state.slab.entry(index);
            if (entry.position as u64) < entry.record.bytes {
                break;
            }
            state.streaming[slot].queue.pop_front();
            complete_offered(state, index);
        }
        if state.streaming[slot].queue.is_empty() {
            state.streaming.swap_remove(slot);
        } else {
            slot += 1;
        }
    }
    chunks
}

/// Length of the chunk after `done` bytes, with `rest` bytes to go. The first ones and the last ones are shorter, because
/// nothing is copied on the other side meanwhile.
pub(super) fn chunk_bytes(done: usize, rest: usize, most: usize) -> usize {
    let even = ((done + rest) / MANY).min(done).min(rest.div_ceil(2));
    let chunk = even.next_multiple_of(64).max(EDGE_CHUNK);
    chunk.min(most).min(rest)
}

/// Pushes chunks of one send until it is whole, the ring is full, or `quantum`, in bytes, is used up.
fn push_chunks(
    state: &mut VciState,
    index: RequestIndex,
    is_only: bool,
    quantum: &mut usize,
) -> usize {
    let mut chunks = 0;
    loop {
        let entry = state.slab.entry(index);
        let link = &mut state.links[entry.target];
        let rest = entry.record.bytes as usize - entry.position;
        let most = state.node.chunk_bytes as usize;
        let bytes = if is_only {
            chunk_bytes(entry.position, rest, most)
        } else {
            rest.min(most)
        };
        if bytes == 0 || *quantum == 0 || link.backlogged {
            return chunks;
        }
        let Some((target, location)) = link
            .sender
            .reserve(bytes as u32, entry.base.wrapping_add(entry.position))
        else {
            return chunks;
        };
        // SAFETY: the send's memory is readable until it completes (contract of isend), the reservation is `bytes` long.
        let taken = unsafe { pack_chunk(state, index, entry.position, target, bytes) };
        let entry = state.slab.entry(index);
        let link = &mut state.links[entry.target];
        let words = [entry.remote, bytes as u64, location, taken];
        if !link.sender.put_words(cell::CHUNK, 0, 0, &words) {
            state.fault = Some("a reserved cell was not available".to_owned());
            return chunks;
        }
        link.ring_doorbell();
        state.count_other_cell_sent();
        state.slab.entry_mut(index).position += bytes;
        chunks += 1;
        *quantum = quantum.saturating_sub(bytes);
    }
}

/// Handles a CHUNK cell. Chunks beyond what a truncated receive wants are dropped.
pub(super) fn arrived_chunk(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let words = std::array::from_fn(|index| incoming.ring.word(index));
    copy_chunk(state, ring, words);
    true
}

/// Copies a chunk, given the receive's id, the chunk's bytes and its location, to the next free part of the receive.
pub(super) fn copy_chunk(
    state: &mut VciState,
    ring: usize,
    [id, bytes, location, taken]: [u64; 4],
) {
    let peer = state.incoming[ring].peer;
    let Some(payload) = chunk_at(state, ring, location, bytes) else {
        state.blame(peer, "described a chunk outside its ring");
        return;
    };
    let active = named_by_peer(state, id).filter(|&index| {
        let record = state.slab.record(index);
        record.kind == record_kind::RECEIVE_ACTIVE && record.peer == peer
    });
    let Some(index) = active else {
        release_chunk(state, ring, location, bytes);
        return;
    };
    let entry = state.slab.entry(index);
    let fitting = (bytes as usize).min(entry.wanted - entry.position);
    // SAFETY: the receive's buffer is writable for `wanted` bytes (contract of irecv); the ring checked the payload.
    unsafe { unpack_chunk(state, index, payload.as_ptr(), fitting, taken) };
    let entry = state.slab.entry(index);
    if entry.position == entry.wanted {
        if state.node.puts {
            put::close(state, index);
        }
        state.complete(index);
    }
    release_chunk(state, ring, location, bytes);
}

/// Handles a FIN cell: the receiver has all it wants.
pub(super) fn arrived_fin(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let (peer, sender) = (incoming.peer, incoming.ring.word(0));
    match named_by_peer(state, sender).filter(|&index| state.slab.entry(index).target == peer) {
        Some(index) if state.slab.record(index).kind == record_kind::SEND_ACTIVE => {
            // Of a message whose RTS brought data it wanted no chunks.
            early::note_answer(state, index, false);
            complete_offered(state, index)
        }
        _ => state.blame(peer, "acknowledged a message that was not sent"),
    }
    true
}
