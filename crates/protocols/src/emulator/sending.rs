// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives the sender's state machine of a link.

use super::cells::{Back, Cell, Claim};
use super::timing::What;
use super::world::{ClaimState, Link, Progress, SendRecord, World, Write};
use crate::flaw::Flaw;
use crate::names::{Key, ReceiveId, SendId};
use crate::sender::{Kind, Offer, SendAction, SendEvent};
use crate::variant::Stale;

impl World {
    pub(super) fn post_send(&mut self, link: usize, key: Key, bytes: u64, kind: Kind) {
        let send = SendId(self.links[link].sends.len() as u64);
        let is_lost = self.links[link].is_lost;
        self.links[link].sends.push(SendRecord {
            key,
            bytes,
            kind,
            progress: if is_lost {
                Progress::Failed
            } else {
                Progress::Pending
            },
        });
        self.note(link, false, What::Operation, "send", || {
            format!("{bytes} bytes")
        });
        if is_lost {
            return;
        }
        let is_blocked = match self.config.columns().stale {
            Stale::Log => {
                let since = self.links[link].side.offered_at(key);
                since.is_some_and(|since| self.may_have_left(link, key, since, u64::MAX))
            }
            _ => self.may_be_unconsumed(link, key, u64::MAX),
        };
        self.send_event(
            link,
            SendEvent::Posted {
                send,
                key,
                bytes,
                kind,
                is_blocked,
            },
        );
    }

    /// The scan: whether an own message of a key with a sequence number below `until` may be unconsumed. A message that was written
    /// into an offered receive is out of the way, although its RTS may still be on it: that RTS meets this very receive.
    fn may_be_unconsumed(&self, link: usize, key: Key, until: u64) -> bool {
        let Link { log, sends, .. } = &self.links[link];
        log.iter().any(|&(sequence, logged, send)| {
            let record = sends[send.0 as usize];
            let is_written = record.kind == Kind::Long && record.progress == Progress::Complete;
            logged == key && sequence < until && !is_written
        })
    }

    /// Forgets messages of the log that the receiver is known to have consumed.
    fn note_consumed(&mut self, link: usize, consumed: u64) {
        self.links[link]
            .log
            .retain(|&(sequence, _, _)| sequence >= consumed);
    }

    /// A cell from the receiver is here.
    pub(super) fn returned(&mut self, link: usize, back: Back) {
        match back {
            Back::Rtr {
                receive,
                key,
                capacity,
                number,
                claim,
                consumed,
                region,
            } => {
                if self.config.columns().stale == Stale::Log {
                    let number = match self.config.has(Flaw::ScannedFromArrival) {
                        true => self.links[link].published,
                        false => consumed,
                    };
                    let offer = Offer {
                        receive,
                        key,
                        capacity,
                        number,
                    };
                    return self.offered(link, offer, region);
                }
                self.note_consumed(link, consumed);
                if let Some(claim) = claim {
                    self.sweep(link);
                    self.links[link].stored.push((receive, claim));
                }
                let open = self.links[link].side.oldest_open(key);
                let mut log = self.links[link].log.iter();
                let until = open.and_then(|open| log.find(|&&(_, _, send)| send == open));
                // An open RTS that is consumed has no message before it that is not.
                let until = until.map_or(0, |&(sequence, _, _)| sequence);
                let is_blocked = self.may_be_unconsumed(link, key, until);
                let offer = Offer {
                    receive,
                    key,
                    capacity,
                    number,
                };
                self.send_event(link, SendEvent::Rtr { offer, is_blocked });
            }
            Back::Cts {
                send,
                receive,
                capacity,
                region,
            } => {
                self.note_answered(link, send);
                self.note_region(link, receive, region);
                self.send_event(
                    link,
                    SendEvent::Cts {
                        send,
                        receive,
                        capacity,
                    },
                );
            }
            Back::Fin { send } => {
                self.note_answered(link, send);
                self.send_event(link, SendEvent::Fin { send });
            }
        }
    }

    fn note_answered(&mut self, link: usize, send: SendId) {
        if self.config.columns().stale == Stale::Log {
            // A message that the receiver has consumed may have met the receive of an offer.
            return;
        }
        let mut log = self.links[link].log.iter();
        if let Some(&(sequence, _, _)) = log.find(|&&(_, _, logged)| logged == send) {
            self.note_consumed(link, sequence + 1);
        }
    }

