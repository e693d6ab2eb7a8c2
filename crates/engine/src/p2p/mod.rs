// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point-to-point communication (MPI-5.0, chapter 3): starting sends and receives, and probing.
//!
//! Each function checks its arguments, routes, and starts the operation. The fast paths of the common cases are in [`fast`];
//! [`crate::completion`] waits for requests.

pub mod buffered;
mod fast;
#[cfg(test)]
mod hints_tests;
pub mod partitioned;
pub mod persistent;
pub mod probe;

use fabric::board::{ANY_PEER, ANY_TAG, kind as record_kind};
use fabric::ring::INJECT_BYTES;
use layout::SharedLayout;

use crate::comm::Comm;
use crate::completion;
use crate::datatype::Types;
use crate::device::Staged;
use crate::errors::{Error, ErrorClass, Result};
use crate::protocol::{self, eager, inject as injection};
use crate::request;
use crate::request::{RequestId, RequestIndex, Role, flag};
use crate::task::Completion;
use crate::vci::VciState;
use crate::vci::matching::Key;

pub use crate::datatype::Memory;
pub use fast::{
    Injected, Posted, exchange_soon, inject, post, post_now, receive_posted, receive_soon,
    send_eager, send_now, wake, wake_contenders,
};

/// MPI_ANY_SOURCE.
pub const ANY_SOURCE_RANK: i32 = -1;
/// MPI_ANY_TAG.
pub const ANY_TAG_VALUE: i32 = -2;
/// MPI_PROC_NULL.
pub const PROC_NULL: i32 = -3;
/// Largest tag (attribute MPI_TAG_UB).
pub const TAG_UPPER_BOUND: i32 = i32::MAX;

/// Whether the fast paths check their arguments; the slow path always does.
pub const CHECKED: bool = cfg!(not(feature = "unchecked"));

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
    comm.vci().pay_wake();
    if comm.is_spread() && mode != Mode::Buffered {
        // SAFETY: the caller's promise.
        return unsafe { isend_on_lane(comm, memory, dest, tag, mode) };
    }
    let may_be_eager = mode == Mode::Standard || mode == Mode::Ready;
    if dest as u32 >= comm.peers || tag < 0 || !may_be_eager {
        // SAFETY: the caller's promise.
        return unsafe { isend_checked(comm, memory, dest, tag, mode) };
    }
    let mut state = comm.vci().enter();
    let (peer, word) = (comm.peer(dest as u32), comm.match_base() | tag as u64);
    // SAFETY: the caller's promise.
    if unsafe { send_at_once(&mut state, memory, peer, word) } {
        return Ok(RequestId::SENT);
    }
    drop(state);
    // SAFETY: the caller's promise.
    unsafe { isend_checked(comm, memory, dest, tag, mode) }
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
    if mode == Mode::Standard && memory.layout.is_none() && memory.types.is_none() {
        // SAFETY: the caller's promise.
        match unsafe { send_now(lane, memory.base, memory.bytes, dest, tag) } {
            Injected::Sent => return Ok(RequestId::SENT),
            Injected::SentWake => {
                wake(lane, dest);
                return Ok(RequestId::SENT);
            }
            Injected::Refused => {}
        }
    }
    // SAFETY: the caller's promise.
    unsafe { isend(lane, memory, dest, tag, mode) }
}

/// Copies a message into the ring and allocates no request; false, with nothing done, when the message does not fit.
///
/// # Safety
/// The memory is readable.
#[inline(always)]
unsafe fn send_at_once(state: &mut VciState, memory: Memory<'_>, peer: u32, word: u64) -> bool {
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
    let link = &mut state.links[peer as usize];
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
    peer: u32,
    word: u64,
) -> bool {
    let (base, bytes) = (memory.base, memory.bytes);
    if !matches!(Staged::of(memory), Ok(None)) {
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
    let index = new_send(
        state,
        comm,
        memory,
        dest,
        comm.match_base() | tag as u64,
        mode,
    )?;
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
    dest: u32,
    tag: u32,
) -> Result<RequestId> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let word = (comm.match_base() + crate::comm::COLLECTIVE) | u64::from(tag);
    // SAFETY: the caller's promise.
    if unsafe { send_at_once(state, memory, comm.peer(dest), word) } {
        return Ok(RequestId::SENT);
    }
    let index = new_send(state, comm, memory, dest, word, Mode::Standard)?;
    start(state, index)
}

