// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver: how it gets the data of an announced message.

use fabric::board::kind as record_kind;
use fabric::counters::Counter;
use protocols::{FETCHES, Fetch};
use sys::cma::Remote;

use super::super::{
    eager, kept, named_by_peer, note_arrival, note_message, note_written, put, send_control,
};
use super::movers::{fetch_across, fetch_own, fetch_shared, read, readable};
use super::policy::{note_announced, note_landed};
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, Role};
use crate::vci::cell::{Announcement, Cts, CtsRest, Fin, Landed, Rts, Taken};
use crate::vci::matching::{Key, Taken as MatchTaken};
use crate::vci::offers::ReceiveLanding;
use crate::vci::{CmaPolicy, Met, VciState, copy_mode};

/// Handles an RTS cell; false when the slab is full.
pub(in super::super) fn arrived_rts(state: &mut VciState, ring: usize, cell: Rts) -> bool {
    let key = Key {
        word: cell.word,
        peer: state.incoming[ring].peer,
    };
    let (moment, announcement) = (cell.announced.moment, Announcement::from(cell));
    let message = [cell.total, cell.sender];
    let posted = state
        .posted
        .take_for_announced(&mut state.slab, key, message);
    note_arrival(state, ring, cell.total, posted.is_some());
    if let Some((receive, taken)) = posted {
        state.observe_match(receive, key, cell.total, Met::Arriving);
        note_announced(state, receive, key.peer, cell.total, moment);
        let id = state.slab.id(receive).0;
        if taken == MatchTaken::Claimed {
            await_writing(state, receive, key, cell.total);
        } else {
            begin(state, receive, key, announcement);
        }
        if taken == MatchTaken::Reclaimed {
            state.posted.served(id);
        }
        return true;
    }
    if state.slab.has_room() && hold(state, ring, key, announcement) {
        return true;
    }
    let Some(index) = kept::keep(state, Role::Rts, key, cell.total) else {
        return false;
    };
    let message = state.slab.entry_mut(index).unexpected_mut();
    (message.words, message.sender) = (announcement.to_words(), cell.sender);
    true
}

/// Fetches an announced message for a receive that matches it.
pub(in super::super) fn begin(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    announcement: Announcement,
) {
    if let Some(wanted) = fetch_at_once(state, receive, key, announcement) {
        request_data(state, receive, key.peer, announcement.sender, wanted, false);
    }
}

/// Asks a sender for the data of its message: for a put into the memory of the receive, or for chunks. `goes_on` accepts the chunks that
/// came before. Returns the receive's id, which the data name.
pub(in super::super) fn request_data(
    state: &mut VciState,
    receive: RequestIndex,
    peer: LinkIndex,
    sender: u64,
    wanted: usize,
    goes_on: bool,
) -> u64 {
    let receiver = await_chunks(state, receive, sender, wanted, false);
    state.count(Counter::Pulls);
    if !put::request(state, receive, peer, [sender, receiver], goes_on) {
        match goes_on {
            true => send_control(state, peer, CtsRest { sender, receiver }),
            false => send_control(state, peer, Cts { sender, receiver }),
        }
    }
    receiver
}

/// Completes a receive directly or by CMA where that is possible; else returns how many bytes it wants.
pub(in super::super) fn fetch_at_once(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    announcement: Announcement,
) -> Option<usize> {
    let Announcement {
        total: bytes,
        sender,
        address,
        shared,
        proof,
    } = announcement;
    // An offer was of no use.
    state.close_open(receive);
    let wanted = note_message(state, receive, key, bytes);
    state.count_many(Counter::BytesReceived, wanted as u64);
    let is_fetched = wanted == 0
        || FETCHES.iter().any(|row| match row.fetch {
            Fetch::Shared => fetch_shared(state, receive, key.peer, shared, wanted),
            Fetch::Own => fetch_own(state, receive, key.peer, sender, wanted),
            Fetch::Read => {
                let is_read = fetch_across(state, receive, key.peer, address, proof, wanted);
                state.count_many(Counter::CrossCopies, u64::from(is_read));
                is_read
            }
            // The sender has to be asked ([`request_data`]).
            Fetch::Put | Fetch::Chunks => false,
        });
    if !is_fetched {
        return Some(wanted);
    }
    state.count(Counter::Dones);
    send_control(state, key.peer, Fin { sender });
    state.complete_noted(receive);
    None
}

