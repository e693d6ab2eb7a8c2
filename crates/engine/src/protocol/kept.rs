// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that arrived before their receive: they are filed, and handed to the receive when it is posted.

use fabric::board::kind as record_kind;

use super::eager::{account, deliver, finish_receive};
use super::{note_message, unpack};
use crate::request::{RequestIndex, Role, UnexpectedBody};
use crate::vci::cell::Announcement;
use crate::vci::matching::Key;
use crate::vci::{Met, VciState};

/// Keeps an injected message whose receive is not posted; false when the slab is full.
#[cold]
#[inline(never)]
pub(super) fn keep_injected(state: &mut VciState, ring: usize, key: Key, bytes: usize) -> bool {
    let Some(index) = keep(state, Role::Injected, key, bytes as u64) else {
        return false;
    };
    let incoming = &mut state.incoming[ring];
    let message = state.slab.entry_mut(index).unexpected_mut();
    // SAFETY: `words` holds INJECT_BYTES bytes and `bytes` is at most that (Arrival::bytes).
    unsafe {
        incoming
            .ring
            .copy_injected(message.words.as_mut_ptr().cast(), bytes)
    };
    message.sender = 0;
    incoming.ring.advance();
    state.count_injected_unexpected();
    true
}

/// Files an unexpected message; `None` when the slab is full.
pub(super) fn keep(state: &mut VciState, role: Role, key: Key, bytes: u64) -> Option<RequestIndex> {
    if !state.slab.has_room() {
        return None;
    }
    let index = state.slab.take(role, record_kind::UNEXPECTED).ok()?;
    let stamp = state.node.now_ms();
    let record = state.slab.record_mut(index);
    record.bytes = bytes;
    record.stamp_ms = stamp;
    if let Some(signature) = state.signature.take() {
        let extra = &mut state.slab.entry_mut(index).extra;
        extra.get_or_insert_default().signature = Some(signature);
    }
    state.slab.entry_mut(index).owner = std::ptr::null();
    state.unexpected.push(&mut state.slab, index, key);
    state.observe_kept(index, key, bytes);
    Some(index)
}

/// Hands a kept message to the receive that matches it.
pub(crate) fn deliver_kept(state: &mut VciState, message: RequestIndex, receive: RequestIndex) {
    let record = state.slab.record(message);
    let key = Key {
        word: record.match_word,
        peer: record.peer,
    };
    let bytes = record.bytes as usize;
    let entry = state.slab.entry(message);
    let (role, UnexpectedBody { sender, words, .. }) = (entry.role(), *entry.unexpected());
    if let Some(extra) = state.slab.entry_mut(message).extra.as_mut() {
        state.signature = extra.signature.take();
    }
    let kept = Met::Kept(state.slab.id(message).0);
    state.observe_match(receive, key, bytes as u64, kept);
    match role {
        Role::Injected => {
            state.observe_received(receive, key, bytes as u64);
            deliver(state, receive, key, words.as_ptr().cast(), bytes);
        }
        Role::Held => deliver_held(state, message, receive, key, bytes, sender),
        _ => super::rendezvous::begin(state, receive, key, Announcement::of_words(words)),
    }
    state.slab.release(message);
}

/// Hands what has arrived of a message on the heap to a receive; the rest, if any, will go there straight.
fn deliver_held(
    state: &mut VciState,
    message: RequestIndex,
    receive: RequestIndex,
    key: Key,
    bytes: usize,
    sender: u64,
) {
    let extra = state.slab.entry_mut(message).extra.take();
    let held = extra.map(|extra| extra.held).unwrap_or_default();
    let wanted = note_message(state, receive, key, bytes as u64);
    let entry = state.slab.entry_mut(receive);
    let fitting = held.len().min(wanted);
    let body = entry.receive_mut();
    body.await_chunks(wanted, sender, false);
    body.position = fitting;
    entry.record.kind = record_kind::RECEIVE_ACTIVE;
    // SAFETY: the receive's buffer is writable for `wanted` bytes (contract of irecv); `held` has `fitting` bytes.
    unsafe { unpack(entry, 0, held.as_ptr(), fitting) };
    let arrived = held.len() as i64;
    state.spare.keep(held);
    let ring = state
        .incoming
        .iter()
        .position(|incoming| incoming.peer == key.peer);
    if let Some(ring) = ring {
        account(state, ring, -arrived);
        if let Some(arriving) = state.incoming[ring].arriving.as_mut()
            && arriving.index == message
        {
            arriving.index = receive;
            return;
        }
    }
    finish_receive(state, receive, key.peer);
}
