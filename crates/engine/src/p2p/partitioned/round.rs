// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting partitioned requests: a round of a send waits for its partitions, a round of a receive posts a receive for each message.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use fabric::board::kind as record_kind;

use super::lanes;
use super::messages::{
    CHANNELS, OPENING_BYTES, OPENING_WORDS, data_word, note_part, part_of, receiving,
};
use crate::allocate;
use crate::call::CallName;
use crate::comm::Comm;
use crate::completion::let_go;
use crate::device::OnDevice;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{LinkIndex, MOST_VCIS, Rank};
use crate::p2p::{Memory, new_receive, post_operation};
use crate::progress::{Guard, Vci};
use crate::request::{Geometry, Packed, Receiving, RequestId, RequestIndex, RequestLanes, Status};
use crate::task;
use crate::vci::VciState;
use crate::vci::matching::Key;

/// Starts an inactive partitioned request.
pub(in crate::p2p) fn start(vci: &Vci, mut guard: Guard<'_>, index: RequestIndex) -> Result<()> {
    let state = &mut *guard;
    let peer = state.slab.entry(index).partitioned().peer;
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
    partitioned.waiting.fill(1);
    let lanes = partitioned.lanes.is_some();
    let Some(receiving) = &partitioned.receiving else {
        begin_send(state, index);
        if lanes {
            return start_later(vci, guard, index);
        }
        return Ok(());
    };
    if peer == LinkIndex::NONE {
        partitioned.waiting.fill(0);
        begin(
            state,
            index,
            record_kind::PARTITIONED_RECEIVE,
            Status::PROC_NULL,
        );
        state.complete(index);
        return Ok(());
    }
    let opening = receiving.opening;
    begin(
        state,
        index,
        record_kind::PARTITIONED_RECEIVE,
        Status::EMPTY,
    );
    if lanes || opening.is_some_and(|opening| !state.is_complete(opening)) {
        return start_later(vci, guard, index);
    }
    let sender = match read_opening(state, index) {
        Ok(sender) if sender.vcis > 1 => return start_later(vci, guard, index),
        sender => sender,
    };
    let posted = sender.and_then(|sender| post_receives(state, index, sender));
    if posted.is_err() {
        // Nothing is under way.
        state.slab.record_mut(index).kind = record_kind::INACTIVE;
    }
    posted
}

/// Makes a request active.
fn begin(state: &mut VciState, index: RequestIndex, kind: u8, status: Status) {
    let entry = state.slab.entry_mut(index);
    entry.record.kind = kind;
    entry.extra.get_or_insert_default().status = Some(status);
}

/// Makes a send active, or a lane of one. It waits for its partitions, also for those to MPI_PROC_NULL.
fn begin_send(state: &mut VciState, index: RequestIndex) {
    let Some(partitioned) = state.partitioned(index) else {
        return;
    };
    partitioned.waiting.fill(1);
    partitioned.outstanding = partitioned.waiting.len();
    let is_complete = partitioned.outstanding == 0;
    begin(state, index, record_kind::PARTITIONED_SEND, Status::EMPTY);
    if is_complete {
        state.complete(index);
    }
}

/// Starts the task of a started request that cannot be started, or cannot end, under the lock of its VCI alone: a receive whose opening
/// has not arrived, and requests with lanes.
fn start_later(vci: &Vci, guard: Guard<'_>, index: RequestIndex) -> Result<()> {
    let (id, owner) = (guard.slab.id(index), guard.slab.entry(index).owner);
    drop(guard);
    // SAFETY: the communicator lives while it counts this active request.
    let comm: &'static Comm = unsafe { Comm::of_owner(owner) };
    let mut waits = task::new_request(comm, CallName::UNKNOWN).inspect_err(|_| {
        vci.enter().slab.record_mut(index).kind = record_kind::INACTIVE;
    })?;
    let home = comm.vci();
    let mut lanes = None;
    let future = poll_fn(move |_| {
        if lanes.is_none() {
            match begin_round(comm, id) {
                Poll::Ready(Some(started)) => lanes = Some(started),
                Poll::Ready(None) => return Poll::Ready(Ok(Status::EMPTY)),
                Poll::Pending => return Poll::Pending,
            }
        }
        match &lanes {
            Some(lanes) if lanes.are_complete() => end_round(home, id, lanes),
            _ => return Poll::Pending,
        }
        Poll::Ready(Ok(Status::EMPTY))
    });
    home.start_task(waits, Box::pin(future));
    let_go(vci, &mut waits)
}

