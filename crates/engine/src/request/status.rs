// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a completed operation tells (MPI-5.0, section 3.2.5).

use fabric::board::kind as record_kind;

use super::NO_PEER;
use crate::vci::VciState;
use crate::vci::operations::{Op, OpIndex, RequestId, Role, flag};

/// What is known about a completed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender, MPI_PROC_NULL or MPI_ANY_SOURCE.
    pub source: i32,
    /// Tag of the message, or MPI_ANY_TAG.
    pub tag: i32,
    /// Error class, 0 for success.
    pub error: i32,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
    /// Bytes received, packed.
    pub bytes: u64,
}

impl Status {
    /// The empty status.
    pub const EMPTY: Status = Status {
        source: -1,
        tag: -2,
        error: 0,
        cancelled: false,
        bytes: 0,
    };
    /// The status of a receive from MPI_PROC_NULL.
    pub const PROC_NULL: Status = Status {
        source: -3,
        tag: -2,
        error: 0,
        cancelled: false,
        bytes: 0,
    };
}

/// The status of a receive that is complete and of which nothing else is to be said, as of nearly all; then it is freed.
#[inline(always)]
pub(crate) fn take_received(state: &mut VciState, index: OpIndex) -> Option<Status> {
    let op = state.ops.op(index);
    let is_plain = op.state() == Op::plain_state_of(record_kind::COMPLETE, Role::Receive);
    if !is_plain || op.error != 0 || op.record.peer == NO_PEER {
        return None;
    }
    let status = Status {
        // SAFETY: a communicator lives while operations are counted in `pending`.
        source: unsafe { (*op.comm).rank_of_peer(op.record.peer) },
        tag: op.record.match_word as u32 as i32,
        bytes: op.record.bytes,
        ..Status::EMPTY
    };
    state.retire(index);
    Some(status)
}

/// What an operation tells.
#[inline(always)]
pub(super) fn status_of(state: &VciState, index: OpIndex) -> Status {
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
    // SAFETY: a communicator lives while operations are counted in `pending`.
    let source = unsafe { (*op.comm).rank_of_peer(record.peer) };
    Status {
        source,
        tag: record.match_word as u32 as i32,
        error: op.error,
        cancelled,
        bytes: record.bytes,
    }
}

/// How far a request is.
pub(super) enum Standing {
    /// Null, or persistent and not started: it does not count for waiting.
    Idle,
    Pending,
    /// It was complete when it was made, and there is nothing to free.
    Ended,
    Complete(OpIndex),
}

/// How far the request with this id is; one that is none counts as idle.
#[inline(always)]
pub(super) fn standing(state: &VciState, id: RequestId) -> Standing {
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