/// Transmits or queues a new send; a send that completes at once keeps no request.
fn start(state: &mut VciState, index: RequestIndex) -> Result<RequestId> {
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

/// A request for a send; not started.
pub(crate) fn new_send(
    state: &mut VciState,
    comm: &Comm,
    memory: Memory<'_>,
    dest: u32,
    word: u64,
    mode: Mode,
) -> Result<RequestIndex> {
    let index = state.slab.take(Role::Send, record_kind::SEND_ACTIVE)?;
    let peer = comm.peer(dest);
    let stamp = state.node.now_ms();
    let record = state.slab.record_mut(index);
    (record.match_word, record.peer, record.stamp_ms) = (word, peer, stamp);
    let entry = state.slab.entry_mut(index);
    entry.target = peer;
    if mode == Mode::Synchronous {
        entry.record.flags |= flag::SYNCHRONOUS;
    }
    describe(entry, comm, memory);
    if memory.layout.is_some() {
        stage(state, index, memory)?;
    }
    Ok(index)
}

/// Fills in the fields that sends and receives have in common.
#[inline(always)]
fn describe(entry: &mut crate::request::RequestEntry, comm: &Comm, memory: Memory<'_>) {
    entry.base = memory.base;
    entry.record.bytes = memory.bytes as u64;
    // SAFETY: callers hold the guard of the communicator's VCI (they have its state).
    entry.owner = unsafe { comm.hold_operation() };
    if let Some((layout, count)) = memory.layout {
        entry.extra.get_or_insert_default().layout = Some((layout.clone(), count));
    }
    if let Some(types) = memory.types {
        entry.record.flags |= flag::TYPED;
        entry.extra.get_or_insert_default().types = Some(Types::new(types));
    }
}

/// Starts a receive from rank `source` (or any) with `tag` (or any).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_NO_MEM. Truncation is an error of the completed request.
///
/// # Safety
/// The memory stays writable, and is not touched otherwise, until the request is complete.
// TIER: short
#[inline(always)]
pub unsafe fn irecv(comm: &Comm, memory: Memory<'_>, source: i32, tag: i32) -> Result<RequestId> {
    comm.vci().pay_wake();
    if comm.is_spread() {
        // SAFETY: the caller's promise.
        return unsafe { irecv_on_lane(comm, memory, source, tag) };
    }
    if source as u32 >= comm.peers || tag < 0 {
        return irecv_unusual(comm, memory, source, tag);
    }
    let key = Key {
        word: comm.match_base() | tag as u64,
        peer: comm.peer(source as u32),
    };
    irecv_promised(comm, memory, key)
}

/// As [`irecv`] on the lane of the tag.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn irecv_on_lane(
    comm: &Comm,
    memory: Memory<'_>,
    source: i32,
    tag: i32,
) -> Result<RequestId> {
    let Some(lane) = comm.lane_from(tag, source == ANY_SOURCE_RANK)? else {
        return irecv_unusual(comm, memory, source, tag);
    };
    if memory.layout.is_none() && memory.types.is_none() {
        // SAFETY: the caller's promise.
        match unsafe { post_now(lane, memory.base, memory.bytes, source, tag) } {
            Posted::Posted(id) => return Ok(id),
            Posted::PostedWake(id) => {
                wake_contenders(lane);
                return Ok(id);
            }
            Posted::Refused => {}
        }
    }
    // SAFETY: the caller's promise.
    unsafe { irecv(lane, memory, source, tag) }
}

/// Starts a receive on a communicator's collective context.
///
/// # Errors
/// MPI_ERR_NO_MEM.
///
/// # Safety
/// As for [`irecv`]; `source` is a valid rank.
pub(crate) unsafe fn irecv_collective(
    comm: &Comm,
    memory: Memory<'_>,
    source: u32,
    tag: u32,
) -> Result<RequestId> {
    let word = (comm.match_base() + crate::comm::COLLECTIVE) | u64::from(tag);
    irecv_key(
        comm,
        memory,
        Key {
            word,
            peer: comm.peer(source),
        },
    )
}

/// As [`irecv_key`], of a receive of the program, for which the hints of the communicator count.
#[inline(always)]
fn irecv_promised(comm: &Comm, memory: Memory<'_>, key: Key) -> Result<RequestId> {
    if comm.checks_exact_length() {
        return irecv_exact(comm, memory, key);
    }
    irecv_key(comm, memory, key)
}

/// As [`irecv_key`], of a receive that its message must fill.
#[cold]
#[inline(never)]
fn irecv_exact(comm: &Comm, memory: Memory<'_>, key: Key) -> Result<RequestId> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_receive(state, comm, memory)?;
    state.slab.entry_mut(index).set_exact();
    post_operation(state, index, key);
    Ok(state.slab.id(index))
}

#[inline(always)]
fn irecv_key(comm: &Comm, memory: Memory<'_>, key: Key) -> Result<RequestId> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let index = new_receive(state, comm, memory)?;
    post_operation(state, index, key);
    Ok(state.slab.id(index))
}

/// Wildcards, MPI_PROC_NULL and errors.
#[cold]
#[inline(never)]
fn irecv_unusual(comm: &Comm, memory: Memory<'_>, source: i32, tag: i32) -> Result<RequestId> {
    if source == PROC_NULL {
        check_tag(tag, true)?;
        let mut guard = comm.vci().enter();
        let state = &mut *guard;
        let index = new_receive(state, comm, memory)?;
        let record = state.slab.record_mut(index);
        (record.peer, record.match_word, record.bytes) = (request::NO_PEER, u64::from(ANY_TAG), 0);
        state.complete(index);
        return Ok(state.slab.id(index));
    }
    irecv_promised(comm, memory, receive_key(comm, source, tag)?)
}

