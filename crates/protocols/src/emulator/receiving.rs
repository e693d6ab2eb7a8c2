// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives the receiver's state machine of a rank: matching, offers, memory.

use super::cells::{Back, Cell, Claim};
use super::timing::What;
use super::world::{Buffer, ClaimState, Notification, Progress, Read, World, Write};
use crate::flaw::Flaw;
use crate::names::{Key, ReceiveId, SendId, Source};
use crate::receiver::{PostedReceive, ReceiveAction, ReceiveEvent};
use crate::sender::SendEvent;
use crate::variant::Stale;

impl World {
    pub(super) fn post_receive(
        &mut self,
        receiver: usize,
        source: Option<Source>,
        key: Key,
        capacity: u64,
    ) {
        let receive = ReceiveId(self.receivers[receiver].buffers.len() as u64);
        let posted = PostedReceive {
            receive,
            source,
            key,
            is_long: capacity > self.behaviour.eager_bytes,
        };
        self.receivers[receiver].buffers.push(Buffer {
            posted,
            capacity,
            progress: Progress::Pending,
            content: None,
            incoming: None,
            claim: None,
            region: None,
            opened: 0,
            number: 0,
        });
        self.note_receiver(receiver, What::Operation, "receive", || {
            format!("holds {capacity} bytes")
        });
        // With `optimistic` a long receive and an eager message never meet.
        let meets_eager = self.config.variant != crate::Variant::Optimistic || !posted.is_long;
        let fits = |link: usize, cell: &Cell| {
            let named = source.is_none_or(|source| source == self.source(link));
            let key = cell
                .key()
                .is_some_and(|message| posted.key.accepts(message));
            named && key && (meets_eager || !matches!(cell, Cell::Eager { .. }))
        };
        let stored = &self.receivers[receiver].unexpected;
        let stored = stored.iter().position(|(link, cell)| fits(*link, cell));
        if let Some(at) = stored {
            let (link, cell) = self.receivers[receiver].unexpected.remove(at);
            self.met(receiver, receive, link, cell);
        } else if source.is_some_and(|source| self.is_lost(receiver, source)) {
            self.end_receive(receiver, receive, Progress::Failed);
        } else {
            self.receivers[receiver].posted.push(posted);
        }
        self.offer_pending(receiver, Some(receive));
    }

    fn is_lost(&self, receiver: usize, source: Source) -> bool {
        let rank = self.receivers[receiver].rank;
        let mut links = self.links.iter();
        links.any(|link| link.to == rank && link.from == source.0 && link.is_lost)
    }

    /// Reports the receives that may be offered now, in the order of their posts. `new`: the one that was just posted.
    fn offer_pending(&mut self, receiver: usize, new: Option<ReceiveId>) {
        let mut at = 0;
        while let Some(&candidate) = self.receivers[receiver].posted.get(at) {
            let one = &self.receivers[receiver];
            let earlier = one.posted[..at].iter().copied();
            let offers_once =
                self.behaviour.offers_once || self.config.has(Flaw::SuspensionLiftedEarly);
            let is_passed_over = offers_once && new != Some(candidate.receive);
            let may = !is_passed_over
                && !one.side.is_offered(candidate.receive)
                && one.side.may_offer(earlier, candidate);
            if may && let Some(source) = candidate.source {
                let capacity = one.buffers[candidate.receive.0 as usize].capacity;
                let event = ReceiveEvent::Posted {
                    receive: candidate.receive,
                    source,
                    key: candidate.key,
                    capacity,
                    is_long: candidate.is_long,
                };
                self.receive_event(receiver, event);
            }
            at += 1;
        }
    }

    /// A cell from a sender is here.
    pub(super) fn arrived(&mut self, link: usize, cell: Cell) {
        let receiver = self.end(link);
        let source = self.source(link);
        self.links[link].consumed += 1;
        match cell {
            Cell::Rts { .. } | Cell::Eager { .. } => self.match_arrival(receiver, link, cell),
            Cell::Taken { receive, bytes } => {
                let event = ReceiveEvent::Taken {
                    source,
                    receive,
                    bytes,
                };
                self.receive_event(receiver, event);
            }
            Cell::Landed { receive, bytes } => {
                let event = ReceiveEvent::Landed {
                    source,
                    receive,
                    bytes,
                };
                self.receive_event(receiver, event);
            }
            Cell::Chunks {
                receive,
                send,
                bytes,
            } => {
                let capacity = self.receivers[receiver].buffers[receive.0 as usize].capacity;
                self.copy(link, send, receive, bytes.min(capacity));
                self.receive_event(receiver, ReceiveEvent::ChunksDone { receive });
            }
        }
        self.offer_pending(receiver, None);
    }

