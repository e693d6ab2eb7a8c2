// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that one thread at a time completes or starts, where that is checked ([`crate::overlap`]).

// account: request

use super::in_array;
use crate::comm::Comm;
use crate::errors::Result;
use crate::overlap::{Entered, Overlaps, Subject};
use crate::progress::Vci;
use crate::request::RequestId;

/// Calls on requests, and on the endpoints that these belong to, until this is dropped. Holds nothing where threads are not checked.
pub(crate) type EnteredRequests<'a> = Vec<Entered<'a>>;

/// Notes that this thread starts, completes or frees a request.
///
/// # Errors
/// MPI_ERR_REQUEST, or MPI_ERR_COMM for a request of an endpoint, which names both calls, when another thread is in such a call.
#[inline]
pub(crate) fn enter_one<'a>(
    vci: &'a Vci,
    id: RequestId,
    call: &'static str,
) -> Result<EnteredRequests<'a>> {
    match vci.overlaps() {
        None => Ok(Vec::new()),
        Some(overlaps) => enter(vci, overlaps, id, call),
    }
}

/// The same of an array of requests.
///
/// # Errors
/// As there, with the index.
#[inline]
pub(crate) fn enter_all<'a>(
    vci: &'a Vci,
    ids: &[RequestId],
    call: &'static str,
) -> Result<EnteredRequests<'a>> {
    let mut entered = Vec::new();
    if let Some(overlaps) = vci.overlaps() {
        for (index, &id) in ids.iter().enumerate() {
            let one = enter(vci, overlaps, id, call);
            entered.extend(one.map_err(|error| in_array(error, index))?);
        }
    }
    Ok(entered)
}

#[cold]
#[inline(never)]
fn enter<'a>(
    vci: &'a Vci,
    overlaps: &'a Overlaps,
    id: RequestId,
    call: &'static str,
) -> Result<EnteredRequests<'a>> {
    // The program has as many of these as it likes, with one name.
    if id == RequestId::NULL || id.is_ended() {
        return Ok(Vec::new());
    }
    overlaps.learn();
    let mut entered = vec![overlaps.enter(Subject::Request(id), call)?];
    let guard = vci.of(id).enter();
    let owner = guard
        .slab
        .find(id)
        .map(|index| guard.slab.entry(index).owner);
    // SAFETY: communicators live while requests name them (Process::purge), and this one is live while the guard is held.
    let comm = owner.and_then(|owner| unsafe { Comm::of_owner_if_any(owner) });
    let endpoint = comm.map(|comm| comm.enter_if_endpoint(overlaps, call));
    drop(guard);
    let endpoint = endpoint
        .transpose()
        .map_err(|error| error.renamed(|_| "request"))?;
    entered.extend(endpoint.flatten());
    Ok(entered)
}
