// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting partitioned requests: a round of a send waits for its partitions, a round of a receive posts a receive for each message.

use std::future::poll_fn;
use std::task::Poll;

use fabric::board::kind as record_kind;

use super::messages::{
    CHANNELS, OPENING_BYTES, OPENING_WORDS, data_word, note_part, part_of, receiving,
};
use crate::allocate;
use crate::call::CallName;
use crate::comm::Comm;
use crate::completion::let_go;
use crate::device;
use crate::errors::{Error, ErrorClass, Result};
use crate::p2p::{Memory, new_receive, post_operation};
use crate::progress::{Guard, Vci};
use crate::request::{Geometry, NO_PEER, Packed, Receiving, RequestId, RequestIndex, Status};
use crate::task;
use crate::vci::VciState;
use crate::vci::matching::Key;

/// Starts an inactive partitioned request.
pub(in crate::p2p) fn start(vci: &Vci, mut guard: Guard<'_>, index: RequestIndex) -> Result<()> {
    let state = &mut *guard;
    let peer = state.slab.entry(index).target;
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
    partitioned.waiting.fill(1);
    let Some(receiving) = &partitioned.receiving else {
        // Partitions for MPI_PROC_NULL get ready, too.
        partitioned.outstanding = partitioned.waiting.len();
        let is_complete = partitioned.outstanding == 0;
        begin(state, index, record_kind::PARTITIONED_SEND, Status::EMPTY);
        if is_complete {
            state.complete(index);
        }
        return Ok(());
    };
    if peer == NO_PEER {
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
    if opening.is_some_and(|opening| !state.is_complete(opening)) {
        let id = state.slab.id(index);
        drop(guard);
        return receive_later(vci, id);
    }
    let posted = post_receives(state, index);
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

/// Starts the task that posts the receives of a started request when the opening has arrived.
fn receive_later(vci: &Vci, id: RequestId) -> Result<()> {
    let Some(index) = vci.enter().slab.find(id) else {
        return Ok(());
    };
    let owner = vci.enter().slab.entry(index).owner;
    // SAFETY: the communicator lives while it counts this active request.
    let comm: &'static Comm = unsafe { Comm::of_owner(owner) };
    let mut waits = task::new_request(comm, CallName::UNKNOWN).inspect_err(|_| {
        vci.enter().slab.record_mut(index).kind = record_kind::INACTIVE;
    })?;
    let home = comm.vci();
    let future = poll_fn(move |_| {
        let mut guard = home.enter();
        let state = &mut *guard;
        let Some(index) = state.slab.find(id) else {
            return Poll::Ready(Ok(Status::EMPTY));
        };
        let opening = receiving(state, index).and_then(|receiving| receiving.opening);
        if opening.is_some_and(|opening| !state.is_complete(opening)) {
            return Poll::Pending;
        }
        if let Err(error) = post_receives(state, index) {
            state.slab.entry_mut(index).fail(&error);
            state.complete(index);
        }
        Poll::Ready(Ok(Status::EMPTY))
    });
    home.start_task(waits, Box::pin(future));
    let_go(vci, &mut waits)
}

/// Posts the receives of a round, whose sender is known.
fn post_receives(state: &mut VciState, index: RequestIndex) -> Result<()> {
    let sender = read_opening(state, index)?;
    make_receives(state, index, sender)?;
    let (peer, owner) = {
        let entry = state.slab.entry(index);
        (entry.target, entry.owner)
    };
    // SAFETY: a communicator lives while it counts operations (Process::purge).
    let source = unsafe { (*owner).rank_of_peer(peer) };
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
    partitioned.count_messages();
    partitioned.outstanding = partitioned.messages.len();
    let (messages, bytes) = (partitioned.messages.len(), data_bytes(sender));
    let capacity = partitioned.receiving.as_ref().map_or(0, |it| it.bytes);
    let entry = state.slab.entry_mut(index);
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
    if messages == 0 {
        state.complete(index);
    }
    for number in 0..messages {
        let Some(partitioned) = state.partitioned(index) else {
            break;
        };
        let message = partitioned.messages[number];
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
    let sender = words.and_then(|[channel, partitions, bytes]| {
        Some(Geometry {
            channel: u32::try_from(channel).ok().filter(|&it| it < CHANNELS)?,
            partitions: i32::try_from(partitions).ok()?.cast_unsigned(),
            bytes: usize::try_from(bytes).ok()?,
        })
    });
    let peer = state.slab.entry(index).target;
    let sender = sender.ok_or_else(|| {
        let text = format!("rank {peer} sent no geometry of a partitioned send");
        Error::new(ErrorClass::ERR_INTERN, text)
    })?;
    if let Some(receiving) = receiving(state, index) {
        receiving.sender = Some(sender);
    }
    Ok(sender)
}

/// Makes an entry for each message of a receive, at the first start.
fn make_receives(state: &mut VciState, index: RequestIndex, sender: Geometry) -> Result<()> {
    let owner = state.slab.entry(index).owner;
    let Some(partitioned) = state.partitioned(index) else {
        return Ok(());
    };
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
        Some((layout, count)) if !divides_into_elements(receiving, sender, layout.size()) => {
            if device::holds(base, layout, count)? {
                let text =
                    "the sender's partitions divide elements of a receive into the memory of a GPU";
                return Err(Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text));
            }
            let packed = receiving.packed.insert(Packed {
                data: allocate::zeroed(receiving.bytes)?,
                layout: layout.clone(),
                base,
            });
            Memory::contiguous(packed.data.as_mut_ptr(), receiving.bytes)
        }
        _ => memory,
    };
    let places: Vec<_> = (0..sender.partitions as usize)
        .map(|number| receiving.bytes_of(sender, number))
        .collect();
    let mut messages = allocate::list(places.len())?;
    // SAFETY: a communicator lives while it counts operations (Process::purge).
    let comm = unsafe { Comm::of_owner(owner) };
    for (number, place) in places.into_iter().enumerate() {
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
