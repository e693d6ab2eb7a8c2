// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages whose data travel at once: inside a cell or in the ring's payload area.
//!
//! The receiver copies the data to their buffer, or keeps a copy until their receive comes; either way the ring's space is
//! free again when the cell is consumed. What is kept for one sender is bounded: beyond the limit the sender is asked to
//! describe its messages instead (`throttle`).

use fabric::board::kind as record_kind;
use fabric::ring::SHORT_BYTES;

use super::{cell, note_message, pack, send_control, unpack};
use crate::vci::VciState;
use crate::vci::matching::Key;
use crate::vci::operations::{OpIndex, Role};

/// Sends an operation's data through the payload area; false when the ring has no room.
pub(super) fn transmit_eager(
    state: &mut VciState,
    index: OpIndex,
    peer: u32,
    word: u64,
    synchronous: bool,
) -> bool {
    let bytes = state.ops.record(index).bytes as usize;
    let id = if synchronous {
        state.ops.id(index).0
    } else {
        0
    };
    let sender = &mut state.links[peer as usize].sender;
    let Some((target, position)) = sender.reserve(bytes as u32) else {
        return false;
    };
    // SAFETY: the send's memory is readable (contract of isend), the reservation is `bytes` long.
    unsafe { pack(state.ops.op(index), 0, target.as_ptr(), bytes) };
    sender.put_words(
        cell::EAGER,
        0,
        word,
        &[bytes as u64, id, u64::from(position)],
    )
}

/// Keeps a short message whose receive is not posted; false when the slab is full.
#[cold]
#[inline(never)]
pub(super) fn keep_short(state: &mut VciState, ring: usize, key: Key, bytes: usize) -> bool {
    let Some(index) = keep(state, Role::Short, key, bytes as u64) else {
        return false;
    };
    let incoming = &mut state.incoming[ring];
    let op = state.ops.op_mut(index);
    // SAFETY: `inline` holds SHORT_BYTES bytes and `bytes` is at most that (Arrival::bytes).
    unsafe {
        incoming
            .ring
            .copy_short(op.inline.as_mut_ptr().cast(), bytes)
    };
    op.remote = 0;
    incoming.ring.advance();
    true
}

/// Files an unexpected message; `None` when the slab is full.
pub(super) fn keep(state: &mut VciState, role: Role, key: Key, bytes: u64) -> Option<OpIndex> {
    if !state.ops.has_room() {
        return None;
    }
    let index = state.ops.take(role, record_kind::UNEXPECTED).ok()?;
    let stamp = state.node.now_ms();
    let record = state.ops.record_mut(index);
    record.bytes = bytes;
    record.stamp_ms = stamp;
    state.ops.op_mut(index).comm = std::ptr::null();
    state.unexpected.push(&mut state.ops, index, key);
    Some(index)
}

/// Delivers a short message to a receive that is too small or not contiguous.
#[cold]
#[inline(never)]
pub(super) fn deliver_short(
    state: &mut VciState,
    ring: usize,
    receive: OpIndex,
    key: Key,
    bytes: usize,
) {
    let mut data = [0u64; SHORT_BYTES / 8];
    let incoming = &mut state.incoming[ring];
    // SAFETY: `data` holds SHORT_BYTES bytes and `bytes` is at most that (Arrival::bytes).
    unsafe { incoming.ring.copy_short(data.as_mut_ptr().cast(), bytes) };
    incoming.ring.advance();
    deliver(state, receive, key, data.as_ptr().cast(), bytes);
}

/// Copies a whole message into a receive and completes it.
pub(super) fn deliver(
    state: &mut VciState,
    receive: OpIndex,
    key: Key,
    source: *const u8,
    bytes: usize,
) {
    let fitting = note_message(state, receive, key, bytes as u64);
    // SAFETY: a receive's buffer is writable for its `bytes` (contract of irecv); `source` holds `bytes` bytes.
    unsafe { unpack(state.ops.op(receive), 0, source, fitting) };
    state.complete(receive);
}

/// Handles an EAGER cell; false when the slab is full.
pub(super) fn arrived_eager(state: &mut VciState, ring: usize) -> bool {
    let incoming = &state.incoming[ring];
    let key = Key {
        word: incoming.ring.match_word(),
        peer: incoming.peer,
    };
    let (bytes, sender, position) = (
        incoming.ring.word(0),
        incoming.ring.word(1),
        incoming.ring.word(2) as u32,
    );
    let payload = u32::try_from(bytes)
        .ok()
        .and_then(|bytes| incoming.ring.payload(position, bytes));
    let Some(payload) = payload else {
        state.fault = Some(format!(
            "rank {} described a message outside its ring",
            key.peer
        ));
        return true;
    };
    let bytes = bytes as usize;
    if let Some(receive) = state.posted.take(&mut state.ops, key) {
        deliver(state, receive, key, payload.as_ptr(), bytes);
        if sender != 0 {
            send_control(state, key.peer, cell::DONE, [sender, 0]);
        }
    } else {
        let Some(index) = keep(state, Role::Held, key, bytes as u64) else {
            return false;
        };
        let mut held = Vec::with_capacity(bytes);
        // SAFETY: the ring checked that `bytes` bytes at `payload` lie in its payload area.
        held.extend_from_slice(unsafe { std::slice::from_raw_parts(payload.as_ptr(), bytes) });
        let op = state.ops.op_mut(index);
        op.remote = sender;
        op.extra.get_or_insert_default().held = held;
        account(state, ring, bytes as i64);
    }
    state.incoming[ring]
        .ring
        .release_payload(position, bytes as u32);
    true
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

/// Hands a kept message to the receive that asked for it.
pub(crate) fn deliver_kept(state: &mut VciState, message: OpIndex, receive: OpIndex) {
    let record = state.ops.record(message);
    let key = Key {
        word: record.match_word,
        peer: record.peer,
    };
    let bytes = record.bytes as usize;
    let op = state.ops.op(message);
    let (role, sender, inline) = (op.role(), op.remote, op.inline);
    match role {
        Role::Short => deliver(state, receive, key, inline.as_ptr().cast(), bytes),
        Role::Held => {
            let held = state
                .ops
                .op_mut(message)
                .extra
                .take()
                .map(|extra| extra.held)
                .unwrap_or_default();
            deliver(state, receive, key, held.as_ptr(), held.len());
            if let Some(ring) = state
                .incoming
                .iter()
                .position(|incoming| incoming.peer == key.peer)
            {
                account(state, ring, -(bytes as i64));
            }
            if sender != 0 {
                send_control(state, key.peer, cell::DONE, [sender, 0]);
            }
        }
        _ => super::rendezvous::begin(state, receive, key, inline),
    }
    state.ops.release(message);
}
