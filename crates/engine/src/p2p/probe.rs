// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probing, and matched probing (MPI-5.0, section 3.8).

use std::fmt;

use fabric::board::kind as record_kind;

use super::{ANY_SOURCE_RANK, Memory, PROC_NULL, check_tag, new_receive, receive_key};
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::protocol::kept;
use crate::request::Status;
use crate::request::{RequestId, RequestIndex, Role, flag};
use crate::vci::matching::Key;
use crate::vci::{Awaited, VciState};

/// A message taken by a matched probe: the id of its entry, or none for MPI_PROC_NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message(pub RequestId);

impl Message {
    /// The message of a probe of MPI_PROC_NULL (MPI_MESSAGE_NO_PROC).
    pub const NO_PROC: Message = Message(RequestId(0x129));
    /// MPI_MESSAGE_NULL.
    const NULL: Message = Message(RequestId(0x128));
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NULL => f.write_str("MPI_MESSAGE_NULL"),
            Self(id) => write!(f, "{:#x}", id.0),
        }
    }
}

/// Looks for a message without receiving it (MPI_Iprobe).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG.
pub fn iprobe(comm: &Comm, source: i32, tag: i32) -> Result<Option<Status>> {
    if source == PROC_NULL {
        check_tag(tag, true)?;
        return Ok(Some(Status::PROC_NULL));
    }
    comm.note_news();
    let comm = comm
        .lane_from(tag, source == ANY_SOURCE_RANK)?
        .unwrap_or(comm);
    let key = receive_key(comm, source, tag)?;
    let found = {
        let mut guard = comm.vci().enter();
        let state = &mut *guard;
        state
            .unexpected
            .peek(&state.slab, key)
            .map(|index| status_of(state, comm, index))
    };
    if found.is_none() {
        comm.vci().poll();
        let mut guard = comm.vci().enter();
        let state = &mut *guard;
        return Ok(state
            .unexpected
            .peek(&state.slab, key)
            .map(|index| status_of(state, comm, index)));
    }
    Ok(found)
}

/// Waits for a message without receiving it (MPI_Probe).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG.
pub fn probe(comm: &Comm, source: i32, tag: i32) -> Result<Status> {
    if source == PROC_NULL {
        check_tag(tag, true)?;
        return Ok(Status::PROC_NULL);
    }
    comm.note_news();
    let comm = comm
        .lane_from(tag, source == ANY_SOURCE_RANK)?
        .unwrap_or(comm);
    let key = receive_key(comm, source, tag)?;
    let mut found = None;
    comm.vci().wait_for("MPI_Probe", awaited(key), |state| {
        found = state
            .unexpected
            .peek(&state.slab, key)
            .map(|index| status_of(state, comm, index));
        found.is_some()
    })?;
    Ok(found.unwrap_or(Status::EMPTY))
}

/// Takes a message out of matching if one is there (MPI_Improbe).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG.
pub fn improbe(comm: &Comm, source: i32, tag: i32) -> Result<Option<(Message, Status)>> {
    if source == PROC_NULL {
        check_tag(tag, true)?;
        return Ok(Some((Message::NO_PROC, Status::PROC_NULL)));
    }
    comm.note_news();
    let comm = comm
        .lane_from(tag, source == ANY_SOURCE_RANK)?
        .unwrap_or(comm);
    let key = receive_key(comm, source, tag)?;
    if let Some(found) = take(&mut comm.vci().enter(), comm, key) {
        return Ok(Some(found));
    }
    comm.vci().poll();
    Ok(take(&mut comm.vci().enter(), comm, key))
}

/// Waits for a message and takes it out of matching (MPI_Mprobe).
///
/// # Errors
/// MPI_ERR_RANK, MPI_ERR_TAG.
pub fn mprobe(comm: &Comm, source: i32, tag: i32) -> Result<(Message, Status)> {
    if source == PROC_NULL {
        check_tag(tag, true)?;
        return Ok((Message::NO_PROC, Status::PROC_NULL));
    }
    comm.note_news();
    let comm = comm
        .lane_from(tag, source == ANY_SOURCE_RANK)?
        .unwrap_or(comm);
    let key = receive_key(comm, source, tag)?;
    let mut found = None;
    comm.vci().wait_for("MPI_Mprobe", awaited(key), |state| {
        found = take(state, comm, key);
        found.is_some()
    })?;
    found.ok_or_else(|| {
        Error::new(
            ErrorClass::ERR_INTERN,
            "a matched probe ended without a message",
        )
    })
}

/// What a probe waits for, for the hang report.
const fn awaited(key: Key) -> Awaited {
    Awaited {
        kind: record_kind::PROBE,
        peer: key.peer,
        match_word: key.word,
    }
}

fn take(state: &mut VciState, comm: &Comm, key: Key) -> Option<(Message, Status)> {
    let index = state.unexpected.take(&mut state.slab, key)?;
    let status = status_of(state, comm, index);
    let entry = state.slab.entry_mut(index);
    entry.record.flags |= flag::PROBED;
    // SAFETY: the caller holds the guard of this VCI.
    entry.owner = unsafe { comm.hold_operation() };
    Some((Message(state.slab.id(index)), status))
}

fn status_of(state: &VciState, comm: &Comm, index: RequestIndex) -> Status {
    let record = state.slab.record(index);
    Status {
        source: comm.rank_of_peer(record.peer),
        tag: record.match_word as u32 as i32,
        error: 0,
        cancelled: false,
        bytes: record.bytes,
    }
}

/// Starts receiving a message that a matched probe took (MPI_Imrecv).
///
/// # Errors
/// MPI_ERR_REQUEST when there is no such message.
///
/// # Safety
/// As for [`super::irecv`].
pub unsafe fn imrecv(
    process: &'static crate::comm::Process,
    memory: Memory<'_>,
    message: Message,
) -> Result<RequestId> {
    if message == Message::NO_PROC {
        // SAFETY: the caller's promise.
        return unsafe { super::irecv(process.world(), memory, PROC_NULL, 0) };
    }
    let mut guard = process.vci().of(message.0).enter();
    let state = &mut *guard;
    let found = state
        .slab
        .find(message.0)
        .filter(|&index| state.slab.entry(index).has(flag::PROBED));
    let Some(index) = found.filter(|&index| {
        matches!(
            state.slab.entry(index).role(),
            Role::Injected | Role::Held | Role::Rts
        )
    }) else {
        let expected = "a message from MPI_Mprobe or MPI_Improbe that was not received yet";
        return Err(Error::argument(
            ErrorClass::ERR_REQUEST,
            "message",
            message,
            expected,
        ));
    };
    // SAFETY: `take` stored the communicator and counted the message as pending on it.
    let comm = unsafe { Comm::of_owner(state.slab.entry(index).owner) };
    let receive = new_receive(state, comm, memory)?;
    if comm.checks_exact_length() {
        state.slab.entry_mut(receive).set_exact();
    }
    // SAFETY: the guard is held; this undoes `take`'s hold.
    unsafe { comm.owner.release() };
    state.slab.entry_mut(index).owner = std::ptr::null();
    kept::deliver_kept(state, index, receive);
    Ok(state.slab.id(receive))
}

/// The communicator a probed message belongs to, for error handling.
pub fn comm_of(process: &'static crate::comm::Process, message: Message) -> Option<&'static Comm> {
    let guard = process.vci().of(message.0).enter();
    let index = guard.slab.find(message.0)?;
    // SAFETY: registered communicators live while operations are pending on them (Process::purge).
    unsafe { Comm::of_owner_if_any(guard.slab.entry(index).owner) }
}
