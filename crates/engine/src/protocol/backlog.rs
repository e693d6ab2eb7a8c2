// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waits for room towards a peer, in order, and sending it when there is some.

use super::{put_control, rendezvous, transmit};
use crate::vci::VciState;
use crate::vci::link::{Backlog, Queued, TURN_BYTES};

impl VciState {
    /// Sends chunks of what waits after chunks have come in for a while.
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
    pub(crate) fn push_out(&mut self) -> usize {
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
        events + rendezvous::push_streams(self)
    }

    /// Sends what waits for one peer until its ring is full again or a turn is over.
    fn flush(&mut self, backlog: &mut Backlog) -> usize {
        let (mut sent, mut bytes) = (0, 0);
        self.links[backlog.peer as usize].sender.refresh();
        while let Some(next) = backlog.queue.front() {
            let gone = match *next {
                Queued::Send(index) => {
                    bytes += self.ops.record(index).bytes as usize;
                    match transmit(self, index) {
                        Ok(gone) => gone,
                        Err(error) => {
                            self.fault = Some(error.to_string());
                            false
                        }
                    }
                }
                Queued::Control { kind, words } => put_control(self, backlog.peer, kind, words),
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
}
