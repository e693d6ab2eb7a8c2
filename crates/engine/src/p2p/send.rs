// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting a send: every mode, every kind of memory.

// account: request

use fabric::board::kind as record_kind;
use fabric::ring::INJECT_BYTES;
use layout::SharedLayout;

use super::arguments::{PROC_NULL, check_rank, check_tag, describe, stage};
use super::buffered;
use crate::comm::{COLLECTIVE, Comm};
use crate::datatype::Memory;
use crate::device;
use crate::errors::Result;
use crate::identity::{LinkIndex, Rank};
use crate::protocol::{self, eager, inject as injection};
use crate::request::{RequestId, RequestIndex, Role, flag};
use crate::vci::VciState;

/// How a send completes (MPI-5.0, section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When the buffer can be used again.
    Standard,
    /// When the receive has started.
    Synchronous,
    /// As standard; the receive is known to be posted.
    Ready,
    /// At once; the data are copied into the attached buffer if need be.
    Buffered,
}

/// The side that copies the data of a long message of a collective, between processes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopiedBy {
    /// Both in chunks, or the receiver: what is faster.
    Either,
    /// The receiver, because the sender has as much for others.
    Receiver,
}

/// Starts a send to rank `dest` with `tag`.
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_NO_MEM, and MPI_ERR_BUFFER in buffered mode.
///
/// # Safety
/// The memory stays readable and unchanged until the request is complete.
// TIER: short
#[inline(always)]
pub unsafe fn isend(
    comm: &Comm,
    memory: Memory<'_>,
    dest: i32,
    tag: i32,
    mode: Mode,
) -> Result<RequestId> {
    // Before anything of the communicator's own VCI is touched, which may be that of another thread.
    if comm.is_spread() && mode != Mode::Buffered {
        // SAFETY: the caller's promise.
        return unsafe { isend_on_lane(comm, memory, dest, tag, mode) };
    }
    comm.vci().pay_wake();
    let may_be_eager = mode == Mode::Standard || mode == Mode::Ready;
    if dest as u32 >= comm.eager_peers || tag < 0 || !may_be_eager {
        // SAFETY: the caller's promise.
        return unsafe { isend_checked(comm, memory, dest, tag, mode) };
    }
    let mut state = comm.vci().enter();
    let dest = Rank::new(dest as u32);
    let (peer, word) = (comm.peer(dest), comm.match_base() | tag as u64);
    // SAFETY: the caller's promise.
    if unsafe { send_at_once(&mut state, memory, peer, word) } {
        return Ok(RequestId::SENT);
    }
    start_new(&mut state, comm, memory, dest, word, mode)
}

/// As [`isend`] on the lane of the tag.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn isend_on_lane(
    comm: &Comm,
    memory: Memory<'_>,
    dest: i32,
    tag: i32,
    mode: Mode,
) -> Result<RequestId> {
    let Some(lane) = comm.lane_to(tag)? else {
        // SAFETY: the caller's promise.
        return unsafe { isend_checked(comm, memory, dest, tag, mode) };
    };
    // SAFETY: the caller's promise.
    unsafe { isend(lane, memory, dest, tag, mode) }
}

/// Copies a message into the ring and allocates no request; false, with nothing done, when the message does not fit.
///
/// # Safety
/// The memory is readable.
#[inline(always)]
pub(super) unsafe fn send_at_once(
    state: &mut VciState,
    memory: Memory<'_>,
    peer: LinkIndex,
    word: u64,
) -> bool {
    if memory.types.is_some() {
        return false;
    }
    if let Some((layout, _)) = memory.layout {
        // SAFETY: the caller's promise.
        return unsafe { send_packed(state, memory, layout, peer, word) };
    }
    if memory.bytes > INJECT_BYTES {
        let source = eager::Source::Contiguous(memory.base);
        // SAFETY: the caller's promise.
        return unsafe { eager::send(state, peer, word, source, memory.bytes) };
    }
    let link = &mut state.links[peer];
    if !link.has_room() {
        return false;
    }
    // SAFETY: the memory is readable (caller), at most INJECT_BYTES long and a credit is there (both checked).
    unsafe { injection::write(link, word, memory.base, memory.bytes) };
    link.ring_doorbell();
    true
}

