// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completing one request, and what all forms of completion share.

// account: request

use fabric::board::kind as record_kind;

use super::lanes::{Awaited, free_lanes, lanes_of, poll_lanes};
use super::overlap::enter_one;
use crate::call::CallName;
use crate::comm::Comm;
use crate::comm::Process;
use crate::errors::{Error, ErrorClass, Result};
use crate::progress::Vci;
use crate::protocol::cancel;
use crate::request::{RequestEntry, RequestId, RequestIndex, Role, Status, flag, stale};
use crate::vci::{Standing, VciState, finish_at, standing, status_of, take_received};

/// The error of a start of what cannot be started: a request that is not persistent, or is active, or none.
#[cold]
pub(crate) fn not_startable(state: &VciState, id: RequestId) -> Error {
    let is_persistent = state
        .slab
        .find(id)
        .is_some_and(|index| state.slab.entry(index).has(flag::PERSISTENT));
    let (value, expected) = match describe(state, id) {
        Some(kind) if is_persistent => (
            format!("{:#x}, an active persistent request of {kind}", id.0),
            "one that is not active: complete it first",
        ),
        Some(kind) => (
            format!("{:#x}, a request of {kind} that is not persistent", id.0),
            "a persistent request, as MPI_Send_init and its relatives make",
        ),
        None if id == RequestId::NULL => (
            "MPI_REQUEST_NULL".to_owned(),
            "a persistent request, as MPI_Send_init and its relatives make",
        ),
        None => return stale(id),
    };
    Error::argument(ErrorClass::ERR_REQUEST, "request", value, expected)
}

/// The owner of a live request.
fn describe(state: &VciState, id: RequestId) -> Option<String> {
    if id == RequestId::SENT {
        return Some("a send".to_owned());
    }
    if let Some((call, _)) = collective_of(state, id) {
        return Some(call.to_string());
    }
    let kind = match state.slab.entry(state.slab.find(id)?).role() {
        Role::Send => "a send",
        Role::Task => "a generalized operation",
        Role::Partitioned => "partitioned communication",
        _ => "a receive",
    };
    Some(kind.to_owned())
}

/// Takes the outcome of a complete receive and frees it.
#[cold]
#[inline(never)]
pub(crate) fn take_outcome(state: &mut VciState, index: RequestIndex) -> Result<Status> {
    let mut id = state.slab.id(index);
    let (status, text) = finish_at(state, index, &mut id);
    outcome(status, text)
}

pub(super) fn outcome(status: Status, text: String) -> Result<Status> {
    if status.error == 0 {
        Ok(status)
    } else {
        Err(failed(status.error, text))
    }
}

#[cold]
pub(super) fn failed(class: i32, text: String) -> Error {
    Error::new(
        ErrorClass(class),
        if text.is_empty() {
            "the operation failed".to_owned()
        } else {
            text
        },
    )
}

/// Whether a request is null or lives.
fn is_live(state: &VciState, id: RequestId) -> bool {
    id == RequestId::NULL || state.slab.find(id).is_some()
}

/// The error of a call for a request that is one of an array. Errors that are not about the request itself stay as they are.
#[cold]
pub fn in_array(error: Error, index: usize) -> Error {
    match error.detail().argument {
        "request" => error.renamed(|_| "array_of_requests").at_index(index),
        _ => error,
    }
}

/// Waits for one request (MPI_Wait).
///
/// # Errors
/// MPI_ERR_REQUEST, or the operation's error.
// TIER: short
#[inline(always)]
pub fn wait(vci: &Vci, id: &mut RequestId, call: &'static str) -> Result<Status> {
    if id.is_ended() {
        *id = RequestId::NULL;
        return Ok(Status::EMPTY);
    }
    wait_active(vci, id, call)
}

/// Waits for a receive; `None` if it is another request, or if there is more to say of it, which [`wait`] does.
#[inline]
pub fn wait_received(vci: &Vci, id: &mut RequestId, call: &'static str) -> Option<Status> {
    let vci = vci.of(*id);
    if vci.waits_slowly() {
        return None;
    }
    let index = {
        let mut guard = vci.enter();
        let entry = guard.slab.named(*id)?;
        if entry.role() != Role::Receive || entry.record.flags != 0 {
            return None;
        }
        entry.index()
    };
    let received = wait_received_at(vci, index, call).ok()??;
    *id = RequestId::NULL;
    Some(received)
}

/// Waits for the receive with this index, which has no flags; `None` if there is more to say of it than [`take_received`] does.
///
/// # Errors
/// When a peer broke the protocol.
#[inline(always)]
pub(crate) fn wait_received_at(
    vci: &Vci,
    index: RequestIndex,
    call: &'static str,
) -> Result<Option<Status>> {
    let mut received = None;
    vci.wait_until(call, |state| {
        let is_complete = state.slab.record(index).kind == record_kind::COMPLETE;
        if is_complete {
            received = take_received(state, index);
        }
        is_complete
    })?;
    Ok(received)
}

