// SPDX-License-Identifier: MIT OR Apache-2.0
//! The partitions of an active request: those of a send become ready, those of a receive arrive.

use fabric::board::kind as record_kind;

use super::lanes;
use crate::errors::{Error, ErrorClass, Result};
use crate::p2p::{Memory, send_at_once};
use crate::progress::{Guard, Vci};
use crate::protocol;
use crate::request::{RequestId, RequestIndex, stale};
use crate::vci::VciState;

/// Says that a partition of a send is ready (MPI_Pready).
///
/// # Errors
/// MPI_ERR_REQUEST, unless it is an active partitioned send; MPI_ERR_ARG when the partition is none, or ready already; those of the
/// transport.
pub fn ready(vci: &Vci, id: RequestId, partition: i32) -> Result<()> {
    if vci.is_threaded()
        && let Some(outcome) = lanes::ready_known(vci, id, partition)
    {
        return outcome;
    }
    let partitions = partition..=partition;
    make_ready(vci, id, partitions, |_, error| {
        error.renamed(|_| "partition")
    })
}

/// As [`ready`], of the partitions from `low` to `high` (MPI_Pready_range). All of them become ready, or none.
///
/// # Errors
/// As for [`ready`].
pub fn ready_range(vci: &Vci, id: RequestId, low: i32, high: i32) -> Result<()> {
    if low > high {
        let expected = format!("at least partition_low, {low}");
        let class = ErrorClass::ERR_ARG;
        return Err(Error::argument(class, "partition_high", high, expected));
    }
    make_ready(vci, id, low..=high, |place, error| {
        error.renamed(|_| match place {
            0 => "partition_low",
            _ => "partition_low..partition_high",
        })
    })
}

/// As [`ready_range`], of the partitions of a list (MPI_Pready_list).
///
/// # Errors
/// As for [`ready`].
pub fn ready_list(vci: &Vci, id: RequestId, partitions: &[i32]) -> Result<()> {
    let partitions = partitions.iter().copied();
    make_ready(vci, id, partitions, |place, error| {
        error.renamed(|_| "array_of_partitions").at_index(place)
    })
}

/// The partitions of a send that are not ready, each with the request to make it ready by: a lane of this one if it has some. None of a
/// request that is not an active partitioned send.
pub fn not_ready(vci: &Vci, id: RequestId) -> Vec<(RequestId, i32)> {
    let mut guard = vci.of(id).enter();
    let state = &mut *guard;
    let index = state.slab.find(id);
    let Some(index) =
        index.filter(|&it| state.slab.record(it).kind == record_kind::PARTITIONED_SEND)
    else {
        return Vec::new();
    };
    let Some(partitioned) = state.partitioned(index) else {
        return Vec::new();
    };
    if let Some(lanes) = partitioned.lanes.clone() {
        drop(guard);
        let lanes = lanes.ids().iter();
        return lanes.flat_map(|&lane| not_ready(vci, lane)).collect();
    }
    let numbered = (partitioned.first() as i32..).zip(&partitioned.waiting);
    numbered
        .filter(|(_, waiting)| **waiting == 1)
        .map(|(number, _)| (id, number))
        .collect()
}

/// Makes partitions ready, all or none; `explain` completes the error about a partition by its place among them.
fn make_ready(
    vci: &Vci,
    id: RequestId,
    partitions: impl Iterator<Item = i32> + Clone,
    explain: impl FnOnce(usize, Error) -> Error,
) -> Result<()> {
    let vci = vci.of(id);
    let mut guard = vci.enter();
    let state = &mut *guard;
    let index = find(state, id, false)?;
    if state.slab.record(index).kind == record_kind::INACTIVE {
        return Err(inactive(id));
    }
    if let Some(lanes) = state.partitioned(index).and_then(|it| it.lanes.clone()) {
        drop(guard);
        let outcome = lanes::make_ready(vci, &lanes, partitions, explain);
        lanes::remember(id, lanes);
        return outcome;
    }
    mark(state, index, partitions.clone()).map_err(|(place, error)| explain(place, error))?;
    send(vci, guard, index, partitions)
}

/// Marks partitions as ready, all or none: else the place of a wrong one among them, and its error.
pub(super) fn mark(
    state: &mut VciState,
    index: RequestIndex,
    partitions: impl Iterator<Item = i32> + Clone,
) -> std::result::Result<(), (usize, Error)> {
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
    for (place, partition) in partitions.clone().enumerate() {
        let waiting = partitioned.waiting_mut(partition);
        if let Some(waiting @ 1) = waiting {
            *waiting = 0;
            continue;
        }
        let error = match waiting {
            Some(_) => ready_already(partition),
            None => no_partition(partition, partitioned.partitions),
        };
        unmark(state, index, partitions.take(place));
        return Err((place, error));
    }
    Ok(())
}

/// Takes back that partitions are ready, which are not sent yet.
pub(super) fn unmark(
    state: &mut VciState,
    index: RequestIndex,
    partitions: impl Iterator<Item = i32>,
) {
    if let Some(partitioned) = state.partitioned(index) {
        for partition in partitions {
            if let Some(waiting) = partitioned.waiting_mut(partition) {
                *waiting = 1;
            }
        }
    }
}

