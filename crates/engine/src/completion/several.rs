// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completing arrays of requests.
//!
//! Most arrays are of one VCI. Of those that are not, a wait for all takes the VCIs in the order of the array; other calls stay on the first
//! VCI and inspect into the others by [`Vci::try_enter`], which no two threads can wait for each other in.

// account: request

use std::sync::Arc;

use super::lanes::{Awaited, advance_lanes, lanes_of, poll_lanes};
use super::one::{failed, in_array, outcome};
use super::overlap::enter_all;
use crate::errors::{Error, ErrorClass, Result};
use crate::progress::Vci;
use crate::request::{RequestId, RequestLanes, Status, stale};
use crate::vci::{Standing, VciState, finish, finish_at, standing};

/// Whether a request belongs to no VCI in particular.
fn is_anywhere(id: RequestId) -> bool {
    id == RequestId::NULL || id.is_ended()
}

/// How many of the first requests can be completed at one VCI, and which one that is: `vci` if any can do it.
fn at_one_vci<'a>(vci: &'a Vci, ids: &[RequestId]) -> (usize, &'a Vci) {
    let mut first: Option<&Vci> = None;
    for (index, &id) in ids.iter().enumerate() {
        if id == RequestId::NULL {
            continue;
        }
        match first {
            Some(first) if id.vci() == first.index() => {}
            _ if is_anywhere(id) => {}
            None => first = Some(vci.of(id)),
            // An id that names no VCI of this process is stale wherever it is looked for.
            Some(first) if std::ptr::eq(first.of(id), first) => {}
            Some(first) => return (index, first),
        }
    }
    (ids.len(), first.unwrap_or(vci))
}

/// The parts of an array that can each be completed at one VCI: their first indices and those VCIs.
fn parts<'a>(vci: &'a Vci, ids: &[RequestId]) -> Vec<(usize, &'a Vci)> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    while begin < ids.len() {
        let (length, vci) = at_one_vci(vci, &ids[begin..]);
        parts.push((begin, vci));
        begin += length;
    }
    parts
}

/// The VCIs of an array, each once, and at least one.
fn vcis_of<'a>(vci: &'a Vci, ids: &[RequestId]) -> Vec<&'a Vci> {
    let mut found = vec![at_one_vci(vci, ids).1];
    for (_, vci) in parts(vci, ids) {
        if !found.iter().any(|known| known.index() == vci.index()) {
            found.push(vci);
        }
    }
    found
}

fn check_live_in(state: &VciState, ids: &[RequestId], begin: usize) -> Result<()> {
    for (index, &id) in ids.iter().enumerate() {
        if id != RequestId::NULL && state.slab.find(id).is_none() {
            return Err(in_array(stale(id), begin + index));
        }
    }
    Ok(())
}

/// The VCIs of an array.
#[derive(Clone, Copy)]
struct Vcis<'a> {
    /// That of the first request that has one.
    first: &'a Vci,
    /// Whether all requests can be completed there.
    is_only: bool,
}

impl Vcis<'_> {
    /// Makes progress on each.
    fn poll(&self, ids: &[RequestId]) {
        if self.is_only {
            self.first.poll();
            return;
        }
        for vci in vcis_of(self.first, ids) {
            vci.poll();
        }
    }
}

/// Refuses an array with a request that is none; returns the VCIs of all.
fn check_live<'a>(vci: &'a Vci, ids: &[RequestId]) -> Result<Vcis<'a>> {
    let (length, first) = at_one_vci(vci, ids);
    let is_only = length == ids.len();
    if is_only {
        check_live_in(&first.enter(), ids, 0)?;
        return Ok(Vcis { first, is_only });
    }
    let mut end = ids.len();
    for (begin, vci) in parts(vci, ids).into_iter().rev() {
        check_live_in(&vci.enter(), &ids[begin..end], begin)?;
        end = begin;
    }
    Ok(Vcis { first, is_only })
}

/// Waits for all requests (MPI_Waitall); `each` gets every index and status.
///
/// # Errors
/// MPI_ERR_REQUEST; MPI_ERR_IN_STATUS when operations failed, whose statuses then hold the classes.
pub fn wait_all(
    vci: &Vci,
    ids: &mut [RequestId],
    call: &'static str,
    each: &mut dyn FnMut(usize, Status),
) -> Result<()> {
    if ids
        .iter()
        .all(|&id| id == RequestId::SENT || id == RequestId::NULL)
    {
        // No VCI has anything of them.
        for (index, id) in ids.iter_mut().enumerate() {
            *id = RequestId::NULL;
            each(index, Status::EMPTY);
        }
        return Ok(());
    }
    let _entered = enter_all(vci, ids, call)?;
    let vcis = check_live(vci, ids)?;
    wait_all_live(vcis, ids, call, each)
}