    fn match_arrival(&mut self, receiver: usize, link: usize, cell: Cell) {
        let source = self.source(link);
        let one = &self.receivers[receiver];
        let is_eager = matches!(cell, Cell::Eager { .. });
        let fits = |posted: &PostedReceive| {
            let notified = one
                .notifications
                .iter()
                .find(|one| one.receive == posted.receive);
            posted.source.is_none_or(|named| named == source)
                && cell.key().is_some_and(|key| posted.key.accepts(key))
                && one
                    .side
                    .is_available(posted.receive, notified.map(|one| one.rts_sent), is_eager)
        };
        match one.posted.iter().position(fits) {
            Some(at) => {
                let posted = self.receivers[receiver].posted.remove(at);
                self.met(receiver, posted.receive, link, cell);
            }
            None => self.receivers[receiver].unexpected.push((link, cell)),
        }
    }

    /// A receive and a message met.
    fn met(&mut self, receiver: usize, receive: ReceiveId, link: usize, cell: Cell) {
        let source = self.source(link);
        let buffer = &mut self.receivers[receiver].buffers[receive.0 as usize];
        let capacity = buffer.capacity;
        let event = match cell {
            // The wrong rule: the sender is to write, because the offer is news to it.
            Cell::Rts {
                bytes,
                handled: Some(handled),
                ..
            } if buffer.number > handled => {
                self.receivers[receiver]
                    .posted
                    .retain(|one| one.receive != receive);
                ReceiveEvent::Taken {
                    source,
                    receive,
                    bytes,
                }
            }
            Cell::Rts {
                send, key, bytes, ..
            } => ReceiveEvent::Rts {
                receive,
                capacity,
                source,
                send,
                key,
                bytes,
            },
            Cell::Eager {
                send,
                key,
                bytes,
                is_synchronous,
            } => {
                buffer.incoming = Some((link, send));
                ReceiveEvent::Eager {
                    receive,
                    source,
                    send,
                    key,
                    bytes,
                    is_synchronous,
                }
            }
            _ => return,
        };
        self.receive_event(receiver, event);
    }

    pub(super) fn cancel(&mut self, receiver: usize, receive: ReceiveId) {
        let one = &self.receivers[receiver];
        if one.posted.iter().any(|posted| posted.receive == receive) {
            self.receive_event(receiver, ReceiveEvent::Cancel { receive });
            self.offer_pending(receiver, None);
        }
    }

    fn receive_event(&mut self, receiver: usize, event: ReceiveEvent) {
        let mut out = Vec::new();
        self.receivers[receiver].side.handle(event, &mut out);
        for action in out {
            self.do_receive(receiver, action);
        }
    }

    fn do_receive(&mut self, receiver: usize, action: ReceiveAction) {
        match action {
            ReceiveAction::SendRtr {
                source,
                receive,
                key,
                capacity,
                number,
            } => self.send_rtr(receiver, source, (receive, key, capacity, number)),
            ReceiveAction::Revoke { receive } => self.revoke(receiver, receive),
            ReceiveAction::Unlink { receive, .. } => {
                if self.config.has(Flaw::ClosedAtTaken) {
                    self.close(receiver, receive);
                }
                self.unlink(receiver, receive);
            }
            ReceiveAction::Read {
                receive,
                source,
                send,
                bytes,
            } => self.read(receiver, receive, source, send, bytes),
            ReceiveAction::SendCts {
                source,
                send,
                receive,
                capacity,
            } => {
                let region = self.open(receiver, receive);
                let back = Back::Cts {
                    send,
                    receive,
                    capacity,
                    region,
                };
                self.put_back(receiver, source, back);
            }
            ReceiveAction::SendFin { source, send } => {
                self.put_back(receiver, source, Back::Fin { send });
            }
            ReceiveAction::Deliver { receive } => {
                if !self.config.has(Flaw::LeftOpen) {
                    self.close(receiver, receive);
                }
                self.deliver(receiver, receive);
            }
            ReceiveAction::Complete { receive, bytes } => {
                self.complete(receiver, receive, bytes);
            }
            ReceiveAction::Cancelled { receive } => {
                self.unlink(receiver, receive);
                self.end_receive(receiver, receive, Progress::Cancelled);
            }
            ReceiveAction::TooLate { .. } => {}
            ReceiveAction::Fail { receive } => {
                self.unlink(receiver, receive);
                self.end_receive(receiver, receive, Progress::Failed);
            }
            ReceiveAction::Fault { source, reason } => {
                self.violate(|| format!("the receiver blames rank {}, which {reason}", source.0));
            }
        }
    }