    /// Drops stored RTRs that are revoked, if there is no room for another one.
    fn sweep(&mut self, link: usize) {
        if !self.links[link].side.is_full() {
            return;
        }
        let one = &mut self.links[link];
        let (claims, stored) = (&one.claims, &one.stored);
        one.side.retain_offers(|offer| {
            let named = stored.iter().find(|(receive, _)| *receive == offer.receive);
            named.is_some_and(|(_, claim)| {
                let word = claims[claim.index];
                word.state == ClaimState::Offered && word.generation == claim.generation
            })
        });
        let left: Vec<ReceiveId> = one.side.offers().iter().map(|one| one.receive).collect();
        one.stored.retain(|(receive, _)| left.contains(receive));
    }

    pub(super) fn send_event(&mut self, link: usize, event: SendEvent) {
        let mut out = Vec::new();
        self.links[link].side.handle(event, &mut out);
        for action in out {
            self.do_send(link, action);
        }
    }

    fn do_send(&mut self, link: usize, action: SendAction) {
        match action {
            SendAction::SendRts { send } => {
                let SendRecord { key, bytes, .. } = self.links[link].sends[send.0 as usize];
                let is_told = self.config.has(Flaw::CrossingAwaited);
                let handled = is_told.then_some(self.links[link].handled);
                self.put(
                    link,
                    Cell::Rts {
                        send,
                        key,
                        bytes,
                        handled,
                    },
                );
            }
            SendAction::SendEager {
                send,
                is_synchronous,
            } => {
                let SendRecord { key, bytes, .. } = self.links[link].sends[send.0 as usize];
                self.put(
                    link,
                    Cell::Eager {
                        send,
                        key,
                        bytes,
                        is_synchronous,
                    },
                );
            }
            SendAction::Claim { send, receive } => self.claim(link, send, receive),
            SendAction::SendTaken { receive, bytes, .. } => {
                self.put(link, Cell::Taken { receive, bytes });
            }
            SendAction::Write {
                send,
                receive,
                bytes,
                rts_sent,
            } => self.write(link, send, receive, bytes, rts_sent),
            SendAction::SendLanded { receive, bytes, .. } => {
                self.put(link, Cell::Landed { receive, bytes });
            }
            SendAction::Push { send, receive } => {
                let bytes = self.links[link].sends[send.0 as usize].bytes;
                self.start(link, (send, receive), bytes, false, true);
            }
            SendAction::Complete { send } => self.end_send(link, send, Progress::Complete),
            SendAction::Fail { send } => self.end_send(link, send, Progress::Failed),
            SendAction::Fault { reason } => {
                self.violate(|| format!("the sender blames the receiver, which {reason}"));
            }
        }
    }

    fn end_send(&mut self, link: usize, send: SendId, progress: Progress) {
        let record = &mut self.links[link].sends[send.0 as usize];
        let before = std::mem::replace(&mut record.progress, progress);
        if before != Progress::Pending {
            self.violate(|| format!("send {} ends twice", send.0));
        }
        self.note(link, false, What::Complete, "send complete", String::new);
    }

    fn claim(&mut self, link: usize, send: SendId, receive: ReceiveId) {
        let ignores = self.config.has(Flaw::GenerationIgnored);
        let one = &mut self.links[link];
        let at = one.stored.iter().position(|(named, _)| *named == receive);
        let claim = at.map(|at| one.stored.remove(at).1);
        let is_won = claim.is_some_and(|Claim { index, generation }| {
            let word = &mut one.claims[index];
            let is_won =
                word.state == ClaimState::Offered && (ignores || word.generation == generation);
            if is_won {
                word.state = ClaimState::Claimed;
            }
            is_won
        });
        let in_parts = self.behaviour.writes_in_parts && self.config.fabric.ordered;
        self.send_event(
            link,
            SendEvent::Claimed {
                send,
                is_won,
                in_parts,
            },
        );
    }

    fn write(&mut self, link: usize, send: SendId, receive: ReceiveId, bytes: u64, rts_sent: bool) {
        if self.config.fabric.ordered && self.behaviour.refuses_writes {
            self.send_event(link, SendEvent::Refused { send });
        } else {
            self.start(link, (send, receive), bytes, rts_sent, false);
        }
    }

    /// Starts to copy.
    fn start(
        &mut self,
        link: usize,
        (send, receive): (SendId, ReceiveId),
        bytes: u64,
        rts_sent: bool,
        is_chunks: bool,
    ) {
        let due_ns = match &self.timing {
            Some(timing) => self.now_ns + timing.copy_ns(bytes) as u64,
            None => 0,
        };
        let how = if is_chunks { "in chunks" } else { "written" };
        self.note_until(link, false, What::Data, "data", due_ns, || {
            format!("{bytes} bytes {how} for receive {}", receive.0)
        });
        let mut regions = self.links[link].regions.iter();
        let region = regions.find(|(named, _)| *named == receive);
        let write = Write {
            send,
            receive,
            bytes,
            rts_sent,
            is_told: false,
            is_chunks,
            region: region.map(|&(_, region)| region),
            due_ns,
        };
        if !is_chunks {
            self.check_target(link, write);
            self.check_open(link, write);
        }
        self.links[link].writes.push(write);
        if !is_chunks && self.config.has(Flaw::NotifiedBeforeData) {
            self.notify_written(link, write);
        }
        let is_instant = self.config.fabric.ordered && !self.behaviour.writes_in_parts;
        if is_instant && self.timing.is_none() {
            self.data_arrived(link, self.links[link].writes.len() - 1);
        } else if self.config.columns().stale == Stale::Log && self.behaviour.writes_in_parts {
            self.send_event(link, SendEvent::Begun { send });
        }
    }

