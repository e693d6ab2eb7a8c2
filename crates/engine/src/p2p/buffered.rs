// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffered sends (MPI-5.0, section 3.6): complete at once, the data copied if they cannot leave at once.
//!
//! The space of the attached buffer is accounted for, so that a program that overflows the buffer gets MPI_ERR_BUFFER as
//! on any MPI; the copies themselves live on the library's heap. Where no buffer is attached, MPI behaves as with a buffer of
//! no bytes (MPI-5.0, section 3.6): sends do not fit, flushing has nothing to wait for, detaching gives null and 0.

use std::time::{Duration, Instant};

use fabric::board::kind as record_kind;
use sys::cores;

use super::{Memory, Mode, new_send};
use crate::allocate;
use crate::call::CallName;
use crate::comm::{AttachedBuffer, Comm, Reserved};
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::Rank;
use crate::progress::Vci;
use crate::protocol;
use crate::request::{RequestId, flag};

/// MPI_BSEND_OVERHEAD.
pub const OVERHEAD_BYTES: usize = 512;

/// How long a message without room waits after the last one has left the buffer: the notice that a message has arrived may be on its
/// way even when its receiver has said so by another rank.
const GRACE: Duration = Duration::from_millis(10);

/// Starts a buffered send; it is complete when this returns.
pub(super) fn isend(comm: &Comm, memory: Memory<'_>, dest: Rank, tag: i32) -> Result<RequestId> {
    let lane = comm.lane_to(tag)?.unwrap_or(comm);
    let reserved = reserve(comm, lane.vci(), memory.bytes)?;
    let comm = lane;
    let mut held = allocate::zeroed(memory.bytes)?;
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let word = comm.match_base() | tag as u64;
    let index = new_send(state, comm, memory, dest, word, Mode::Standard)?;
    if let Err(error) = protocol::load_staged(state, index) {
        state.retire(index);
        return Err(error);
    }
    // SAFETY: the send's memory is readable during the call (contract of isend); `held` is as long as the message.
    unsafe { protocol::pack(state.slab.entry(index), 0, held.as_mut_ptr(), memory.bytes) };
    let entry = state.slab.entry_mut(index);
    entry.base = held.as_mut_ptr();
    entry.record.flags |= flag::BUFFERED | flag::FREED;
    let extra = entry.extra.get_or_insert_default();
    (extra.layout, extra.staged) = (None, None);
    extra.held = held;
    extra.on_release = Some(Box::new(move || drop(reserved)));
    state.slab.record_mut(index).kind = record_kind::SEND_ACTIVE;
    protocol::start_send(state, index)?;
    Ok(RequestId::SENT)
}

/// Takes room for a message of `bytes` bytes, which leaves by `vci`. Messages that have left make room first.
fn reserve(comm: &Comm, vci: &Vci, bytes: usize) -> Result<Reserved> {
    let buffer = match comm.buffer.is_attached() {
        true => &comm.buffer,
        false => comm.process().buffer(),
    };
    let needed = bytes.saturating_add(OVERHEAD_BYTES);
    let (mut least, mut since) = (usize::MAX, None);
    loop {
        for index in buffer.vcis_in_use() {
            if vci.may_advance(index) {
                vci.of_index(index).poll();
            }
        }
        let Some(tried) = buffer.reserve(needed, vci.index()) else {
            return Err(Error::new(
                ErrorClass::ERR_BUFFER,
                "no buffer is attached for buffered sends",
            ));
        };
        let full = match tried {
            Ok(reserved) => return Ok(reserved),
            Err(full) => full,
        };
        if full.used() < least {
            (least, since) = (full.used(), Some(Instant::now()));
        }
        let waits = since.is_some_and(|since| since.elapsed() < GRACE);
        if !full.is_passing() || !waits {
            return Err(full.error());
        }
        cores::yield_core();
    }
}

/// Waits until no byte of an attached buffer is in use (MPI_Buffer_flush).
///
/// # Errors
/// Those of progress.
pub fn flush(
    process: &'static crate::comm::Process,
    buffer: &AttachedBuffer,
    call: &'static str,
) -> Result<()> {
    for index in buffer.vcis_in_use() {
        let vci = process.vci().of_index(index);
        vci.wait_until(call, |_| buffer.used_by(index) == 0)?;
    }
    Ok(())
}

/// Starts waiting until no byte of an attached buffer is in use (MPI_Buffer_iflush).
///
/// # Errors
/// MPI_ERR_NO_MEM.
pub fn iflush(comm: &Comm, buffer: &'static AttachedBuffer) -> Result<RequestId> {
    crate::task::spawn_collective(
        comm,
        CallName::UNKNOWN,
        std::future::poll_fn(|_| match buffer.used() {
            0 => std::task::Poll::Ready(Ok(())),
            _ => std::task::Poll::Pending,
        }),
    )
}
