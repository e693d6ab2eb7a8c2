// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rendezvous with a peer on another node by puts: the network writes the data into the memory of the receive, past the rings.
//!
//! The receiver opens its memory and answers an RTS with CTS_PUT in place of CTS. The sender puts what the early chunks have not brought,
//! and then sends PUT_DONE. A sender that cannot put, because its memory is not one run of bytes, sends chunks as for CTS.

use std::io;
use std::ptr::NonNull;

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use fabric::transport::{Opening, PutBegun};

use super::{complete_offered, early, is_contiguous, named_by_peer, rendezvous, send_control};
use crate::identity::LinkIndex;
use crate::request::{RequestId, RequestIndex, flag};
use crate::vci::VciState;
use crate::vci::cell::{CtsPut, PutDone};
use crate::vci::offers::LEAST_PUT_BYTES;

/// Asks the sender to put the data of a receive; false when the receive is to get them in chunks. `ids` are those of the sender's
/// operation and of the receive.
pub(super) fn request(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    ids: [u64; 2],
    goes_on: bool,
) -> bool {
    if !state.node.can.puts {
        return false;
    }
    let entry = state.slab.entry(receive);
    let (start, wanted) = (NonNull::new(entry.base), entry.receive().wanted);
    let Some(start) = start.filter(|_| wanted >= LEAST_PUT_BYTES && is_contiguous(entry)) else {
        return false;
    };
    let Some((number, opening)) = state.transport.open_memory(peer, start, wanted) else {
        return false;
    };
    state.slab.entry_mut(receive).set_open(number);
    let [sender, receiver] = ids;
    let cell = CtsPut {
        sender,
        receiver,
        address: opening.address,
        key: opening.key,
        wanted: wanted as u64,
        goes_on: u64::from(goes_on),
    };
    send_control(state, peer, cell);
    true
}

/// Handles a CTS_PUT cell: the receiver has opened its memory.
pub(super) fn arrived_request(state: &mut VciState, peer: LinkIndex, cell: CtsPut) {
    let CtsPut {
        sender,
        receiver,
        address,
        key,
        wanted,
        goes_on,
    } = cell;
    let Some(index) = rendezvous::answered(state, peer, sender) else {
        return;
    };
    early::note_answer(state, index, goes_on != 0);
    let entry = state.slab.entry_mut(index);
    let end = (wanted.min(entry.record.bytes)) as usize;
    let send = entry.send_mut();
    send.receiver = receiver;
    if goes_on == 0 {
        send.position = 0;
    }
    let position = send.position;
    if position >= end {
        complete_offered(state, index);
        return;
    }
    let start = NonNull::new(entry.base.wrapping_add(position));
    let Some(start) = start.filter(|_| is_contiguous(state.slab.entry(index))) else {
        rendezvous::stream(state, peer, index);
        return;
    };
    let target = Opening {
        address: address.wrapping_add(position as u64),
        key,
    };
    // SAFETY: the send's memory is readable until it completes (contract of isend), which it does when the put has ended.
    let put = unsafe { begin_put(state, index, (start, end - position), target) };
    match put {
        Ok(PutBegun::No) => rendezvous::stream(state, peer, index),
        Ok(begun) => {
            state.count(Counter::Puts);
            if begun == PutBegun::Whole {
                announce_end(state, index);
            }
        }
        Err(error) => state.fail(&error),
    }
}

/// Starts the put of a send, whose end [`put_ended`] handles.
///
/// # Errors
/// The network's.
///
/// # Safety
/// The memory is readable and stays unchanged until the put has ended.
pub(crate) unsafe fn begin_put(
    state: &mut VciState,
    index: RequestIndex,
    memory: (NonNull<u8>, usize),
    target: Opening,
) -> io::Result<PutBegun> {
    let entry = state.slab.entry_mut(index);
    let send = entry.send_mut();
    send.leaves_in(1);
    let (peer, token) = (send.target, entry.id().0);
    // SAFETY: passed on.
    unsafe { state.transport.put(peer, memory, target, token) }
}

/// Tells the receiver of a send that its data are there, or will be before this cell.
fn announce_end(state: &mut VciState, index: RequestIndex) {
    let send = state.slab.entry_mut(index).send_mut();
    let (peer, receiver) = (send.target, std::mem::take(&mut send.receiver));
    send_control(state, peer, PutDone { receiver });
}

/// The put of a send, or a part of a zero-copy send, has left its memory. The receiver has heard of a put already if the network took it
/// as a whole.
pub(crate) fn put_ended(state: &mut VciState, token: u64) {
    let sent = state.slab.find(RequestId(token));
    let is_leaving = |index: &RequestIndex| {
        let kind = state.slab.record(*index).kind;
        kind == record_kind::SEND_ACTIVE || kind == record_kind::SEND_QUEUED
    };
    if let Some(index) = sent.filter(is_leaving)
        && state.slab.entry_mut(index).send_mut().part_left()
    {
        let peer = state.slab.entry(index).send().target;
        rendezvous::note_put_ended(state, peer, token);
        if state.slab.entry(index).send().receiver != 0 {
            announce_end(state, index);
        }
        complete_offered(state, index);
    }
}

/// Handles a PUT_DONE cell: the data of a receive are there.
pub(super) fn arrived_done(state: &mut VciState, peer: LinkIndex, cell: PutDone) {
    let active = named_by_peer(state, cell.receiver).filter(|&index| {
        let (record, entry) = (state.slab.record(index), state.slab.entry(index));
        record.kind == record_kind::RECEIVE_ACTIVE && record.peer == peer && entry.has(flag::OPEN)
    });
    match active {
        Some(index) => {
            state.close_open(index);
            state.complete_noted(index);
        }
        None => state.blame(peer, "put a message that this rank did not request"),
    }
}
