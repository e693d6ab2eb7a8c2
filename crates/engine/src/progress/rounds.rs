// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of one stream: read what arrived, push out what waits.
//!
//! Progress never blocks, never calls user code, and never calls itself: handlers start sends, which at most queue.

use fabric::doorbell;
use sys::sync::Ordering;

use crate::protocol::{self, Handled};
use crate::vci::{VciState, link};

/// Cells read from one ring before the next ring has its turn.
const BATCH: usize = 64;

/// Rings among which one is looked for.
const FEW_RINGS: usize = 8;

impl VciState {
    /// One round; returns how many things happened.
    // TIER: short
    #[inline(always)]
    pub(crate) fn progress(&mut self) -> usize {
        if self.node.newest_ring() != self.newest_ring {
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
        match link::accept(
            &self.node.segment,
            self.node.me,
            self.newest_ring,
            &mut self.incoming,
        ) {
            Ok(newest) => {
                self.newest_ring = newest;
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
        let few = self.incoming.get(..FEW_RINGS).unwrap_or(&self.incoming);
        for (index, incoming) in few.iter().enumerate() {
            if incoming.peer == peer {
                return Some(index);
            }
        }
        None
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
}