/// Starts the messages of a started request when its sender is known: its own ones, or those of its lanes, which the result tells then.
fn begin_round(comm: &Comm, id: RequestId) -> Poll<Option<Arc<RequestLanes>>> {
    let mut guard = comm.vci().enter();
    let state = &mut *guard;
    let Some(index) = state.slab.find(id) else {
        return Poll::Ready(None);
    };
    let opening = receiving(state, index).and_then(|receiving| receiving.opening);
    if opening.is_some_and(|opening| !state.is_complete(opening)) {
        return Poll::Pending;
    }
    let begun = match state.partitioned(index).map(|it| it.receiving.is_some()) {
        Some(true) => begin_receive(comm, guard, index),
        _ => {
            let lanes = state.partitioned(index).and_then(|it| it.lanes.clone());
            drop(guard);
            Ok(lanes)
        }
    };
    match begun {
        Ok(Some(lanes)) => {
            start_lanes(comm.vci(), &lanes);
            Poll::Ready(Some(lanes))
        }
        Ok(None) => Poll::Ready(None),
        Err(error) => {
            let mut guard = comm.vci().enter();
            if let Some(index) = guard.slab.find(id) {
                guard.slab.entry_mut(index).fail(&error);
                guard.complete(index);
            }
            Poll::Ready(None)
        }
    }
}

/// Posts the receives of a round, or gives the lanes that do so, made at the first one.
fn begin_receive(
    comm: &Comm,
    mut guard: Guard<'_>,
    index: RequestIndex,
) -> Result<Option<Arc<RequestLanes>>> {
    let state = &mut *guard;
    let sender = read_opening(state, index)?;
    if sender.vcis == 1 {
        return post_receives(state, index, sender).map(|()| None);
    }
    let capacity = receiving(state, index).map_or(0, |receiving| receiving.bytes);
    let source = describe_arrival(state, index, sender, capacity);
    let tag = state.slab.record(index).match_word as u32 as i32;
    let id = state.slab.id(index);
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(None);
    };
    if partitioned.lanes.is_none()
        && let Some(whole) = partitioned.receiving.as_ref().map(Receiving::of_lane)
    {
        let partitions = partitioned.partitions;
        drop(guard);
        lanes::make_receive_lanes(
            comm,
            id,
            sender,
            (Rank::new(source as u32), tag),
            &whole,
            partitions,
        )?;
        guard = comm.vci().enter();
    }
    let lanes = guard.partitioned(index).and_then(|it| it.lanes.clone());
    Ok(lanes)
}

/// Starts a round of all lanes.
fn start_lanes(vci: &Vci, lanes: &RequestLanes) {
    lanes.begin();
    for &lane in lanes.ids() {
        let mut guard = vci.of(lane).enter();
        let state = &mut *guard;
        let Some(index) = state.slab.find(lane) else {
            continue;
        };
        let sender = receiving(state, index).and_then(|receiving| receiving.sender);
        let Some(sender) = sender else {
            begin_send(state, index);
            continue;
        };
        let kind = record_kind::PARTITIONED_RECEIVE;
        begin(state, index, kind, Status::EMPTY);
        if let Err(error) = post_receives(state, index, sender) {
            let failure = Some((error.class().0, error.to_string()));
            lanes.note_complete(failure);
            state.complete(index);
        }
    }
}

/// Completes a request whose lanes are complete.
fn end_round(home: &Vci, id: RequestId, lanes: &RequestLanes) {
    let mut guard = home.enter();
    let state = &mut *guard;
    let Some(index) = state.slab.find(id) else {
        return;
    };
    if let Some((class, text)) = lanes.take_failure() {
        let entry = state.slab.entry_mut(index);
        if entry.error == 0 {
            entry.error = class;
            let extra = entry.extra.get_or_insert_default();
            (extra.error_text, extra.status) = (text, None);
        }
    }
    state.events += 1;
    state.complete(index);
}

/// Sets the status of a receive, or the error of one that is too short for what its sender sends; gives the sender's rank.
fn describe_arrival(
    state: &mut VciState,
    index: RequestIndex,
    sender: Geometry,
    capacity: usize,
) -> i32 {
    let entry = state.slab.entry_mut(index);
    // SAFETY: a communicator lives while it counts operations (Process::purge).
    let source = unsafe { (*entry.owner).rank_of_peer(entry.partitioned().peer) };
    let bytes = data_bytes(sender);
    let tag = entry.record.match_word as u32 as i32;
    let extra = entry.extra.get_or_insert_default();
    extra.status = Some(Status {
        source,
        tag,
        bytes,
        ..Status::EMPTY
    });
    if bytes > capacity as u64 {
        entry.error = ErrorClass::ERR_TRUNCATE.0;
        extra.status = None;
        extra.error_text = format!(
            "the sender has {} partitions of {} bytes, {bytes} bytes in all, the receive buffer holds {capacity}",
            sender.partitions, sender.bytes
        );
    }
    source
}

