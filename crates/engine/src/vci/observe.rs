// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is reported of messages: when an operation starts, when its message is sent, when it meets its receive, and when it is complete.
//! Protocols call these functions wherever that happens; whether anybody records it is decided here.

use fabric::counters::Counter;
use fabric::trace::{TraceControl, TraceEvent, TraceKind};

use super::VciState;
use super::cell::Cell;
use super::matching::Key;
use super::trace::Departure;
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, Role};

/// How a message has met its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It arrives now, and the receive was posted.
    Arriving,
    /// Its sender has used the offer of the receive with this id.
    ByOffer(u64),
    /// It arrived before, and was kept under this id.
    Kept(u64),
}

impl VciState {
    /// Does something only where messages are traced.
    #[inline(always)]
    fn if_traced(&mut self, record: impl FnOnce(&mut Self)) {
        #[cold]
        #[inline(never)]
        fn apart(state: &mut VciState, record: impl FnOnce(&mut VciState)) {
            record(state);
        }
        if self.is_traced() {
            apart(self, record);
        }
    }

    /// A send has begun.
    pub(crate) fn observe_send(&mut self, index: RequestIndex) {
        self.if_traced(|state| {
            let entry = state.slab.entry(index);
            let event = TraceEvent {
                bytes: entry.record.bytes,
                word: entry.record.match_word,
                request: entry.id().0,
                ..TraceEvent::of(TraceKind::SendPosted)
            };
            let peer = entry.send().target;
            state.record_of(peer, event);
        });
    }

    /// A receive has begun.
    pub(crate) fn observe_receive(&mut self, index: RequestIndex, key: Key) {
        self.if_traced(|state| {
            let entry = state.slab.entry(index);
            let event = TraceEvent {
                bytes: entry.record.bytes,
                word: key.word,
                request: entry.id().0,
                ..TraceEvent::of(TraceKind::ReceivePosted)
            };
            state.record_of(key.peer, event);
        });
    }

    /// The message of a send has departed.
    pub(crate) fn observe_sent(
        &mut self,
        index: RequestIndex,
        kind: TraceKind,
        departure: Departure,
    ) {
        self.if_traced(|state| {
            let entry = state.slab.entry(index);
            let event = TraceEvent {
                time_ns: departure.time_ns,
                bytes: entry.record.bytes,
                word: entry.record.match_word,
                request: entry.id().0,
                message: departure.position,
                ..TraceEvent::of(kind)
            };
            let peer = entry.send().target;
            state.record_of(peer, event);
        });
    }

    /// A cell has gone to a peer.
    #[inline]
    pub(crate) fn observe_cell_sent(&mut self, peer: LinkIndex, cell: &Cell) {
        self.if_traced(|state| state.record_cell(peer, TraceKind::ControlSent, cell));
    }

    /// A chunk of a send has gone.
    #[inline]
    pub(crate) fn observe_chunk_sent(&mut self, index: RequestIndex, bytes: u64) {
        self.if_traced(|state| {
            let entry = state.slab.entry(index);
            let (peer, request) = (entry.send().target, entry.id().0);
            let event = TraceEvent {
                detail: TraceControl::Chunk as u8,
                bytes,
                request,
                ..TraceEvent::of(TraceKind::ControlSent)
            };
            state.record_of(peer, event);
        });
    }

    /// A cell of a ring has been handled.
    #[inline]
    pub(crate) fn observe_cell_arrived(&mut self, ring: usize, cell: &Cell) {
        self.if_traced(|state| {
            let peer = state.incoming[ring].peer;
            state.record_cell(peer, TraceKind::ControlArrived, cell);
        });
    }

    /// Records a cell, unless it brings a message, of which other events tell.
    fn record_cell(&mut self, peer: LinkIndex, kind: TraceKind, cell: &Cell) {
        if let Some((control, request, bytes)) = cell.traced() {
            let event = TraceEvent {
                detail: control as u8,
                bytes,
                request,
                ..TraceEvent::of(kind)
            };
            self.record_of(peer, event);
        }
    }

