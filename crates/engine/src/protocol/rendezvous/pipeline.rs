// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chunks: messages whose data both sides copy at the same time, through the ring.

use fabric::board::kind as record_kind;

use super::super::{
    chunk_at, complete_offered, named_by_peer, pack_chunk, release_chunk, unpack_chunk,
};
use super::offers::{Answer, note_answered};
use super::policy::note_copied;
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, SendBody};
use crate::vci::VciState;
use crate::vci::cell::Chunk;
use crate::vci::link::{QUANTUM_BYTES, Streams};

/// Length of the first and of the last chunks.
const EDGE_CHUNK: usize = 16 << 10;
/// Chunks of a message that are enough for both sides to copy at the same time most of the time.
const MANY: usize = 4;

/// Sends a message in chunks from now on.
pub(in super::super) fn stream(state: &mut VciState, peer: LinkIndex, index: RequestIndex) {
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
            let SendBody {
                target: peer,
                position,
                ..
            } = *entry.send();
            if (position as u64) < entry.record.bytes {
                break;
            }
            state.streaming[slot].queue.pop_front();
            let send = state.slab.id(index);
            note_answered(state, peer, send, Answer::Pushed);
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
pub(in super::super) fn chunk_bytes(done: usize, rest: usize, most: usize) -> usize {
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
        let SendBody {
            target: peer,
            position,
            receiver,
            ..
        } = *entry.send();
        let link = &mut state.links[peer];
        let rest = entry.record.bytes as usize - position;
        let most = state.node.chunk_bytes as usize;
        let bytes = if is_only {
            chunk_bytes(position, rest, most)
        } else {
            rest.min(most)
        };
        if bytes == 0 || *quantum == 0 || link.backlogged {
            return chunks;
        }
        let Some((target, location)) = link
            .sender
            .reserve(bytes as u32, entry.base.wrapping_add(position))
        else {
            return chunks;
        };
        // SAFETY: the send's memory is readable until it completes (contract of isend), the reservation is `bytes` long.
        let taken = unsafe { pack_chunk(state, index, position, target, bytes) };
        note_copied(state);
        let link = &mut state.links[peer];
        let cell = Chunk {
            receiver,
            bytes: bytes as u64,
            location,
            ticks: taken,
        };
        if !cell.put(&mut link.sender) {
            state.fail_with("a reserved cell was not available".to_owned());
            return chunks;
        }
        link.ring_doorbell();
        state.count_other_cell_sent();
        state.slab.entry_mut(index).send_mut().position += bytes;
        state.observe_chunk_sent(index, bytes as u64);
        chunks += 1;
        *quantum = quantum.saturating_sub(bytes);
    }
}

/// Copies a chunk to the next free part of the receive. Chunks beyond what a truncated receive wants are dropped.
pub(in super::super) fn copy_chunk(state: &mut VciState, ring: usize, chunk: Chunk) {
    let Chunk {
        receiver,
        bytes,
        location,
        ticks,
    } = chunk;
    let peer = state.incoming[ring].peer;
    let Some(payload) = chunk_at(state, ring, location, bytes) else {
        state.blame(peer, "described a chunk outside its ring");
        return;
    };
    let active = named_by_peer(state, receiver).filter(|&index| {
        let record = state.slab.record(index);
        record.kind == record_kind::RECEIVE_ACTIVE && record.peer == peer
    });
    let Some(index) = active else {
        release_chunk(state, ring, location, bytes);
        return;
    };
    let receive = state.slab.entry(index).receive();
    let fitting = (bytes as usize).min(receive.wanted - receive.position);
    // SAFETY: the receive's buffer is writable for `wanted` bytes (contract of irecv); the ring checked the payload.
    unsafe { unpack_chunk(state, index, payload.as_ptr(), fitting, ticks) };
    note_copied(state);
    let receive = state.slab.entry(index).receive();
    if receive.position == receive.wanted {
        if receive.is_offered() {
            state.posted.chunks_done(receiver);
        }
        state.close_open(index);
        state.complete_noted(index);
    }
    release_chunk(state, ring, location, bytes);
}
