// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffered sends (MPI-5.0, section 3.6): complete at once, the data copied if they cannot leave at once.
//!
//! The space of the attached buffer is accounted for, so that a program that overflows the buffer gets MPI_ERR_BUFFER as
//! on any MPI; the copies themselves live on the library's heap. Where no buffer is attached, MPI behaves as with a buffer of
//! no bytes (MPI-5.0, section 3.6): sends do not fit, flushing has nothing to wait for, detaching gives null and 0.

use fabric::board::kind as record_kind;
use sys::sync::Ordering;

use super::{Memory, Mode, new_send};
use crate::allocate;
use crate::call::CallName;
use crate::comm::{AttachedBuffer, Comm};
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::Rank;
use crate::protocol;
use crate::request::{RequestId, flag};

/// MPI_BSEND_OVERHEAD.
pub const OVERHEAD_BYTES: usize = 512;

/// Starts a buffered send; it is complete when this returns.
pub(super) fn isend(comm: &Comm, memory: Memory<'_>, dest: Rank, tag: i32) -> Result<RequestId> {
    let needed = memory.bytes.saturating_add(OVERHEAD_BYTES);
    let reserved = comm
        .buffer
        .reserve(needed)
        .or_else(|| comm.process().buffer().reserve(needed));
    let Some(used) = reserved.transpose()? else {
        return Err(Error::new(
            ErrorClass::ERR_BUFFER,
            "no buffer is attached for buffered sends",
        ));
    };
    let mut held = match allocate::zeroed(memory.bytes) {
        Ok(held) => held,
        Err(error) => {
            used.fetch_sub(needed, Ordering::Relaxed);
            return Err(error);
        }
    };
    let comm = match comm.lane_to(tag) {
        Ok(lane) => lane.unwrap_or(comm),
        Err(error) => {
            used.fetch_sub(needed, Ordering::Relaxed);
            return Err(error);
        }
    };
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let word = comm.match_base() | tag as u64;
    let index = match new_send(state, comm, memory, dest, word, Mode::Standard) {
        Ok(index) => index,
        Err(error) => {
            used.fetch_sub(needed, Ordering::Relaxed);
            return Err(error);
        }
    };
    if let Err(error) = protocol::load_staged(state, index) {
        used.fetch_sub(needed, Ordering::Relaxed);
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
    extra.on_release = Some(Box::new(move || {
        used.fetch_sub(needed, Ordering::Relaxed);
    }));
    state.slab.record_mut(index).kind = record_kind::SEND_ACTIVE;
    protocol::start_send(state, index)?;
    Ok(RequestId::SENT)
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
    process
        .vci()
        .wait_until(call, |_| buffer.used().unwrap_or(0) == 0)
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
            None | Some(0) => std::task::Poll::Ready(Ok(())),
            Some(_) => std::task::Poll::Pending,
        }),
    )
}