/// Sends partitions that are marked as ready, on the VCI of their request or lane.
pub(super) fn send(
    vci: &Vci,
    mut guard: Guard<'_>,
    index: RequestIndex,
    partitions: impl Iterator<Item = i32>,
) -> Result<()> {
    let state = &mut *guard;
    let events = state.events;
    let mut outcome = Ok(());
    for partition in partitions {
        let sent = send_partition(state, index, partition as usize);
        outcome = outcome.and(sent);
    }
    let is_complete = state.events != events;
    drop(guard);
    if is_complete && vci.is_threaded() {
        // A thread that waits for the request may sleep.
        vci.ring_own_doorbell();
    }
    outcome
}

/// Sends a partition that has become ready.
fn send_partition(state: &mut VciState, index: RequestIndex, number: usize) -> Result<()> {
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
    let Some(message) = partitioned.message(number) else {
        // For MPI_PROC_NULL.
        if partitioned.note_complete(number) {
            state.events += 1;
            state.complete(index);
        }
        return Ok(());
    };
    let entry = state.slab.entry_mut(message);
    entry.record.kind = record_kind::SEND_ACTIVE;
    if entry.extra.is_none() {
        let memory = Memory::contiguous(entry.base, entry.record.bytes as usize);
        let (peer, word) = (entry.send().target, entry.record.match_word);
        // SAFETY: the memory of a partition that is ready is readable (contract of the request).
        if unsafe { send_at_once(state, memory, peer, word) } {
            state.complete(message);
            return Ok(());
        }
    }
    let started = protocol::start_send(state, message);
    if let Err(error) = &started {
        // The wait ends, and tells the error, too.
        let entry = state.slab.entry_mut(message);
        entry.error = error.class().0;
        entry.extra.get_or_insert_default().error_text = error.to_string();
        state.complete(message);
    }
    started
}

/// Whether a partition of a receive has arrived (MPI_Parrived); makes progress if not. True if the request is inactive or null.
///
/// # Errors
/// MPI_ERR_REQUEST, unless it is a partitioned receive; MPI_ERR_ARG when the partition is none.
pub fn arrived(vci: &Vci, id: RequestId, partition: i32) -> Result<bool> {
    if vci.is_threaded()
        && let Some(outcome) = lanes::arrived_known(vci, id, partition)
    {
        return outcome;
    }
    let vci = vci.of(id);
    for attempt in 0..2 {
        if attempt == 1 {
            vci.poll();
        }
        let mut guard = vci.enter();
        let state = &mut *guard;
        let index = match find(state, id, true) {
            Ok(index) => index,
            Err(_) if id == RequestId::NULL => return Ok(true),
            Err(error) => return Err(error),
        };
        let is_active = state.slab.record(index).kind == record_kind::PARTITIONED_RECEIVE;
        let Some(partitioned) = state.partitioned(index) else {
            return Err(stale(id));
        };
        if let Some(lanes) = partitioned.lanes.clone() {
            drop(guard);
            let outcome = lanes::arrived(vci, &lanes, partition);
            lanes::remember(id, lanes);
            return outcome;
        }
        let waiting = usize::try_from(partition).ok();
        let Some(&waiting) = waiting.and_then(|at| partitioned.waiting.get(at)) else {
            return Err(no_partition(partition, partitioned.partitions));
        };
        if waiting == 0 || !is_active {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The entry of a partitioned receive, or send.
pub(super) fn find(state: &mut VciState, id: RequestId, receives: bool) -> Result<RequestIndex> {
    let index = state.slab.find(id).ok_or_else(|| stale(id))?;
    let is_receive = state.partitioned(index).map(|it| it.receiving.is_some());
    if is_receive == Some(receives) {
        return Ok(index);
    }
    let value = match is_receive {
        Some(true) => "a partitioned receive",
        Some(false) => "a partitioned send",
        None => "a request that is not partitioned",
    };
    let expected = if receives {
        "a partitioned receive, as MPI_Precv_init makes"
    } else {
        "a partitioned send, as MPI_Psend_init makes"
    };
    let value = format!("{:#x}, {value}", id.0);
    let class = ErrorClass::ERR_REQUEST;
    Err(Error::argument(class, "request", value, expected))
}

#[cold]
fn inactive(id: RequestId) -> Error {
    let value = format!("{:#x}, which is not active", id.0);
    let expected = "a partitioned send that MPI_Start has started";
    Error::argument(ErrorClass::ERR_REQUEST, "request", value, expected)
}

#[cold]
fn ready_already(partition: i32) -> Error {
    let value = format!("{partition}, which is ready already");
    let expected = "each partition once after each start";
    Error::argument(ErrorClass::ERR_ARG, "partition", value, expected)
}

#[cold]
pub(super) fn no_partition(partition: i32, count: u32) -> Error {
    let expected = match count.checked_sub(1) {
        Some(last) => format!("0..{last}"),
        None => "none: the request has no partitions".to_owned(),
    };
    Error::argument(ErrorClass::ERR_ARG, "partition", partition, expected)
}