#[inline(never)]
fn wait_active(vci: &Vci, id: &mut RequestId, call: &'static str) -> Result<Status> {
    let vci = vci.of(*id);
    if let Some(status) = wait_received(vci, id, call) {
        return Ok(status);
    }
    let _entered = enter_one(vci, *id, call)?;
    let mut result = Ok(Status::EMPTY);
    let wanted = *id;
    vci.expect_kept(wanted);
    let mut awaited = Awaited::default();
    while awaited.wait(vci, call, |state, awaited| {
        let Some(index) = state.slab.find(wanted) else {
            if wanted != RequestId::NULL {
                result = Err(stale(wanted));
            }
            return true;
        };
        match state.slab.record(index).kind {
            record_kind::INACTIVE => true,
            record_kind::COMPLETE => {
                let (status, text) = finish_at(state, index, id);
                result = outcome(status, text);
                true
            }
            _ => awaited.find(state, index),
        }
    })? {}
    result
}

/// Completes one request if it can be (MPI_Test).
///
/// # Errors
/// MPI_ERR_REQUEST, or the operation's error.
pub fn test(vci: &Vci, id: &mut RequestId) -> Result<Option<Status>> {
    if id.is_ended() {
        *id = RequestId::NULL;
        return Ok(Some(Status::EMPTY));
    }
    let vci = vci.of(*id);
    let _entered = enter_one(vci, *id, "MPI_Test")?;
    for attempt in 0..2 {
        if attempt == 1 {
            vci.poll();
        }
        let mut guard = vci.enter();
        let state = &mut *guard;
        match standing(state, *id) {
            Standing::Idle if !is_live(state, *id) => return Err(stale(*id)),
            Standing::Idle => return Ok(Some(Status::EMPTY)),
            Standing::Pending if attempt == 0 => {
                let lanes = lanes_of(state, *id);
                drop(guard);
                poll_lanes(vci, lanes);
            }
            Standing::Pending => {}
            Standing::Ended => {
                *id = RequestId::NULL;
                return Ok(Some(Status::EMPTY));
            }
            Standing::Complete(index) => {
                let (status, text) = finish_at(state, index, id);
                return outcome(status, text).map(Some);
            }
        }
    }
    Ok(None)
}

/// The status of a request without freeing it (MPI_Request_get_status); `None` while it is not complete.
///
/// # Errors
/// MPI_ERR_REQUEST.
pub fn peek(vci: &Vci, id: RequestId) -> Result<Option<Status>> {
    if id == RequestId::NULL || id.is_ended() {
        return Ok(Some(Status::EMPTY));
    }
    let vci = vci.of(id);
    if let Some(overlaps) = vci.overlaps() {
        overlaps.learn();
    }
    for attempt in 0..2 {
        if attempt == 1 {
            vci.poll();
        }
        let guard = vci.enter();
        if !is_live(&guard, id) {
            return Err(stale(id));
        }
        if let Some(index) = guard.slab.find(id).filter(|_| guard.is_complete(id)) {
            return Ok(Some(status_of(&guard, index)));
        }
        if attempt == 0 {
            let lanes = lanes_of(&guard, id);
            drop(guard);
            poll_lanes(vci, lanes);
        }
    }
    Ok(None)
}

/// Lets go of a request; it completes by itself.
///
/// # Errors
/// MPI_ERR_REQUEST.
pub fn let_go(vci: &Vci, id: &mut RequestId) -> Result<()> {
    if id.is_ended() {
        *id = RequestId::NULL;
        return Ok(());
    }
    let mut guard = vci.of(*id).enter();
    let index = guard.slab.find(*id).ok_or_else(|| stale(*id))?;
    if matches!(
        guard.slab.record(index).kind,
        record_kind::COMPLETE | record_kind::INACTIVE
    ) {
        let lanes = guard.partitioned(index).and_then(|it| it.lanes.take());
        guard.let_go(index);
        drop(guard);
        free_lanes(vci, lanes);
    } else {
        let record = guard.slab.record_mut(index);
        record.flags = (record.flags | flag::FREED) & !flag::PERSISTENT;
    }
    *id = RequestId::NULL;
    Ok(())
}

