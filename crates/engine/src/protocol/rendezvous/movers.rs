// SPDX-License-Identifier: MIT OR Apache-2.0
//! What moves the data of a long message between two memories without the ring: copies in the node segment, and cross-memory attach.

use fabric::counters::Counter;
use sys::clock;
use sys::cma::{self, Remote};
use sys::sync::Ordering;

use super::super::{copy, is_contiguous, named_by_peer, pack, publish_preferences, unpack};
use super::policy::{cma_policy, note_copied};
use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestIndex};
use crate::vci::copy_mode::CopyMode;
use crate::vci::link::Access;
use crate::vci::offers::{Landing, Place};
use crate::vci::{CmaPolicy, VciState};

/// Bytes copied at a time between two operations of this process whose packed bytes lie beside them.
const STAGED_CHUNK: usize = 16 << 10;
/// Bytes read at a time from a peer's memory when they must be unpacked.
const UNPACK_CHUNK: usize = 64 << 10;

/// Copies data that lie in the node segment, which a peer on another node does not share.
pub(super) fn fetch_shared(
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
    note_copied(state);
    true
}

/// Copies data that this process sent to itself, whatever the layouts of both sides are.
pub(super) fn fetch_own(
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
        copy_staged(state, send, receive, wanted);
        return true;
    }
    let (send, receive) = (state.slab.entry(send), state.slab.entry(receive));
    // SAFETY: the send buffer is readable until the send completes (contract of isend) and has `wanted` bytes, the receive
    // buffer is writable for them (contract of irecv), and no program may give one buffer to both.
    unsafe { copy(send, receive, wanted) };
    true
}

/// Copies data between two operations of this process, of which one keeps its packed bytes beside it.
#[cold]
#[inline(never)]
fn copy_staged(state: &mut VciState, send: RequestIndex, receive: RequestIndex, wanted: usize) {
    let mut chunk = [0u8; STAGED_CHUNK];
    for position in (0..wanted).step_by(STAGED_CHUNK) {
        let bytes = STAGED_CHUNK.min(wanted - position);
        // SAFETY: both memories have `wanted` bytes (contracts of isend and irecv), and `chunk` has `bytes`.
        unsafe {
            pack(state.slab.entry(send), position, chunk.as_mut_ptr(), bytes);
            unpack(
                state.slab.entry_mut(receive),
                position,
                chunk.as_ptr(),
                bytes,
            );
        }
    }
}

/// Copies data out of the sender's private memory by CMA, where that is the better copy mode.
pub(super) fn fetch_across(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    address: u64,
    proof: u64,
    wanted: usize,
) -> bool {
    let is_dense = is_contiguous(state.slab.entry(receive));
    let asked = match cma_policy(state, state.slab.entry(receive)) {
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
    note_copied(state);
    true
}

/// Writes the first `bytes` bytes of a send into memory that its receiver has offered and this rank has claimed; false when the system
/// refuses, and then some bytes may have been written.
pub(super) fn write_landing(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    landing: &Landing,
    bytes: usize,
) -> bool {
    match landing.place {
        Place::Segment(offset) => {
            let Some(target) = state.node.handle.address(offset, bytes as u64) else {
                return false;
            };
            // SAFETY: the send's memory is readable (contract of isend); `target` has `bytes` bytes of the segment, which its
            // receiver leaves to this rank (claim word).
            unsafe { pack(state.slab.entry(index), 0, target.as_ptr(), bytes) };
            note_copied(state);
            true
        }
        Place::Private(address, proof) => {
            let is_written = write_across(state, index, peer, [address, proof], bytes);
            note_copied(state);
            if is_written {
                state.count_many(Counter::BytesWrittenAcross, bytes as u64);
            }
            is_written
        }
    }
}

/// Writes bytes of a send to an address of a peer's private memory, each time after reading the proof there: the process with the pid
/// may be another one by now.
fn write_across(
    state: &mut VciState,
    index: RequestIndex,
    peer: LinkIndex,
    [address, proof]: [u64; 2],
    bytes: usize,
) -> bool {
    let policy = cma_policy(state, state.slab.entry(index));
    if policy == CmaPolicy::Never || state.node.refuses_writes {
        return false;
    }
    let node = &state.node;
    let pid = node
        .handle
        .board(node.peers.process(peer))
        .pid
        .load(Ordering::Relaxed);
    let entry = state.slab.entry(index);
    let is_dense = is_contiguous(entry);
    let longest = if is_dense { bytes } else { UNPACK_CHUNK };
    let mut packed = vec![0u8; if is_dense { 0 } else { longest.min(bytes) }];
    let mut position = 0;
    while position < bytes {
        let length = longest.min(bytes - position);
        let source = if is_dense {
            entry.base.cast_const()
        } else {
            // SAFETY: the send's memory is readable (contract of isend); `packed` has `length` bytes.
            unsafe { pack(entry, position, packed.as_mut_ptr(), length) };
            packed.as_ptr()
        };
        let secret = Remote {
            pid,
            address: proof,
        };
        if !cma::verify(secret, *node.proof) {
            return false;
        }
        let remote = Remote {
            pid,
            address: address.wrapping_add(position as u64),
        };
        // SAFETY: `source` has `length` bytes; the peer has offered the memory and leaves it to this rank (claim word).
        if let Err(error) = unsafe { cma::write(remote, source, length) } {
            state.node.refuses_writes |= cma::is_refused(&error);
            return false;
        }
        position += length;
    }
    true
}

/// The process id of a peer whose memory CMA can read; found out at first use, with `proof`, an address there.
pub(super) fn readable(state: &mut VciState, peer: LinkIndex, proof: u64) -> Option<u32> {
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
pub(super) unsafe fn read(
    state: &mut VciState,
    remote: Remote,
    target: *mut u8,
    bytes: usize,
) -> bool {
    let whole = bytes as u64;
    let is_measured = state.node.cma == CmaPolicy::Measured
        && (state.copy_modes.is_tried(whole) || state.copy_modes.is_due());
    let start = is_measured.then(clock::ticks);
    // SAFETY: the caller's promise.
    let is_read = unsafe { cma::read(remote, target, bytes) }.is_ok();
    note_copied(state);
    if let Some(start) = start.filter(|_| is_read) {
        let ticks = clock::ticks().wrapping_sub(start);
        if state.copy_modes.note_cma(whole, ticks) {
            publish_preferences(state);
        }
    }
    is_read
}
