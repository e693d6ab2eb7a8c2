// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver: takes the chunks, or drops them and keeps the RTS.

use super::super::rendezvous::{self, copy_chunk};
use super::super::{kept, note_arrival};
use crate::request::{RequestIndex, Role};
use crate::vci::cell::{Announcement, Chunk, EarlyChunk, RtsData};
use crate::vci::matching::Key;
use crate::vci::{Met, VciState};

/// Handles an RTS_DATA cell; false when the slab is full.
pub(in super::super) fn arrived_rts_data(state: &mut VciState, ring: usize, cell: RtsData) -> bool {
    let key = Key {
        word: cell.word,
        peer: state.incoming[ring].peer,
    };
    let (total, moment) = (cell.total, cell.announced.moment);
    let announcement = Announcement::from(cell);
    let receive = state.posted.take(&mut state.slab, key);
    note_arrival(state, ring, total, receive.is_some());
    let taker = if let Some(receive) = receive {
        state.observe_match(receive, key, total, Met::Arriving);
        rendezvous::note_announced(state, receive, key.peer, total, moment);
        accept(state, receive, key, announcement)
    } else {
        let Some(message) = kept::keep(state, Role::Rts, key, total) else {
            return false;
        };
        let body = state.slab.entry_mut(message).unexpected_mut();
        (body.words, body.sender) = (announcement.to_words(), cell.sender);
        0
    };
    state.incoming[ring].early = taker;
    let chunk = Chunk {
        receiver: taker,
        bytes: cell.bytes,
        location: cell.location,
        ticks: 0,
    };
    copy_chunk(state, ring, chunk);
    true
}

/// Starts a receive of a message whose RTS brought data; returns its id, or 0 when it does not want the chunks.
fn accept(
    state: &mut VciState,
    receive: RequestIndex,
    key: Key,
    announcement: Announcement,
) -> u64 {
    let sender = announcement.sender;
    let Some(wanted) = rendezvous::fetch_at_once(state, receive, key, announcement) else {
        return 0;
    };
    rendezvous::request_data(state, receive, key.peer, sender, wanted, true)
}

/// Handles an EARLY_CHUNK cell.
pub(in super::super) fn arrived_early_chunk(state: &mut VciState, ring: usize, cell: EarlyChunk) {
    let chunk = Chunk {
        receiver: state.incoming[ring].early,
        bytes: cell.bytes,
        location: cell.location,
        ticks: cell.ticks,
    };
    copy_chunk(state, ring, chunk);
}