/// Posts the receives of a round, or of a lane, whose sender is known.
fn post_receives(state: &mut VciState, index: RequestIndex, sender: Geometry) -> Result<()> {
    make_receives(state, index, sender)?;
    let peer = state.slab.entry(index).partitioned().peer;
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
    partitioned.count_messages();
    partitioned.outstanding = partitioned.messages.len();
    let numbers = partitioned.numbers(sender);
    if partitioned.block.is_none() {
        let capacity = partitioned.receiving.as_ref().map_or(0, |it| it.bytes);
        describe_arrival(state, index, sender, capacity);
    }
    if numbers.is_empty() {
        state.complete(index);
    }
    for number in numbers {
        let Some(partitioned) = state.partitioned(index) else {
            break;
        };
        let Some(message) = partitioned.message(number) else {
            break;
        };
        let room = partitioned
            .receiving
            .as_ref()
            .map_or(0, |it| it.bytes_of(sender, number).len());
        let record = state.slab.record_mut(message);
        (record.kind, record.bytes) = (record_kind::RECEIVE_POSTED, room as u64);
        let word = data_word(sender.channel, number);
        post_operation(state, message, Key { word, peer });
    }
    Ok(())
}

/// Bytes of all partitions of a sender.
fn data_bytes(sender: Geometry) -> u64 {
    u64::from(sender.partitions).saturating_mul(sender.bytes as u64)
}

/// The geometry of the sender: read from the opening at the first start.
fn read_opening(state: &mut VciState, index: RequestIndex) -> Result<Geometry> {
    let Some(known) = receiving(state, index) else {
        return Err(Error::new(ErrorClass::ERR_INTERN, "not a receive"));
    };
    if let Some(sender) = known.sender {
        return Ok(sender);
    }
    let opening = known.opening.take();
    let opening = opening.and_then(|id| state.slab.find(id));
    let words = opening.and_then(|opening| {
        let entry = state.slab.entry(opening);
        let held = &entry.extra.as_ref()?.held;
        let mut words = [0; OPENING_WORDS];
        for (word, bytes) in words.iter_mut().zip(held.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        (entry.error == 0 && entry.record.bytes == OPENING_BYTES as u64).then_some(words)
    });
    if let Some(opening) = opening {
        state.retire(opening);
    }
    let sender = words.and_then(|[channel, partitions, bytes, vcis]| {
        let partitions = i32::try_from(partitions).ok()?.cast_unsigned();
        let most = partitions.clamp(1, MOST_VCIS as u32);
        let is_possible = |vcis: &u32| (1..=most).contains(vcis);
        Some(Geometry {
            channel: u32::try_from(channel).ok().filter(|&it| it < CHANNELS)?,
            partitions,
            bytes: usize::try_from(bytes).ok()?,
            vcis: u32::try_from(vcis).ok().filter(is_possible)?,
        })
    });
    let peer = state.slab.entry(index).partitioned().peer;
    let sender = sender.ok_or_else(|| {
        let process = state.node.process_of(peer);
        let text = format!("rank {process} sent no geometry of a partitioned send");
        Error::new(ErrorClass::ERR_INTERN, text)
    })?;
    if let Some(receiving) = receiving(state, index) {
        receiving.sender = Some(sender);
    }
    Ok(sender)
}

/// Makes an entry for each message of a receive, or of a lane, at the first start.
fn make_receives(state: &mut VciState, index: RequestIndex, sender: Geometry) -> Result<()> {
    let owner = state.slab.entry(index).owner;
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
    let numbers = partitioned.numbers(sender);
    let Some(receiving) = partitioned.receiving.as_mut() else {
        return Ok(());
    };
    if !partitioned.messages.is_empty() || sender.partitions == 0 {
        return Ok(());
    }
    let (layout, base) = (receiving.layout.clone(), receiving.base);
    let memory = Memory {
        base,
        bytes: receiving.bytes,
        layout: layout.as_ref().map(|(layout, count)| (layout, *count)),
        types: None,
    };
    let memory = match memory.layout {
        Some((layout, _)) if !divides_into_elements(receiving, sender, layout.size()) => {
            let on_device = OnDevice::of(memory)?;
            let start = receiving.bytes_of(sender, numbers.start).start;
            let end = receiving.bytes_of(sender, numbers.end - 1).end;
            let packed = receiving.packed.insert(Packed {
                data: allocate::zeroed(end - start)?,
                start,
                layout: layout.clone(),
                base,
                on_device,
            });
            let base = packed.data.as_mut_ptr().wrapping_sub(start);
            Memory::contiguous(base, receiving.bytes)
        }
        _ => memory,
    };
    let place = |number| (number, receiving.bytes_of(sender, number));
    let places: Vec<_> = numbers.map(place).collect();
    let mut messages = allocate::list(places.len())?;
    // SAFETY: a communicator lives while it counts operations (Process::purge).
    let comm = unsafe { Comm::of_owner(owner) };
    for (number, place) in places {
        let made = part_of(memory, place.start, place.len())
            .and_then(|memory| new_receive(state, comm, memory));
        note_part(state, index, number, made, &mut messages)?;
    }
    if let Some(partitioned) = state.partitioned(index) {
        partitioned.messages = messages;
    }
    Ok(())
}

/// Whether no message divides an element of a receive.
fn divides_into_elements(receiving: &Receiving, sender: Geometry, size: usize) -> bool {
    let fits = data_bytes(sender) <= receiving.bytes as u64;
    size == 0 || fits && sender.bytes.is_multiple_of(size)
}