    fn send_rtr(
        &mut self,
        receiver: usize,
        source: Source,
        (receive, key, capacity, number): (ReceiveId, Key, u64, u64),
    ) {
        let rank = self.receivers[receiver].rank;
        let link = self.link(source.0, rank);
        let mut claim = None;
        if self.config.columns().stale == Stale::Claim {
            let words = &mut self.links[link].claims;
            let free = words.iter().position(|word| word.state == ClaimState::Free);
            let Some(index) = free else {
                return self.violate(|| "no claim word is free".to_owned());
            };
            words[index].generation += 1;
            words[index].state = ClaimState::Offered;
            let generation = words[index].generation;
            claim = Some(Claim { index, generation });
            self.receivers[receiver].buffers[receive.0 as usize].claim =
                claim.map(|claim| (link, claim));
        }
        let region = self.open(receiver, receive);
        let consumed = if claim.is_some() || region.is_some() {
            self.links[link].consumed
        } else {
            0
        };
        if self.config.has(Flaw::CrossingAwaited) {
            self.links[link].made += 1;
            self.receivers[receiver].buffers[receive.0 as usize].number = self.links[link].made;
        }
        let back = Back::Rtr {
            receive,
            key,
            capacity,
            number,
            claim,
            consumed,
            region,
        };
        self.put_back(receiver, source, back);
    }

    fn revoke(&mut self, receiver: usize, receive: ReceiveId) {
        let buffer = &mut self.receivers[receiver].buffers[receive.0 as usize];
        let mut is_won = false;
        if let Some((link, claim)) = buffer.claim {
            let word = &mut self.links[link].claims[claim.index];
            is_won = word.state == ClaimState::Offered && word.generation == claim.generation;
            if is_won {
                word.state = ClaimState::Free;
                buffer.claim = None;
            }
        }
        self.receive_event(receiver, ReceiveEvent::Revoked { receive, is_won });
    }

    fn unlink(&mut self, receiver: usize, receive: ReceiveId) {
        let posted = &mut self.receivers[receiver].posted;
        posted.retain(|one| one.receive != receive);
    }

    fn read(
        &mut self,
        receiver: usize,
        receive: ReceiveId,
        source: Source,
        send: SendId,
        bytes: u64,
    ) {
        let rank = self.receivers[receiver].rank;
        let link = self.link(source.0, rank);
        let due_ns = match &self.timing {
            Some(timing) => self.now_ns + (timing.read_ns + timing.copy_ns(bytes)) as u64,
            None => 0,
        };
        let start = self
            .timing
            .as_ref()
            .map_or(0, |timing| timing.read_ns as u64)
            + self.now_ns;
        self.note_data(link, start, due_ns, || {
            format!("{bytes} bytes read for receive {}", receive.0)
        });
        self.receivers[receiver].reads.push(Read {
            receive,
            link,
            send,
            bytes,
            due_ns,
        });
        if !self.behaviour.slow_reads && self.timing.is_none() {
            let last = self.receivers[receiver].reads.len() - 1;
            self.end_read(receiver, last);
        }
    }

    pub(super) fn read_done(&mut self, receiver: usize, at: usize) {
        self.end_read(receiver, at);
        self.offer_pending(receiver, None);
    }

    fn end_read(&mut self, receiver: usize, at: usize) {
        let read = self.receivers[receiver].reads.remove(at);
        let Read {
            receive,
            link,
            send,
            bytes,
            ..
        } = read;
        let is_done = self.dead != Some(self.links[link].from);
        if is_done {
            self.check_readable(link, send);
            self.copy(link, send, receive, bytes);
        }
        self.receive_event(receiver, ReceiveEvent::Read { receive, is_done });
    }

    fn deliver(&mut self, receiver: usize, receive: ReceiveId) {
        let buffer = self.receivers[receiver].buffers[receive.0 as usize];
        if let Some((link, send)) = buffer.incoming {
            let bytes = self.links[link].sends[send.0 as usize].bytes;
            self.copy(link, send, receive, bytes.min(buffer.capacity));
        }
    }

    pub(super) fn notify(
        &mut self,
        receiver: usize,
        receive: ReceiveId,
        bytes: u64,
        rts_sent: bool,
    ) {
        self.receivers[receiver].notifications.push(Notification {
            receive,
            bytes,
            rts_sent,
            is_polled: false,
        });
    }

    pub(super) fn poll(&mut self, receiver: usize, receive: ReceiveId) {
        let mut known = self.receivers[receiver].notifications.iter_mut();
        let Some(one) = known.find(|one| one.receive == receive && !one.is_polled) else {
            return;
        };
        one.is_polled = true;
        let event = ReceiveEvent::Notified {
            receive,
            bytes: one.bytes,
            rts_sent: one.rts_sent,
        };
        self.receive_event(receiver, event);
        self.offer_pending(receiver, None);
    }