/// As [`wait_all`] for requests that were checked.
fn wait_all_live(
    vcis: Vcis<'_>,
    ids: &mut [RequestId],
    call: &'static str,
    each: &mut dyn FnMut(usize, Status),
) -> Result<()> {
    let mut failure = None;
    if vcis.is_only {
        wait_all_at(vcis.first, ids, call, each, &mut failure)?;
    } else {
        let mut rest = parts(vcis.first, ids).into_iter().peekable();
        while let Some((begin, vci)) = rest.next() {
            let end = rest.peek().map_or(ids.len(), |&(next, _)| next);
            let part = &mut ids[begin..end];
            let mut each = |index, status| each(begin + index, status);
            wait_all_at(vci, part, call, &mut each, &mut failure)?;
        }
    }
    failure.map_or(Ok(()), |text| {
        Err(failed(ErrorClass::ERR_IN_STATUS.0, text))
    })
}

/// The same of requests of one VCI; `failure` gets the text of the first operation that failed.
fn wait_all_at(
    vci: &Vci,
    ids: &mut [RequestId],
    call: &'static str,
    each: &mut dyn FnMut(usize, Status),
    failure: &mut Option<String>,
) -> Result<()> {
    let mut next = 0;
    for &id in &*ids {
        if id != RequestId::NULL {
            vci.expect_kept(id);
        }
    }
    let mut awaited = Awaited::default();
    while awaited.wait(vci, call, |state, awaited| {
        while let Some(id) = ids.get_mut(next) {
            if *id == RequestId::NULL {
                each(next, Status::EMPTY);
                next += 1;
                continue;
            }
            let status = match standing(state, *id) {
                Standing::Idle => Status::EMPTY,
                Standing::Pending => {
                    let index = state.slab.find(*id);
                    return index.is_some_and(|index| awaited.find(state, index));
                }
                Standing::Ended => {
                    *id = RequestId::NULL;
                    Status::EMPTY
                }
                Standing::Complete(index) => {
                    let (status, text) = finish_at(state, index, id);
                    if status.error != 0 {
                        failure.get_or_insert(text);
                    }
                    status
                }
            };
            each(next, status);
            next += 1;
        }
        true
    })? {}
    Ok(())
}

/// Completes all requests if all can be (MPI_Testall).
///
/// # Errors
/// As for [`wait_all`].
pub fn test_all(
    vci: &Vci,
    ids: &mut [RequestId],
    each: &mut dyn FnMut(usize, Status),
) -> Result<bool> {
    let _entered = enter_all(vci, ids, "MPI_Testall")?;
    let vcis = check_live(vci, ids)?;
    let mut lanes = None;
    if !are_ready(vcis, ids, &mut lanes) {
        poll_lanes(vci, lanes.take());
        vcis.poll(ids);
        if !are_ready(vcis, ids, &mut lanes) {
            return Ok(false);
        }
    }
    wait_all_live(vcis, ids, "MPI_Testall", each).map(|()| true)
}

/// Whether all requests are complete; `lanes` gets those of the first one that is not.
fn are_ready(vcis: Vcis<'_>, ids: &[RequestId], lanes: &mut Option<Arc<RequestLanes>>) -> bool {
    let mut rest = ids;
    while !rest.is_empty() {
        let (length, vci) = match vcis.is_only {
            true => (rest.len(), vcis.first),
            false => at_one_vci(vcis.first, rest),
        };
        let state = vci.enter();
        let is_pending = |&id: &RequestId| {
            id != RequestId::NULL && matches!(standing(&state, id), Standing::Pending)
        };
        if let Some(&pending) = rest[..length].iter().find(|id| is_pending(id)) {
            *lanes = lanes_of(&state, pending);
            return false;
        }
        drop(state);
        rest = &rest[length..];
    }
    true
}

/// The outcome of waiting for any request.
pub enum Any {
    /// This one completed.
    Done(usize, Status),
    /// This one completed with an error.
    Failed(usize, Error),
    /// There is no active request.
    NoneActive,
    /// None is complete yet (tests only).
    NotYet,
}