/// Starts a send and a receive as one request (MPI_Isendrecv); `owned` is kept until both are complete. The request's status is
/// the receive's.
///
/// # Errors
/// As for [`isend`] and [`irecv`].
///
/// # Safety
/// As for [`isend`] and [`irecv`].
pub unsafe fn isendrecv(
    comm: &'static Comm,
    send: (Memory<'_>, i32, i32),
    receive: (Memory<'_>, i32, i32),
    owned: Vec<u8>,
) -> Result<RequestId> {
    // SAFETY: the caller's promise.
    let arrival = unsafe { irecv(comm, receive.0, receive.1, receive.2) }?;
    // SAFETY: the caller's promise.
    let departure = match unsafe { isend(comm, send.0, send.1, send.2, Mode::Standard) } {
        Ok(id) => id,
        Err(error) => {
            completion::cancel_receive(comm.vci(), arrival)?;
            completion::let_go(comm.vci(), &mut { arrival })?;
            return Err(error);
        }
    };
    crate::task::spawn(comm, async move {
        let status = Completion::new(comm.vci(), arrival).await;
        Completion::new(comm.vci(), departure).await?;
        drop(owned);
        status
    })
}

/// The key of a receive or probe, wildcards included.
pub(crate) fn receive_key(comm: &Comm, source: i32, tag: i32) -> Result<Key> {
    check_tag(tag, true)?;
    comm.check_wildcards(source == ANY_SOURCE_RANK, tag == ANY_TAG_VALUE)?;
    let peer = if source == ANY_SOURCE_RANK {
        ANY_PEER
    } else {
        comm.peer(check_rank(comm, "source", source)?)
    };
    let tag = if tag == ANY_TAG_VALUE {
        ANY_TAG
    } else {
        tag as u32
    };
    Ok(Key {
        word: comm.match_base() | u64::from(tag),
        peer,
    })
}

/// A request for a receive; not posted.
#[inline(always)]
pub(crate) fn new_receive(
    state: &mut VciState,
    comm: &Comm,
    memory: Memory<'_>,
) -> Result<RequestIndex> {
    let index = state
        .slab
        .take(Role::Receive, record_kind::RECEIVE_POSTED)?;
    describe(state.slab.entry_mut(index), comm, memory);
    if memory.layout.is_some() {
        stage(state, index, memory)?;
    }
    Ok(index)
}

/// Gives a receive the oldest unexpected message it accepts, or posts it.
#[inline(always)]
pub(crate) fn post_operation(state: &mut VciState, index: RequestIndex, key: Key) {
    if !state.unexpected.is_empty() && post_among_unexpected(state, index, key) {
        return;
    }
    state.slab.record_mut(index).stamp_ms = state.node.now_ms();
    state.posted.post(&mut state.slab, index, key);
}

#[inline(never)]
fn post_among_unexpected(state: &mut VciState, index: RequestIndex, key: Key) -> bool {
    match state.unexpected.take(&mut state.slab, key) {
        Some(message) => {
            eager::deliver_kept(state, message, index);
            true
        }
        None => false,
    }
}

/// A rank of the communicator that can be addressed.
pub(crate) fn check_rank(comm: &Comm, argument: &'static str, rank: i32) -> Result<u32> {
    if (rank as u32) < comm.peers {
        return Ok(rank as u32);
    }
    let wild = if argument == "source" {
        ", MPI_ANY_SOURCE"
    } else {
        ""
    };
    let expected = format!("0..{}{wild} or MPI_PROC_NULL", comm.peers as i32 - 1);
    Err(comm.annotate(Error::argument(
        ErrorClass::ERR_RANK,
        argument,
        rank,
        expected,
    )))
}

pub(crate) fn check_tag(tag: i32, any_allowed: bool) -> Result<()> {
    if tag >= 0 || (any_allowed && tag == ANY_TAG_VALUE) {
        return Ok(());
    }
    let wild = if any_allowed { " or MPI_ANY_TAG" } else { "" };
    Err(Error::argument(
        ErrorClass::ERR_TAG,
        "tag",
        tag,
        format!("0..{TAG_UPPER_BOUND}{wild}"),
    ))
}

/// Adds a staging buffer to a request whose memory is a GPU's.
#[inline(never)]
fn stage(state: &mut VciState, index: RequestIndex, memory: Memory<'_>) -> Result<()> {
    match Staged::of(memory) {
        Ok(None) => {}
        Ok(staged) => {
            state
                .slab
                .entry_mut(index)
                .extra
                .get_or_insert_default()
                .staged = staged
        }
        Err(error) => {
            state.retire(index);
            return Err(error);
        }
    }
    Ok(())
}
