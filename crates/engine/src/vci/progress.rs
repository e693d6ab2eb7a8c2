// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of one stream: read what arrived, push out what waits.
//!
//! Progress never blocks, never calls user code, and never calls itself: handlers start sends, which at most queue.

use fabric::board::kind;
use fabric::doorbell;
use fabric::sync::Ordering;

use super::VciState;
use super::link::{self, Backlog, Queued, TURN_BYTES};
use super::operations::{OpIndex, RequestId, flag};
use crate::protocol::{self, Handled};

/// Cells read from one ring before the next ring has its turn.
const BATCH: usize = 64;

/// Rings among which one is looked for.
const FEW_RINGS: usize = 8;

impl VciState {
    /// One round; returns how many things happened.
    // TIER: short
    #[inline(always)]
    pub(crate) fn progress(&mut self) -> usize {
        if self.node.connections() != self.accepted {
            self.accept();
        }
        let mut events = 0;
        for index in 0..self.incoming.len() {
            events += self.drain(index);
        }
        if !self.backlogs.is_empty() || !self.streaming.is_empty() {
            events += self.push_out();
        }
        self.events += events as u64;
        events
    }

    #[cold]
    #[inline(never)]
    fn accept(&mut self) {
        match link::accept(&self.node.segment, self.node.me, &mut self.incoming) {
            Ok(count) => {
                self.accepted = count;
                protocol::publish_wishes(self);
            }
            Err(error) => self.fault = Some(error.to_string()),
        }
    }

    #[inline(always)]
    fn drain(&mut self, index: usize) -> usize {
        let mut events = 0;
        while let Some(arrival) = self.incoming[index].ring.peek() {
            let handled = protocol::arrived(self, index, arrival);
            if handled == Handled::No {
                break;
            }
            events += 1;
            if events == BATCH || handled == Handled::Look {
                break;
            }
        }
        if events != 0 && self.incoming[index].ring.take_credited() {
            self.tell_of_room(index);
        }
        events
    }

    /// Says that one cell of a ring was taken without [`Self::progress`].
    #[inline(always)]
    pub(crate) fn took_one(&mut self, index: usize) {
        self.events += 1;
        if self.incoming[index].ring.take_credited() {
            self.tell_of_room(index);
        }
    }

    /// The ring from a peer, if it is one of the first.
    #[inline(always)]
    pub(crate) fn ring_from(&self, peer: u32) -> Option<usize> {
        let few = self.incoming.len().min(FEW_RINGS);
        (0..few).find(|&index| self.incoming[index].peer == peer)
    }

    /// Wakes the sender of a ring that may sleep until there is room.
    #[cold]
    #[inline(never)]
    fn tell_of_room(&mut self, index: usize) {
        let segment = &self.node.segment;
        let asleep = &segment.board(self.incoming[index].peer).asleep;
        let sender_fences = segment.sender_fences().load(Ordering::Relaxed) != 0;
        doorbell::ring(asleep, sender_fences);
    }

    /// Sends pieces of what waits after pieces have come in for a while.
    #[inline(always)]
    pub(crate) fn take_turns(&mut self) {
        if self.taken_in >= TURN_BYTES {
            self.end_turn();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_turn(&mut self) {
        if !self.is_drained() {
            self.events += self.push_out() as u64;
        }
        self.taken_in = 0;
    }

    /// Sends what waits, as far as there is room, at most a turn to each peer.
    #[cold]
    #[inline(never)]
    fn push_out(&mut self) -> usize {
        let mut events = 0;
        for mut backlog in std::mem::take(&mut self.backlogs) {
            events += self.flush(&mut backlog);
            let link = &mut self.links[backlog.peer as usize];
            if backlog.queue.is_empty() {
                link.backlogged = false;
            } else {
                link.sender.withhold();
                self.backlogs.push(backlog);
            }
        }
        events + protocol::rendezvous::push_streams(self)
    }

    /// Sends what waits for one peer until its ring is full again or a turn is over.
    fn flush(&mut self, backlog: &mut Backlog) -> usize {
        let (mut sent, mut bytes) = (0, 0);
        self.links[backlog.peer as usize].sender.refresh();
        while let Some(next) = backlog.queue.front() {
            let gone = match *next {
                Queued::Send(index) => {
                    bytes += self.ops.record(index).bytes as usize;
                    match protocol::transmit(self, index) {
                        Ok(gone) => gone,
                        Err(error) => {
                            self.fault = Some(error.to_string());
                            false
                        }
                    }
                }
                Queued::Control { kind, words } => {
                    protocol::put_control(self, backlog.peer, kind, words)
                }
            };
            if !gone {
                break;
            }
            backlog.queue.pop_front();
            sent += 1;
            if bytes >= TURN_BYTES {
                break;
            }
        }
        sent
    }

    /// Puts something behind all that waits for `peer`.
    #[cold]
    pub(crate) fn enqueue(&mut self, peer: u32, item: Queued) {
        let link = &mut self.links[peer as usize];
        link.backlogged = true;
        link.sender.withhold();
        match self
            .backlogs
            .iter_mut()
            .find(|backlog| backlog.peer == peer)
        {
            Some(backlog) => backlog.queue.push_back(item),
            None => self.backlogs.push(Backlog {
                peer,
                queue: [item].into(),
            }),
        }
    }

    /// Marks an operation complete; a freed one disappears.
    #[inline(always)]
    pub(crate) fn complete(&mut self, index: OpIndex) {
        self.ops.record_mut(index).kind = kind::COMPLETE;
        if self.ops.op(index).has(flag::FREED) {
            self.retire(index);
        }
    }

    /// Releases a complete operation, and its hold on the communicator.
    #[inline(always)]
    pub(crate) fn retire(&mut self, index: OpIndex) {
        let comm = self.ops.op(index).comm;
        if !comm.is_null() {
            // SAFETY: a communicator lives while operations are counted in `pending`; only the VCI's owner touches it.
            unsafe { (*comm).release_operation() };
        }
        self.ops.release(index);
    }

    /// Whether the request has completed (a stale id counts as complete: asking for its status gives the error).
    // TIER: short
    #[inline(always)]
    pub(crate) fn is_complete(&self, id: RequestId) -> bool {
        match self.ops.find(id) {
            Some(index) => matches!(self.ops.record(index).kind, kind::COMPLETE | kind::INACTIVE),
            None => true,
        }
    }

    /// Whether everything this rank still has to push out is out.
    pub(crate) fn is_drained(&self) -> bool {
        self.backlogs.is_empty() && self.streaming.is_empty()
    }
}
