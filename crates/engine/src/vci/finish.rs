// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far an operation is, and ending one: its status is taken and its entry freed.

use fabric::board::kind as record_kind;

use super::VciState;
use crate::request::{NO_PEER, Op, OpIndex, RequestId, Role, Status, flag};

/// The status of a receive that is complete and of which nothing else is to be said, as of nearly all; then it is freed.
#[inline(always)]
pub(crate) fn take_received(state: &mut VciState, index: OpIndex) -> Option<Status> {
    let op = state.ops.op(index);
    let has_no_flags = op.state() == Op::state_without_flags(record_kind::COMPLETE, Role::Receive);
    if !has_no_flags || op.error != 0 || op.record.peer == NO_PEER {
        return None;
    }
    let status = Status {
        // SAFETY: a communicator lives while it counts operations (Process::purge).
        source: unsafe { (*op.owner).rank_of_peer(op.record.peer) },
        tag: op.record.match_word as u32 as i32,
        bytes: op.record.bytes,
        ..Status::EMPTY
    };
    state.retire(index);
    Some(status)
}

/// The status of an operation.
#[inline(always)]
pub(crate) fn status_of(state: &VciState, index: OpIndex) -> Status {
    let (op, record) = (state.ops.op(index), state.ops.record(index));
    let cancelled = op.has(flag::CANCELLED);
    if op.role() == Role::Task
        && let Some(status) = op.extra.as_ref().and_then(|extra| extra.status)
    {
        return Status {
            cancelled,
            ..status
        };
    }
    if op.role() != Role::Receive || record.kind == record_kind::INACTIVE {
        return Status {
            error: op.error,
            cancelled,
            ..Status::EMPTY
        };
    }
    if record.peer == NO_PEER {
        return Status::PROC_NULL;
    }
    if cancelled {
        return Status {
            cancelled,
            ..Status::EMPTY
        };
    }
    // SAFETY: a communicator lives while it counts operations (Process::purge).
    let source = unsafe { (*op.owner).rank_of_peer(record.peer) };
    Status {
        source,
        tag: record.match_word as u32 as i32,
        error: op.error,
        cancelled,
        bytes: record.bytes,
    }
}

/// How far a request is.
pub(crate) enum Standing {
    /// Null, or persistent and not started: it does not count for waiting.
    Idle,
    Pending,
    /// It was complete when it was made, and there is nothing to free.
    Ended,
    Complete(OpIndex),
}

/// How far the request with this id is; one that is none counts as idle.
#[inline(always)]
pub(crate) fn standing(state: &VciState, id: RequestId) -> Standing {
    if id.is_ended() {
        return Standing::Ended;
    }
    let Some(index) = state.ops.find(id) else {
        return Standing::Idle;
    };
    match state.ops.record(index).kind {
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
    let Some(index) = state.ops.find(*id) else {
        return (Status::EMPTY, String::new());
    };
    finish_at(state, index, id)
}

/// As [`finish`] for the operation with this index.
#[inline]
pub(crate) fn finish_at(
    state: &mut VciState,
    index: OpIndex,
    id: &mut RequestId,
) -> (Status, String) {
    if let Some(status) = take_received(state, index) {
        *id = RequestId::NULL;
        return (status, String::new());
    }
    let status = status_of(state, index);
    let mut text = String::new();
    if status.error != 0
        && let Some(extra) = state.ops.op_mut(index).extra.as_mut()
    {
        text = std::mem::take(&mut extra.error_text);
    }
    if state.ops.op(index).has(flag::PERSISTENT) {
        let op = state.ops.op_mut(index);
        op.record.kind = record_kind::INACTIVE;
        op.error = 0;
        if op.role() == Role::Task {
            op.set_planned(true);
        }
    } else {
        state.retire(index);
        *id = RequestId::NULL;
    }
    (status, text)
}
