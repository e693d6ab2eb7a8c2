// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives without a request, of messages that are there.

use sys::spin::cpu_relax;

use crate::comm::Comm;
use crate::datatype::Memory;
use crate::identity::Rank;
use crate::p2p::send::send_at_once;
use crate::progress::Vci;
use crate::protocol::eager;
use crate::request::Status;
use crate::vci::VciState;
use crate::vci::cell;
use crate::vci::matching::Key;

/// Messages that are taken from one ring in a row before the other rings are polled again.
const IN_A_ROW: u64 = 256;

/// Takes a message that is in the ring or arrives in a moment, without a request. The message must be contiguous, lie in the ring as a
/// whole, match no posted receive, and fit into `memory`. `None` when nothing was received and [`crate::p2p::irecv`] has to decide.
///
/// # Safety
/// The memory is writable.
// TIER: short
#[inline(always)]
pub unsafe fn receive_soon(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
) -> Option<Status> {
    // account: proc-null
    if source as u32 >= comm.route().fast_ranks || tag < 0 {
        return None;
    }
    // account: datatype
    if memory.layout.is_some() || !comm.vci().has_no_tasks() {
        return None;
    }
    // account: thread-safety
    let mut guard = comm.vci().enter();
    // account: match-bits
    let key = Key {
        word: comm.match_base() | tag as u64,
        // SAFETY: the rank is below `fast_ranks`.
        peer: unsafe { comm.route().peer(Rank::new(source as u32)) }, // account: rank-translation
    };
    // account: request
    // SAFETY: the caller's promise.
    let bytes = unsafe { take_soon(comm.vci(), &mut guard, key, memory) }?;
    Some(Status {
        source,
        tag,
        bytes,
        ..Status::EMPTY
    })
} // account: thread-safety

/// Sends a message by a fast path, then calls [`receive_soon`]: `None` when nothing was done, `Some(None)` when the message is sent and
/// none was received. Each argument is memory, rank and tag.
///
/// # Safety
/// The one memory is readable, the other one writable.
#[inline(always)]
pub unsafe fn exchange_soon(
    comm: &Comm,
    send: (Memory<'_>, i32, i32),
    receive: (Memory<'_>, i32, i32),
) -> Option<Option<Status>> {
    let ranks = comm.route().fast_ranks;
    // Errors of the receive must be returned before anything is sent.
    if send.1 as u32 >= ranks || send.2 < 0 || receive.1 as u32 >= ranks || receive.2 < 0 {
        return None;
    }
    // SAFETY: the rank is below `fast_ranks`.
    let peer = unsafe { comm.route().peer(Rank::new(send.1 as u32)) };
    let word = comm.match_base() | send.2 as u64;
    // SAFETY: the caller's promise.
    if !unsafe { send_at_once(&mut comm.vci().enter(), send.0, peer, word) } {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { receive_soon(comm, receive.0, receive.1, receive.2) })
}

/// Takes the next message of the sender that `key` names, if `key` matches it; returns its length.
#[inline(always)]
unsafe fn take_soon(vci: &Vci, state: &mut VciState, key: Key, memory: Memory<'_>) -> Option<u64> {
    // Earlier unexpected messages are older, and the other rings hold messages that other calls and ranks wait for.
    // account: match-bits
    if !state.unexpected.is_empty() || !state.is_drained() || state.offered != 0 {
        return None;
    }
    // A sender that never pauses must not keep the other rings from being polled.
    if state.events.is_multiple_of(IN_A_ROW) {
        return None;
    }
    if state.posted.may_want(&state.slab, key) {
        return None;
    }
    // account: fabric
    let ring = state.ring_from(key.peer)?;
    let incoming = &mut state.incoming[ring];
    let mut polls = None;
    let arrival = loop {
        if let Some(arrival) = incoming.ring.peek() {
            break arrival;
        }
        // A message from another node gets into the ring by a round of progress only.
        let first = || match incoming.ring.is_private() {
            true => 0,
            false => vci.direct_polls(),
        };
        let left = polls.unwrap_or_else(first).checked_sub(1)?;
        polls = Some(left);
        if vci.is_contended() {
            return None;
        }
        cpu_relax();
    };
    // account: match-bits
    if incoming.ring.match_word() != key.word {
        return None;
    }
    // account: fabric
    if arrival.kind() != cell::INJECT {
        // SAFETY: the caller's promise.
        return unsafe {
            eager::take_untyped_eager(state, ring, arrival, memory.base, memory.bytes)
        };
    }
    let bytes = arrival.bytes();
    if bytes > memory.bytes {
        return None;
    }
    // SAFETY: writable (caller) for so many bytes (checked).
    unsafe { incoming.ring.copy_injected(memory.base, bytes) };
    incoming.ring.advance();
    incoming.injected_bytes += bytes as u64;
    state.took_one(ring);
    Some(bytes as u64)
}