/// The state of the VCI of a request, while its owner may be held: another VCI is entered only if it is free, and advanced then, because
/// no wait does that. Calls `inspect` with it; `None` if another thread is there.
fn at<R>(
    held: &Vci,
    state: &mut VciState,
    id: RequestId,
    inspect: impl FnOnce(&mut VciState) -> R,
) -> Option<R> {
    let vci = held.of(id);
    if is_anywhere(id) || vci.index() == held.index() {
        return Some(inspect(state));
    }
    let mut other = vci.try_enter()?;
    if other.progress() != 0 {
        let found = inspect(&mut other);
        drop(other);
        vci.ring_own_doorbell();
        return Some(found);
    }
    Some(inspect(&mut other))
}

fn any_now(vci: &Vci, state: &mut VciState, ids: &mut [RequestId]) -> Any {
    let mut active = false;
    for (index, id) in ids.iter_mut().enumerate() {
        if *id == RequestId::NULL {
            continue;
        }
        let found = at(vci, state, *id, |state| match standing(state, *id) {
            Standing::Idle => None,
            Standing::Pending => {
                advance_lanes(vci, state, *id);
                Some(None)
            }
            Standing::Ended | Standing::Complete(_) => Some(Some(finish(state, id))),
        });
        match found {
            Some(None) => {}
            None | Some(Some(None)) => active = true,
            Some(Some(Some((status, text)))) => {
                return match outcome(status, text) {
                    Ok(status) => Any::Done(index, status),
                    Err(error) => Any::Failed(index, error),
                };
            }
        }
    }
    if active { Any::NotYet } else { Any::NoneActive }
}

/// Waits for one of several requests (MPI_Waitany).
///
/// # Errors
/// MPI_ERR_REQUEST.
pub fn wait_any(vci: &Vci, ids: &mut [RequestId], call: &'static str) -> Result<Any> {
    let _entered = enter_all(vci, ids, call)?;
    let first = check_live(vci, ids)?.first;
    let mut found = Any::NotYet;
    first.wait_until(call, |state| {
        found = any_now(first, state, ids);
        !matches!(found, Any::NotYet)
    })?;
    Ok(found)
}

/// Completes one of several requests if any can be (MPI_Testany).
///
/// # Errors
/// As for [`wait_any`].
pub fn test_any(vci: &Vci, ids: &mut [RequestId]) -> Result<Any> {
    let _entered = enter_all(vci, ids, "MPI_Testany")?;
    let vcis = check_live(vci, ids)?;
    let first = vcis.first;
    // The guard must be gone before the poll takes it again.
    let found = any_now(first, &mut first.enter(), ids);
    if matches!(found, Any::NotYet) {
        vcis.poll(ids);
        return Ok(any_now(first, &mut first.enter(), ids));
    }
    Ok(found)
}

fn some_now(
    vci: &Vci,
    state: &mut VciState,
    ids: &mut [RequestId],
    each: &mut dyn FnMut(usize, Status),
) -> (bool, usize, bool) {
    let (mut active, mut done, mut failure) = (false, 0, false);
    for (index, id) in ids.iter_mut().enumerate() {
        if *id == RequestId::NULL {
            continue;
        }
        let found = at(vci, state, *id, |state| match standing(state, *id) {
            Standing::Idle => None,
            Standing::Pending => {
                advance_lanes(vci, state, *id);
                Some(None)
            }
            Standing::Ended | Standing::Complete(_) => Some(Some(finish(state, id).0)),
        });
        match found {
            Some(None) => {}
            None | Some(Some(None)) => active = true,
            Some(Some(Some(status))) => {
                (active, failure) = (true, failure || status.error != 0);
                each(index, status);
                done += 1;
            }
        }
    }
    (active, done, failure)
}

/// Completes as many requests as are complete: after waiting for at least one if `waits` (MPI_Waitsome, MPI_Testsome).
/// `None` when none is active.
///
/// # Errors
/// MPI_ERR_REQUEST; MPI_ERR_IN_STATUS when operations failed.
pub fn complete_some(
    vci: &Vci,
    ids: &mut [RequestId],
    call: &'static str,
    waits: bool,
    each: &mut dyn FnMut(usize, Status),
) -> Result<Option<usize>> {
    let _entered = enter_all(vci, ids, call)?;
    let vcis = check_live(vci, ids)?;
    let first = vcis.first;
    let mut outcome = (false, 0, false);
    if waits {
        first.wait_until(call, |state| {
            outcome = some_now(first, state, ids, each);
            !outcome.0 || outcome.1 > 0
        })?;
    } else {
        vcis.poll(ids);
        outcome = some_now(first, &mut first.enter(), ids, each);
    }
    match outcome {
        (false, ..) => Ok(None),
        (_, _, true) => Err(failed(
            ErrorClass::ERR_IN_STATUS.0,
            "an operation failed".to_owned(),
        )),
        (_, done, _) => Ok(Some(done)),
    }
}
