// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far an operation is, and ending one: its status is taken and its entry freed.

// account: request

use fabric::board::{RequestRecord, kind as record_kind};

use super::VciState;
use crate::errors::ErrorClass;
use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestId, RequestIndex, Role, Status, flag};

/// The status of a receive that is complete and of which nothing else is to be said, as of nearly all; then it is freed.
#[inline(always)]
pub(crate) fn take_received(state: &mut VciState, index: RequestIndex) -> Option<Status> {
    let status = status_of_received(state, index)?;
    state.retire(index);
    Some(status)
}

/// The status of a receive that is complete and of which nothing else is to be said.
#[inline(always)]
fn status_of_received(state: &VciState, index: RequestIndex) -> Option<Status> {
    let entry = state.slab.entry(index);
    let has_no_flags =
        entry.state() == RequestEntry::state_of(record_kind::COMPLETE, Role::Receive as u8, 0);
    if !has_no_flags || entry.error != 0 || entry.record.peer == LinkIndex::NONE {
        return None;
    }
    Some(Status {
        // SAFETY: a communicator lives while it counts operations (Process::purge).
        source: unsafe { (*entry.owner).rank_of_peer(entry.record.peer) },
        tag: entry.record.match_word as u32 as i32,
        bytes: entry.record.bytes,
        ..Status::EMPTY
    })
}

impl VciState {
    /// Records for the launcher that a collective is in progress, and for which peer it waits.
    pub(crate) fn record_begun(&mut self, request: RequestId, peer: Option<LinkIndex>) {
        let stamp = self.node.now_ms();
        if let Some(record) = self.collective(request) {
            record.stamp_ms = stamp;
        }
        self.record_awaited(request, peer);
    }

    /// Records for the launcher for which peer a collective waits.
    pub(crate) fn record_awaited(&mut self, request: RequestId, peer: Option<LinkIndex>) {
        if let Some(record) = self.collective(request) {
            record.peer = peer.unwrap_or(LinkIndex::ANY);
        }
    }

    fn collective(&mut self, request: RequestId) -> Option<&mut RequestRecord> {
        let index = self.slab.find(request)?;
        let record = self.slab.record_mut(index);
        (record.kind == record_kind::COLLECTIVE).then_some(record)
    }
}

/// The status of an operation.
#[inline(always)]
pub(crate) fn status_of(state: &VciState, index: RequestIndex) -> Status {
    let (entry, record) = (state.slab.entry(index), state.slab.record(index));
    let cancelled = entry.has(flag::CANCELLED);
    let keeps_status = match entry.role() {
        Role::Task => true,
        Role::Partitioned => record.kind != record_kind::INACTIVE,
        _ => false,
    };
    if keeps_status && let Some(status) = entry.extra.as_ref().and_then(|extra| extra.status) {
        return Status {
            cancelled,
            ..status
        };
    }
    if entry.role() != Role::Receive || record.kind == record_kind::INACTIVE {
        return Status {
            error: entry.error,
            cancelled,
            ..Status::EMPTY
        };
    }
    if record.peer == LinkIndex::NONE {
        return Status::PROC_NULL;
    }
    if cancelled {
        return Status {
            cancelled,
            ..Status::EMPTY
        };
    }
    // SAFETY: a communicator lives while it counts operations (Process::purge).
    let source = unsafe { (*entry.owner).rank_of_peer(record.peer) };
    Status {
        source,
        tag: record.match_word as u32 as i32,
        error: entry.error,
        cancelled,
        bytes: record.bytes,
    }
}

/// Fails a receive whose message is shorter than its buffer of `buffer_bytes` bytes, against the program's promise; a longer message has
/// failed already. The text of the error, if this is one.
#[cold]
fn compare_length(status: &mut Status, buffer_bytes: u64) -> String {
    let has_message = status.source >= 0 && !status.cancelled && status.error == 0;
    if !has_message || status.bytes >= buffer_bytes {
        return String::new();
    }
    status.error = ErrorClass::ERR_COUNT.0;
    format!(
        "the message from rank {} with tag {} has {} bytes and the receive's buffer {buffer_bytes}, but the communicator has the hint \
         mpi_assert_exact_length, which promises that both are equal: RANKPOINT_CHECK=hints",
        status.source, status.tag, status.bytes
    )
}

/// How far a request is.
pub(crate) enum Standing {
    /// Null, or persistent and not started: it does not count for waiting.
    Idle,
    Pending,
    /// It was complete when it was made, and there is nothing to free.
    Ended,
    Complete(RequestIndex),
}

/// How far the request with this id is; one that is none counts as idle.
#[inline(always)]
pub(crate) fn standing(state: &VciState, id: RequestId) -> Standing {
    if id.is_ended() {
        return Standing::Ended;
    }
    let Some(index) = state.slab.find(id) else {
        return Standing::Idle;
    };
    match state.slab.record(index).kind {
        record_kind::INACTIVE => Standing::Idle,
        record_kind::COMPLETE => Standing::Complete(index),
        _ => Standing::Pending,
    }
}

/// Takes the status of a complete request and frees it, or makes it inactive if it is persistent; the handle becomes null
/// in the first case. Also gives the text of its error.
pub(crate) fn finish(state: &mut VciState, id: &mut RequestId) -> (Status, String) {
    if id.is_ended() {
        *id = RequestId::NULL;
        return (Status::EMPTY, String::new());
    }
    let Some(index) = state.slab.find(*id) else {
        return (Status::EMPTY, String::new());
    };
    // Only collectives have receives that may be open here, and they await them by id.
    state.close_open(index);
    finish_at(state, index, id)
}

/// As [`finish`] for the operation with this index.
#[inline]
pub(crate) fn finish_at(
    state: &mut VciState,
    index: RequestIndex,
    id: &mut RequestId,
) -> (Status, String) {
    if let Some(status) = status_of_received(state, index) {
        state.retire(index);
        *id = RequestId::NULL;
        return (status, String::new());
    }
    let mut status = status_of(state, index);
    let mut text = String::new();
    if let Some(bytes) = state.slab.entry(index).exact_bytes() {
        text = compare_length(&mut status, bytes);
    } else if status.error != 0
        && let Some(extra) = state.slab.entry_mut(index).extra.as_mut()
    {
        text = std::mem::take(&mut extra.error_text);
    }
    if state.slab.entry(index).has(flag::PERSISTENT) {
        let entry = state.slab.entry_mut(index);
        entry.record.kind = record_kind::INACTIVE;
        entry.error = 0;
        if entry.role() == Role::Task {
            entry.set(flag::PLANNED);
        }
    } else {
        state.retire(index);
        *id = RequestId::NULL;
    }
    (status, text)
}

impl VciState {
    /// Closes the memory of a receive to the network, if it is open.
    pub(crate) fn close_open(&mut self, index: RequestIndex) {
        if let Some(number) = self.slab.entry_mut(index).take_open() {
            self.transport.close_memory(number);
        }
    }
}