    fn complete(&mut self, receiver: usize, receive: ReceiveId, bytes: u64) {
        let buffer = self.receivers[receiver].buffers[receive.0 as usize];
        let real = buffer
            .content
            .map(|(link, send)| self.links[link].sends[send.0 as usize].bytes);
        if real != Some(bytes) {
            self.violate(|| {
                format!(
                    "receive {} completes with {bytes} bytes, but its data are {real:?}",
                    receive.0
                )
            });
        }
        let one = &mut self.receivers[receiver];
        one.notifications.retain(|note| note.receive != receive);
        if let Some((link, claim)) = buffer.claim {
            let word = &mut self.links[link].claims[claim.index];
            // A word that is still offered here was given away by a wrong rule, and stays so.
            if word.generation == claim.generation && word.state == ClaimState::Claimed {
                word.state = ClaimState::Free;
            }
            one.buffers[receive.0 as usize].claim = None;
        }
        self.end_receive(receiver, receive, Progress::Complete);
    }

    fn end_receive(&mut self, receiver: usize, receive: ReceiveId, progress: Progress) {
        let buffer = &mut self.receivers[receiver].buffers[receive.0 as usize];
        let before = std::mem::replace(&mut buffer.progress, progress);
        if before != Progress::Pending {
            self.violate(|| format!("receive {} ends twice", receive.0));
        }
        if !self.config.has(Flaw::LeftOpen) {
            self.close(receiver, receive);
        }
        self.note_receiver(receiver, What::Complete, "receive complete", String::new);
    }

    /// Copies a message's first bytes into a receive's memory.
    pub(super) fn copy(&mut self, link: usize, send: SendId, receive: ReceiveId, bytes: u64) {
        let receiver = self.end(link);
        let write = Write {
            send,
            receive,
            bytes,
            rts_sent: false,
            is_told: false,
            is_chunks: false,
            region: None,
            due_ns: 0,
        };
        self.check_target(link, write);
        let buffer = &mut self.receivers[receiver].buffers[receive.0 as usize];
        let before = buffer.content.replace((link, send));
        if before.is_some() {
            self.violate(|| format!("receive {} is written twice", receive.0));
        }
    }

    /// The memory of a receive is the library's while it is pending, and no longer than its capacity.
    pub(super) fn check_target(&mut self, link: usize, write: Write) {
        let receiver = self.end(link);
        if self.dead == Some(self.receivers[receiver].rank) {
            return;
        }
        let receive = write.receive;
        let buffer = self.receivers[receiver].buffers[receive.0 as usize];
        if buffer.progress != Progress::Pending {
            self.violate(|| {
                format!(
                    "receive {} is written when it is {:?}",
                    receive.0, buffer.progress
                )
            });
        }
        if write.bytes > buffer.capacity {
            self.violate(|| {
                format!(
                    "{} bytes are written into receive {}, which holds {}",
                    write.bytes, receive.0, buffer.capacity
                )
            });
        }
    }

    fn put_back(&mut self, receiver: usize, source: Source, back: Back) {
        let rank = self.receivers[receiver].rank;
        let link = self.link(source.0, rank);
        if self.dead == Some(source.0) {
            return;
        }
        let last = self.links[link].backs.back().map_or(0, |&(due, _)| due);
        let due = self.due(rank, source.0, last);
        self.note_until(link, true, What::Control, back.name(), due, || {
            back.fields()
        });
        self.links[link].backs.push_back((due, back));
    }

    /// The survivor of a link learns that the other rank died.
    pub(super) fn notice(&mut self, link: usize) {
        self.links[link].is_lost = true;
        let (from, to) = (self.links[link].from, self.links[link].to);
        if self.dead == Some(to) {
            // A send does not fail before its write has ended.
            self.links[link].backs.clear();
            self.links[link].writes.clear();
            return self.send_event(link, SendEvent::PeerLost);
        }
        self.links[link].cells.clear();
        let receiver = self.end(link);
        let source = Source(from);
        let one = &mut self.receivers[receiver];
        one.reads.retain(|read| read.link != link);
        let is_rts = |cell: &Cell| matches!(cell, Cell::Rts { .. });
        one.unexpected
            .retain(|(owner, cell)| *owner != link || !is_rts(cell));
        let named = one.posted.iter().filter(|one| one.source == Some(source));
        let named: Vec<ReceiveId> = named.map(|one| one.receive).collect();
        self.receive_event(receiver, ReceiveEvent::PeerLost { source });
        for receive in named {
            let buffer = self.receivers[receiver].buffers[receive.0 as usize];
            if buffer.progress == Progress::Pending {
                self.unlink(receiver, receive);
                self.end_receive(receiver, receive, Progress::Failed);
            }
        }
        self.offer_pending(receiver, None);
    }
}
