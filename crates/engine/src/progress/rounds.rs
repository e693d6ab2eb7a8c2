// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of one VCI: read what arrived, push out what waits.
//!
//! Progress never blocks, never calls user code, and never calls itself: handlers start sends, which at most queue.

// account: progress

use std::io;

use fabric::counters::Counter;
use fabric::transport::Polled;

use crate::identity::LinkIndex;
use crate::protocol::{self, Handled};
use crate::vci::VciState;
use crate::vci::link::Incoming;

/// Cells read from one ring before the next ring is polled.
const BATCH: usize = 64;

/// Rings that are searched for that of a peer.
const FEW_RINGS: usize = 8;

impl VciState {
    /// One round; returns the number of events.
    // TIER: short
    #[inline(always)]
    pub(crate) fn progress(&mut self) -> usize {
        let is_attended = self.transport.needs_attention();
        if is_attended {
            self.attend();
        }
        let mut events = 0;
        for index in 0..self.incoming.len() {
            events += self.drain(index);
        }
        if !self.backlogs.is_empty() || !self.streaming.is_empty() {
            events += self.push_out();
        }
        self.events += events as u64;
        if is_attended {
            self.transport.end_round();
        }
        events
    }

    /// Polls the transport and accepts new connections.
    #[cold]
    #[inline(never)]
    fn attend(&mut self) {
        let accepted = match self.transport.poll() {
            Ok(Polled::Alive) => self.transport.accept(),
            Ok(Polled::Dead) => Err(io::Error::other("this rank has died")),
            Err(error) => Err(error),
        };
        match accepted {
            Ok(connections) if connections.is_empty() => {}
            Ok(connections) => {
                for (peer, ring) in connections {
                    if self.incoming.iter().all(|known| known.peer != peer) {
                        self.incoming.push(Incoming::new(peer, ring));
                    }
                }
                protocol::publish_preferences(self);
            }
            Err(error) => self.fail(&error),
        }
        let outsiders = self.transport.take_outsiders();
        if outsiders != 0 {
            self.count_many(Counter::FramesDropped, outsiders);
        }
        if self.node.can.puts {
            for token in self.transport.ended_puts() {
                protocol::put_ended(self, token);
                self.events += 1;
            }
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
            if events == BATCH || handled == Handled::Poll {
                break;
            }
        }
        if events != 0 && self.incoming[index].ring.take_credited() {
            self.tell_of_room(index);
        }
        events
    }

    /// Notes that one cell of a ring was taken without [`Self::progress`].
    #[inline(always)]
    pub(crate) fn took_one(&mut self, index: usize) {
        self.events += 1;
        if self.incoming[index].ring.take_credited() {
            self.tell_of_room(index);
        }
    }

    /// The ring from a peer, if it is one of the first.
    #[inline(always)]
    pub(crate) fn ring_from(&self, peer: LinkIndex) -> Option<usize> {
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
        self.transport.wake(self.incoming[index].peer);
    }
}