/// Makes a receive one that gets its data in chunks; returns its id.
fn await_chunks(
    state: &mut VciState,
    receive: RequestIndex,
    sender: u64,
    wanted: usize,
    is_offered: bool,
) -> u64 {
    let entry = state.slab.entry_mut(receive);
    entry.receive_mut().await_chunks(wanted, sender, is_offered);
    entry.record.kind = record_kind::RECEIVE_ACTIVE;
    state.slab.id(receive).0
}

/// A receive gets a message of so many bytes that its sender writes, or sends in chunks, without being asked.
fn await_writing(state: &mut VciState, receive: RequestIndex, key: Key, bytes: u64) {
    let wanted = note_message(state, receive, key, bytes);
    state.count_many(Counter::BytesReceived, wanted as u64);
    await_chunks(state, receive, 0, wanted, true);
}

/// Handles a LANDED cell: the sender has written a message into a receive that was offered.
pub(in super::super) fn arrived_landed(state: &mut VciState, ring: usize, cell: Landed) {
    let peer = state.incoming[ring].peer;
    let message = [cell.receive, cell.bytes];
    if let Some(receive) = land(state, ring, message, true) {
        note_landed(state, receive, peer, cell.moment);
        state.count(Counter::Landed);
        state.complete_noted(receive);
    }
}

/// Handles a TAKEN cell: the sender sends the chunks of a message for a receive that was offered.
pub(in super::super) fn arrived_taken(state: &mut VciState, ring: usize, cell: Taken) {
    let _ = land(state, ring, [cell.receive, cell.bytes], false);
}

/// The receive that a LANDED or TAKEN cell names; it has matched then, and awaits its chunks. `None`, and a fault, when the
/// sender may not name it.
fn land(
    state: &mut VciState,
    ring: usize,
    [id, bytes]: [u64; 2],
    is_whole: bool,
) -> Option<RequestIndex> {
    let peer = state.incoming[ring].peer;
    let known = named_by_peer(state, id).filter(|&index| {
        let entry = state.slab.entry(index);
        entry.role() == Role::Receive && entry.record.peer == peer
    });
    let Some(receive) = known else {
        state.blame(peer, "wrote into a receive that does not exist");
        return None;
    };
    let message = (peer, bytes);
    match state
        .posted
        .landed(&mut state.slab, receive, message, is_whole)
    {
        ReceiveLanding::Fault(reason) => {
            state.blame(peer, reason);
            return None;
        }
        ReceiveLanding::Matched => {}
        ReceiveLanding::Matches => {
            let key = Key {
                word: state.slab.record(receive).match_word,
                peer,
            };
            state.observe_match(receive, key, bytes, Met::ByOffer(id));
            match is_whole {
                true => note_written(state, ring, bytes),
                false => note_arrival(state, ring, bytes, true),
            }
            await_writing(state, receive, key, bytes);
        }
    }
    Some(receive)
}

/// Copies a message whose receive is not posted into memory of its own, where the message would have been eager but for this
/// rank's preference: so its sender waits no longer than until this rank makes progress.
fn hold(state: &mut VciState, ring: usize, key: Key, announcement: Announcement) -> bool {
    let Announcement {
        total: bytes,
        sender,
        address,
        proof,
        ..
    } = announcement;
    let incoming = &state.incoming[ring];
    let fits_eager = bytes <= state.node.eager_bytes as u64 && bytes >= copy_mode::SMALLEST;
    if !fits_eager || address == 0 || incoming.throttled || state.node.cma != CmaPolicy::Measured {
        return false;
    }
    let Some(pid) = readable(state, key.peer, proof) else {
        return false;
    };
    // Without memory the message stays with its sender.
    let Ok(mut memory) = state.spare.take(bytes as usize) else {
        return false;
    };
    memory.resize(bytes as usize, 0);
    // SAFETY: `memory` has `bytes` bytes.
    if !unsafe {
        read(
            state,
            Remote { pid, address },
            memory.as_mut_ptr(),
            bytes as usize,
        )
    } {
        state.spare.keep(memory);
        return false;
    }
    let Some(index) = kept::keep(state, Role::Held, key, bytes) else {
        return false;
    };
    let entry = state.slab.entry_mut(index);
    entry.unexpected_mut().sender = 0;
    entry.extra.get_or_insert_default().held = memory;
    state.count(Counter::CrossCopies);
    eager::account(state, ring, bytes as i64);
    state.count(Counter::Dones);
    send_control(state, key.peer, Fin { sender });
    true
}