    /// A message of `bytes` bytes has met its receive. Those that were kept are counted when they are.
    #[inline]
    pub(crate) fn observe_match(&mut self, receive: RequestIndex, key: Key, bytes: u64, met: Met) {
        if !matches!(met, Met::Kept(_)) {
            self.count(Counter::ReceivesPosted);
        }
        self.if_traced(|state| {
            let (kind, message) = match met {
                Met::Arriving => (TraceKind::Matched, state.position_from(key.peer)),
                Met::ByOffer(id) => (TraceKind::MatchedByOffer, id),
                Met::Kept(id) => (TraceKind::MatchedUnexpected, id),
            };
            state.record_match(receive, key, bytes, (kind, message));
        });
    }

    /// A message that arrives now is kept.
    pub(crate) fn observe_kept(&mut self, kept: RequestIndex, key: Key, bytes: u64) {
        self.count(Counter::ReceivesUnexpected);
        self.if_traced(|state| {
            let message = state.position_from(key.peer);
            state.record_match(kept, key, bytes, (TraceKind::Unexpected, message));
        });
    }

    /// An injected message has met its receive, and is in it at once. Injected messages are counted by their rings.
    pub(crate) fn observe_injected(&mut self, receive: RequestIndex, key: Key, bytes: u64) {
        self.if_traced(|state| {
            let message = state.position_from(key.peer);
            state.record_match(receive, key, bytes, (TraceKind::Matched, message));
        });
        self.observe_received(receive, key, bytes);
    }

    /// The data of an injected message go to their receive, which may be released at once.
    pub(crate) fn observe_received(&mut self, receive: RequestIndex, key: Key, bytes: u64) {
        self.if_traced(|state| {
            state.record_match(receive, key, bytes, (TraceKind::ReceiveDone, 0));
        });
    }

    fn record_match(
        &mut self,
        receive: RequestIndex,
        key: Key,
        bytes: u64,
        (kind, message): (TraceKind, u64),
    ) {
        let event = TraceEvent {
            bytes,
            word: key.word,
            request: self.slab.id(receive).0,
            message,
            ..TraceEvent::of(kind)
        };
        self.record_of(key.peer, event);
    }

    /// Cells of a peer that this rank has consumed: the position of the one that it handles.
    fn position_from(&self, peer: LinkIndex) -> u64 {
        let mut rings = self.incoming.iter();
        let ring = rings.find(|incoming| incoming.peer == peer);
        ring.map_or(0, |incoming| incoming.ring.consumed())
    }

    /// Messages to a peer have woken it, if it has been woken more often than `before` times.
    pub(crate) fn observe_wakes(&mut self, peer: LinkIndex, before: u32) {
        self.if_traced(|state| {
            if state.links[peer].wakes != before {
                state.record_of(peer, TraceEvent::of(TraceKind::Woke));
            }
        });
    }

    /// [`Self::complete`], reported.
    #[inline]
    pub(crate) fn complete_noted(&mut self, index: RequestIndex) {
        self.if_traced(|state| state.record_done(index));
        self.complete(index);
    }

    /// An operation is about to complete.
    fn record_done(&mut self, index: RequestIndex) {
        let entry = self.slab.entry(index);
        let (kind, peer) = match entry.role() {
            Role::Send => (TraceKind::SendDone, entry.send().target),
            Role::Receive => (TraceKind::ReceiveDone, entry.record.peer),
            Role::Task if entry.task().call != 0 => (TraceKind::TaskEnd, LinkIndex::NONE),
            _ => return,
        };
        let event = TraceEvent {
            bytes: entry.record.bytes,
            word: entry.record.match_word,
            request: entry.id().0,
            ..TraceEvent::of(kind)
        };
        self.record_of(peer, event);
    }
}