    /// The data of a write, and its notification, are in the receiver's memory.
    pub(super) fn data_arrived(&mut self, link: usize, at: usize) {
        let write = self.links[link].writes.remove(at);
        let Write { send, receive, .. } = write;
        if write.is_chunks {
            let bytes = write.bytes;
            self.check_readable(link, send);
            let chunks = Cell::Chunks {
                receive,
                send,
                bytes,
            };
            self.put(link, chunks);
            return self.send_event(link, SendEvent::Pushed { send });
        }
        self.check_readable_for(link, write);
        self.check_open(link, write);
        if self.dead != Some(self.links[link].to) {
            self.copy(link, send, receive, write.bytes);
            if !self.config.has(Flaw::NotifiedBeforeData) {
                self.notify_written(link, write);
            }
        }
        if !write.is_told {
            self.send_event(link, SendEvent::Written { send });
        }
    }

    /// The notification of a write is in the receiver's memory, where a fabric needs one.
    fn notify_written(&mut self, link: usize, write: Write) {
        if self.config.fabric.ordered {
            return;
        }
        let Write { send, receive, .. } = write;
        let bytes = self.links[link].sends[send.0 as usize].bytes;
        self.notify(self.end(link), receive, bytes, write.rts_sent);
        self.note(link, false, What::Notification, "NOTIFICATION", || {
            format!("receive {}, {bytes} bytes", receive.0)
        });
    }

    /// A write that the sender counts as done may still read its memory under one flaw, which other checks catch.
    fn check_readable_for(&mut self, link: usize, write: Write) {
        if !write.is_told {
            self.check_readable(link, write.send);
        }
    }

    /// The memory of a send is the library's until the send completes.
    pub(super) fn check_readable(&mut self, link: usize, send: SendId) {
        if self.links[link].sends[send.0 as usize].progress != Progress::Pending {
            self.violate(|| format!("send {} is read after it ended", send.0));
        }
    }

    fn put(&mut self, link: usize, cell: Cell) {
        let one = &mut self.links[link];
        let (from, to) = (one.from, one.to);
        let sequence = one.published;
        one.published += 1;
        let has_log = matches!(self.config.columns().stale, Stale::Claim | Stale::Log);
        if has_log && let Cell::Rts { send, key, .. } | Cell::Eager { send, key, .. } = cell {
            one.log.push((sequence, key, send));
        }
        if self.dead == Some(to) {
            return;
        }
        if self.config.columns().stale == Stale::Log {
            let first = one.published.saturating_sub(self.behaviour.log_cells);
            one.log.retain(|&(sequence, _, _)| sequence >= first);
        }
        let last = one.cells.back().map_or(0, |&(due, _)| due);
        let due = self.due(from, to, last);
        let what = match cell {
            Cell::Landed { .. } | Cell::Chunks { .. } => What::Notification,
            _ => What::Control,
        };
        self.note_until(link, false, what, cell.name(), due, || fields(&cell));
        self.links[link].cells.push_back((due, cell));
    }

    /// When a cell that leaves now arrives, given when the one before it does.
    pub(super) fn due(&mut self, from: u32, to: u32, last_ns: u64) -> u64 {
        let Some(timing) = &mut self.timing else {
            return 0;
        };
        let due = self.now_ns + timing.cell_ns(from, to).round() as u64;
        if timing.reorders {
            due
        } else {
            due.max(last_ns)
        }
    }
}

/// A cell's words, for time lines.
fn fields(cell: &Cell) -> String {
    match *cell {
        Cell::Rts {
            send, key, bytes, ..
        } => {
            format!("send {}, tag {}, {bytes} bytes", send.0, key.tag())
        }
        Cell::Eager {
            send, key, bytes, ..
        } => format!("send {}, tag {}, {bytes} bytes", send.0, key.tag()),
        Cell::Taken { receive, bytes } | Cell::Landed { receive, bytes } => {
            format!("receive {}, {bytes} bytes", receive.0)
        }
        Cell::Chunks { receive, bytes, .. } => format!("receive {}, {bytes} bytes", receive.0),
    }
}