/// As [`let_go`], but not of the request of a collective or of partitioned communication that is under way, which a program has to complete
/// (MPI_Request_free; MPI-5.0, sections 4.2.1, 6.12 and 6.13).
///
/// # Errors
/// MPI_ERR_REQUEST; the request stays as it is.
pub fn free(vci: &Vci, id: &mut RequestId) -> Result<()> {
    let _entered = enter_one(vci, *id, "MPI_Request_free")?;
    let bound = bound(&vci.of(*id).enter(), *id);
    if let Some((call, true)) = bound
        && peek(vci, *id)?.is_none()
    {
        let expected = "one of a message, or one that is complete or not active: complete it first";
        let value = format!("an active request of {call}");
        let class = ErrorClass::ERR_REQUEST;
        return Err(Error::argument(class, "request", value, expected));
    }
    let_go(vci, id)
}

/// What a request belongs to that can be neither cancelled nor freed while it is active, and whether it is.
fn bound(state: &VciState, id: RequestId) -> Option<(String, bool)> {
    if let Some((call, is_active)) = collective_of(state, id) {
        return Some((call.to_string(), is_active));
    }
    let entry = state.slab.entry(state.slab.find(id)?);
    let is_active = entry.record.kind != record_kind::INACTIVE;
    (entry.role() == Role::Partitioned).then(|| ("partitioned communication".to_owned(), is_active))
}

/// The collective that a request belongs to, and whether it is active: started, and not waited for since.
fn collective_of(state: &VciState, id: RequestId) -> Option<(CallName, bool)> {
    if let Some((call, _)) = id.ended_collective() {
        return Some((call, true));
    }
    let index = state.slab.find(id)?;
    let entry = state.slab.entry(index);
    if entry.role() != Role::Task {
        return None;
    }
    let call = CallName::from_number(entry.task().call);
    let is_active = entry.record.kind != record_kind::INACTIVE;
    (call != CallName::UNKNOWN).then_some((call, is_active))
}

/// Cancels a receive that has not matched, or a send that is not complete and whose receiver has not taken its message; the
/// request completes in any case (MPI_Cancel).
///
/// # Errors
/// MPI_ERR_REQUEST; of a collective, which goes on as if nothing had been said (MPI-5.0, sections 6.12 and 6.13).
pub fn cancel(vci: &Vci, id: RequestId) -> Result<()> {
    if id == RequestId::SENT {
        return Ok(());
    }
    let mut guard = vci.of(id).enter();
    let state = &mut *guard;
    if let Some((call, _)) = bound(state, id) {
        let expected = "one of a send, a receive or a generalized request";
        let value = format!("a request of {call}");
        let class = ErrorClass::ERR_REQUEST;
        return Err(Error::argument(class, "request", value, expected));
    }
    let index = state.slab.find(id).ok_or_else(|| stale(id))?;
    cancel::cancel(state, index);
    Ok(())
}

/// Cancels a receive that has not matched; everything else goes on, for what has been sent must not get lost.
///
/// # Errors
/// MPI_ERR_REQUEST.
pub fn cancel_receive(vci: &Vci, id: RequestId) -> Result<()> {
    if id.is_ended() {
        return Ok(());
    }
    let mut guard = vci.of(id).enter();
    let index = guard.slab.find(id).ok_or_else(|| stale(id))?;
    cancel::cancel_receive(&mut guard, index);
    Ok(())
}

/// The communicator of a live request, for error handling.
pub fn comm_of(process: &'static Process, id: RequestId) -> Option<&'static Comm> {
    // Of no communicator; threads with VCIs of their own would all enter the first one to learn that.
    if id == RequestId::SENT {
        return None;
    }
    let guard = process.vci().of(id).enter();
    let index = guard.slab.find(id)?;
    // SAFETY: registered communicators live while operations are pending on them (Process::purge).
    unsafe { Comm::of_owner_if_any(guard.slab.entry(index).owner) }
}

/// The id of the live request with this index, if a program may have it: nothing completes or frees it but calls for it.
pub fn request_at(vci: &Vci, index: u32) -> Option<RequestId> {
    at_index(vci, index, |entry| {
        !is_message(entry) && !entry.has(flag::FREED)
    })
}

/// The id of the message with this index that a probe has taken for a program.
pub fn message_at(vci: &Vci, index: u32) -> Option<RequestId> {
    at_index(vci, index, |entry| {
        is_message(entry) && entry.has(flag::PROBED)
    })
}

fn at_index(vci: &Vci, index: u32, fits: impl Fn(&RequestEntry) -> bool) -> Option<RequestId> {
    let guard = vci.of_index(RequestId::vci_of_index(index)).enter();
    let id = guard.slab.at_index(index)?;
    let found = guard.slab.find(id)?;
    fits(guard.slab.entry(found)).then_some(id)
}

/// Whether an entry is that of a message without a receive.
const fn is_message(entry: &RequestEntry) -> bool {
    matches!(entry.role(), Role::Injected | Role::Held | Role::Rts)
}