/// [`send_at_once`] for data that are not contiguous.
#[inline(never)]
unsafe fn send_packed(
    state: &mut VciState,
    memory: Memory<'_>,
    layout: &SharedLayout,
    peer: LinkIndex,
    word: u64,
) -> bool {
    let (base, bytes) = (memory.base, memory.bytes);
    // The request asks the driver for the owner of the memory, once.
    if device::is_live() {
        return false;
    }
    if bytes > INJECT_BYTES {
        let source = eager::Source::Layout(layout, base);
        // SAFETY: the caller's promise.
        return unsafe { eager::send(state, peer, word, source, bytes) };
    }
    let mut data = [0u64; INJECT_BYTES / 8];
    // SAFETY: the memory is readable (caller), and `data` has room for `bytes` bytes.
    unsafe {
        layout.pack(base, 0..bytes, data.as_mut_ptr().cast());
        let packed = Memory::contiguous(data.as_mut_ptr().cast(), bytes);
        send_at_once(state, packed, peer, word)
    }
}

/// The slow path of sends.
#[inline(never)]
unsafe fn isend_checked(
    comm: &Comm,
    memory: Memory<'_>,
    dest: i32,
    tag: i32,
    mode: Mode,
) -> Result<RequestId> {
    check_tag(tag, false)?;
    if dest == PROC_NULL {
        return Ok(RequestId::SENT);
    }
    let dest = check_rank(comm, "dest", dest)?;
    if mode == Mode::Buffered {
        return buffered::isend(comm, memory, dest, tag);
    }
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let word = comm.match_base() | tag as u64;
    start_new(state, comm, memory, dest, word, mode)
}

/// Starts a send that needs a request.
#[inline(never)]
fn start_new(
    state: &mut VciState,
    comm: &Comm,
    memory: Memory<'_>,
    dest: Rank,
    word: u64,
    mode: Mode,
) -> Result<RequestId> {
    let index = new_send(state, comm, memory, dest, word, mode)?;
    start(state, index)
}

/// Starts a send on a communicator's collective context.
///
/// # Errors
/// MPI_ERR_NO_MEM.
///
/// # Safety
/// As for [`isend`]; `dest` is a valid rank.
pub(crate) unsafe fn isend_collective(
    comm: &Comm,
    memory: Memory<'_>,
    dest: Rank,
    tag: u32,
    copied_by: CopiedBy,
) -> Result<RequestId> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let word = (comm.match_base() + COLLECTIVE) | u64::from(tag);
    let waits =
        copied_by == CopiedBy::Receiver && memory.bytes >= state.node.copied_by_receiver_bytes;
    let may_be_sent = !state.is_traced() && !waits;
    // SAFETY: the caller's promise.
    if may_be_sent && unsafe { send_at_once(state, memory, comm.peer(dest), word) } {
        return Ok(RequestId::SENT);
    }
    let index = new_send(state, comm, memory, dest, word, Mode::Standard)?;
    if copied_by == CopiedBy::Receiver {
        state.slab.entry_mut(index).set(flag::COPIED_BY_RECEIVER);
    }
    start(state, index)
}

/// Transmits or queues a new send; a send that completes at once keeps no request.
pub(super) fn start(state: &mut VciState, index: RequestIndex) -> Result<RequestId> {
    poll_for_offers(state, index);
    if let Err(error) = protocol::start_send(state, index) {
        state.retire(index);
        return Err(error);
    }
    if state.slab.record(index).kind == record_kind::COMPLETE {
        state.retire(index);
        return Ok(RequestId::SENT);
    }
    Ok(state.slab.id(index))
}

/// Handles what has arrived before a long send: it may hold an offer of the receive.
#[inline(always)]
pub(super) fn poll_for_offers(state: &mut VciState, index: RequestIndex) {
    let bytes = state.slab.record(index).bytes;
    if bytes >= state.node.offer_min_bytes && protocol::may_be_offered(state, index) {
        state.progress();
    }
}

/// A request for a send; not started.
pub(crate) fn new_send(
    state: &mut VciState,
    comm: &Comm,
    memory: Memory<'_>,
    dest: Rank,
    word: u64,
    mode: Mode,
) -> Result<RequestIndex> {
    let index = state.slab.take(Role::Send, record_kind::SEND_ACTIVE)?;
    let peer = comm.peer(dest);
    let stamp = state.node.now_ms();
    let record = state.slab.record_mut(index);
    (record.match_word, record.peer, record.stamp_ms) = (word, peer, stamp);
    let entry = state.slab.entry_mut(index);
    entry.send_mut().target = peer;
    if mode == Mode::Synchronous {
        entry.set(flag::SYNCHRONOUS);
    }
    describe(entry, comm, memory);
    if state.is_traced() {
        // Repeated sends leave their fast paths, too.
        let entry = state.slab.entry_mut(index);
        entry.extra.get_or_insert_default();
    }
    if memory.layout.is_some() {
        stage(state, index, memory)?;
    }
    Ok(index)
}
