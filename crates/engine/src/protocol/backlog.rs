// SPDX-License-Identifier: MIT OR Apache-2.0
//! The backlog: sends and control messages that wait for room in the ring to a peer, in order.

use super::{put_control, rendezvous, transmit};
use crate::identity::LinkIndex;
use crate::vci::VciState;
use crate::vci::link::{Backlog, QUANTUM_BYTES, Queued};

impl VciState {
    /// Serves the backlogs each time that a quantum of chunks has been taken in.
    #[inline(always)]
    pub(crate) fn count_taken_in(&mut self) {
        if self.taken_in >= QUANTUM_BYTES {
            self.serve_backlogs();
        }
    }

    #[cold]
    #[inline(never)]
    fn serve_backlogs(&mut self) {
        if !self.is_drained() {
            self.events += self.push_out() as u64;
        }
        self.taken_in = 0;
    }

    /// Sends what waits, as far as there is room, at most a quantum to each peer.
    #[cold]
    #[inline(never)]
    pub(crate) fn push_out(&mut self) -> usize {
        let mut events = 0;
        for mut backlog in std::mem::take(&mut self.backlogs) {
            events += self.flush(&mut backlog);
            let link = &mut self.links[backlog.peer];
            if backlog.queue.is_empty() {
                link.backlogged = false;
            } else {
                link.sender.withhold();
                self.backlogs.push(backlog);
            }
        }
        events + rendezvous::push_streams(self)
    }

    /// Sends what waits for one peer until its ring is full again or a quantum is sent.
    fn flush(&mut self, backlog: &mut Backlog) -> usize {
        let (mut sent, mut bytes) = (0, 0);
        self.links[backlog.peer].sender.refresh();
        while let Some(next) = backlog.queue.front() {
            let gone = match *next {
                Queued::Send(index) => {
                    bytes += self.slab.record(index).bytes as usize;
                    match transmit(self, index) {
                        Ok(gone) => gone,
                        Err(error) => {
                            self.fault = Some(error);
                            false
                        }
                    }
                }
                Queued::Cell(ref cell) => put_control(self, backlog.peer, **cell),
            };
            if !gone {
                break;
            }
            backlog.queue.pop_front();
            sent += 1;
            if bytes >= QUANTUM_BYTES {
                break;
            }
        }
        sent
    }

    /// Puts something behind all that waits for `peer`.
    #[cold]
    pub(crate) fn enqueue(&mut self, peer: LinkIndex, item: Queued) {
        let link = &mut self.links[peer];
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
