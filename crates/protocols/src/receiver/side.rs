// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state machine of a receiver.

use std::collections::BTreeMap;

use super::event::{ReceiveAction, ReceiveEvent};
use crate::flaw::Flaw;
use crate::names::{Key, ReceiveId, SendId, Source};
use crate::variant::{Announce, Config, Data, Offers, Reads, Stale};

/// Why an RTR is being revoked.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Reason {
    Eager {
        send: SendId,
        bytes: u64,
        is_synchronous: bool,
    },
    Rts {
        send: SendId,
        bytes: u64,
    },
    Cancel,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum State {
    /// In the queue; no RTR is out.
    Silent,
    /// In the queue; an RTR is out.
    Offered,
    /// As `Offered`; the data are here, and the cell or RTS that says so is on its way.
    Notified { bytes: u64 },
    /// As `Offered`; the outcome of revoking is due.
    Revoking(Reason),
    /// A message is this receive's; its data are on their way. `send`: the sender waits for a FIN.
    Matched { bytes: u64, send: Option<SendId> },
    /// The receiver reads the data.
    Reading { send: SendId, bytes: u64 },
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Entry {
    receive: ReceiveId,
    pub(super) source: Source,
    /// Of the message once there is one, which decides what an unanswered read holds back.
    pub(super) key: Key,
    capacity: u64,
    /// Its number among the receives of its key.
    number: u64,
    /// Whether its RTR holds a slot at the sender.
    pub(super) is_live: bool,
    pub(super) state: State,
}

/// Numbers of a key of a sender.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Counts {
    next: u64,
    told: u64,
}

/// The receiver's half of a protocol.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ReceiveSide {
    pub(super) config: Config,
    pub(super) entries: Vec<Entry>,
    counts: BTreeMap<(Source, Key), Counts>,
}

impl ReceiveSide {
    /// A receiver without receives.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            entries: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Handles an event; appends the actions that follow from it.
    pub fn handle(&mut self, event: ReceiveEvent, out: &mut Vec<ReceiveAction>) {
        match event {
            ReceiveEvent::Posted {
                receive,
                source,
                key,
                capacity,
                is_long,
            } => self.posted(receive, source, key, capacity, is_long, out),
            ReceiveEvent::Rts {
                receive,
                capacity,
                source,
                send,
                key,
                bytes,
            } => self.rts((receive, capacity), (source, send), key, bytes, out),
            ReceiveEvent::Eager {
                receive,
                source,
                send,
                key,
                bytes,
                is_synchronous,
            } => self.eager(receive, source, key, (send, bytes, is_synchronous), out),
            ReceiveEvent::Taken {
                source,
                receive,
                bytes,
            } => self.taken(source, receive, bytes, out),
            ReceiveEvent::Landed {
                source,
                receive,
                bytes,
            } => self.landed(source, receive, bytes, out),
            ReceiveEvent::Notified {
                receive,
                bytes,
                rts_sent,
            } => self.notified(receive, bytes, rts_sent, out),
            ReceiveEvent::Revoked { receive, is_won } => self.revoked(receive, is_won, out),
            ReceiveEvent::Read { receive, is_done } => self.read(receive, is_done, out),
            ReceiveEvent::ChunksDone { receive } => {
                if let Some(at) = self.find(receive)
                    && let State::Matched { bytes, .. } = self.entries[at].state
                {
                    self.complete(at, bytes, out);
                }
            }
            ReceiveEvent::Cancel { receive } => self.cancel(receive, out),
            ReceiveEvent::PeerLost { source } => {
                let lost = self.entries.extract_if(.., |entry| entry.source == source);
                out.extend(lost.map(|entry| ReceiveAction::Fail {
                    receive: entry.receive,
                }));
                self.counts.retain(|(owner, _), _| *owner != source);
            }
        }
    }

    pub(super) fn find(&self, receive: ReceiveId) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.receive == receive)
    }

    /// Draws the number of a receive; gives it, and what an RTR says of it.
    fn draw(&mut self, source: Source, key: Key, is_told: bool) -> (u64, u64) {
        if !self.config.counts() {
            return (0, 0);
        }
        let counts = self.counts.entry((source, key)).or_default();
        let number = counts.next;
        counts.next += 1;
        if self.config.columns().stale == Stale::Ticket {
            return (number, number);
        }
        let silent = number - counts.told.min(number);
        if is_told {
            counts.told = number + 1;
        }
        (number, silent)
    }

    fn posted(
        &mut self,
        receive: ReceiveId,
        source: Source,
        key: Key,
        capacity: u64,
        is_long: bool,
        out: &mut Vec<ReceiveAction>,
    ) {
        if self.find(receive).is_some() {
            return;
        }
        let is_offered = match self.config.columns().offers {
            Offers::None => return,
            Offers::Long => is_long,
            Offers::All => true,
        };
        let (number, told) = self.draw(source, key, is_offered);
        self.entries.push(Entry {
            receive,
            source,
            key,
            capacity,
            number,
            is_live: is_offered,
            state: if is_offered {
                State::Offered
            } else {
                State::Silent
            },
        });
        if is_offered {
            out.push(ReceiveAction::SendRtr {
                source,
                receive,
                key,
                capacity,
                number: told,
            });
        }
    }

    fn rts(
        &mut self,
        (receive, capacity): (ReceiveId, u64),
        (source, send): (Source, SendId),
        key: Key,
        bytes: u64,
        out: &mut Vec<ReceiveAction>,
    ) {
        let at = self.matched(receive, source, key, capacity);
        let stale = self.config.columns().stale;
        match self.entries[at].state {
            State::Offered if stale == Stale::Claim => {
                if self.config.has(Flaw::ServedWithoutClaim) {
                    return self.serve(at, send, bytes, out);
                }
                self.entries[at].state = State::Revoking(Reason::Rts { send, bytes });
                out.push(ReceiveAction::Revoke { receive });
            }
            State::Offered if stale == Stale::Log => self.serve(at, send, bytes, out),
            // The RTR is the answer, as the RTS is the announcement.
            State::Offered => self.entries[at].state = State::Matched { bytes, send: None },
            State::Notified { .. } => self.complete(at, bytes, out),
            _ => self.serve(at, send, bytes, out),
        }
    }

    /// The entry of a receive that met a message; makes one for a receive that was not offered, whose number is drawn now.
    fn matched(&mut self, receive: ReceiveId, source: Source, key: Key, capacity: u64) -> usize {
        if let Some(at) = self.find(receive) {
            self.entries[at].key = key;
            return at;
        }
        let (number, _) = self.draw(source, key, false);
        self.entries.push(Entry {
            receive,
            source,
            key,
            capacity,
            number,
            is_live: false,
            state: State::Silent,
        });
        self.entries.len() - 1
    }

    /// Gets the data of an announced message.
    fn serve(&mut self, at: usize, send: SendId, bytes: u64, out: &mut Vec<ReceiveAction>) {
        let Entry {
            receive,
            source,
            key,
            capacity,
            number,
            ..
        } = self.entries[at];
        if self.config.reads() {
            self.entries[at].state = State::Reading { send, bytes };
            return out.push(ReceiveAction::Read {
                receive,
                source,
                send,
                bytes: bytes.min(capacity),
            });
        }
        let columns = self.config.columns();
        // The sender has used its offer up, or will before it may use it.
        self.entries[at].is_live &= columns.stale != Stale::Log;
        if columns.stale == Stale::Counter {
            let counts = self.counts.entry((source, key)).or_default();
            counts.told = if self.config.has(Flaw::CounterReset) {
                counts.next
            } else {
                counts.told.max(number + 1)
            };
        }
        let by_agent = columns.data == Data::Read && self.config.fabric.reads == Reads::Agent;
        self.entries[at].state = State::Matched {
            bytes,
            send: by_agent.then_some(send),
        };
        out.push(ReceiveAction::SendCts {
            source,
            send,
            receive,
            capacity,
        });
    }

    fn eager(
        &mut self,
        receive: ReceiveId,
        source: Source,
        key: Key,
        (send, bytes, is_synchronous): (SendId, u64, bool),
        out: &mut Vec<ReceiveAction>,
    ) {
        let at = self.matched(receive, source, key, 0);
        let stale = self.config.columns().stale;
        let is_offered = self.entries[at].state == State::Offered;
        if is_offered && stale == Stale::Claim && !self.config.has(Flaw::DeliveredWithoutClaim) {
            self.entries[at].state = State::Revoking(Reason::Eager {
                send,
                bytes,
                is_synchronous,
            });
            return out.push(ReceiveAction::Revoke { receive });
        }
        let is_acknowledged = match stale {
            Stale::Acks => !is_offered,
            Stale::Counter | Stale::Ticket => is_synchronous && !is_offered,
            Stale::Claim | Stale::Log | Stale::Assumed => is_synchronous,
        };
        self.deliver(at, send, bytes, is_acknowledged, out);
    }

    fn deliver(
        &mut self,
        at: usize,
        send: SendId,
        bytes: u64,
        is_acknowledged: bool,
        out: &mut Vec<ReceiveAction>,
    ) {
        let Entry {
            receive, source, ..
        } = self.entries[at];
        out.push(ReceiveAction::Deliver { receive });
        if is_acknowledged {
            out.push(ReceiveAction::SendFin { source, send });
        }
        self.complete(at, bytes, out);
    }

    fn taken(
        &mut self,
        source: Source,
        receive: ReceiveId,
        bytes: u64,
        out: &mut Vec<ReceiveAction>,
    ) {
        match self.owned(source, receive) {
            Some((at, State::Offered)) => {
                self.entries[at].state = State::Matched { bytes, send: None };
                out.push(ReceiveAction::Unlink { receive, bytes });
            }
            Some((at, State::Notified { .. })) => {
                out.push(ReceiveAction::Unlink { receive, bytes });
                self.complete(at, bytes, out);
            }
            _ => out.push(ReceiveAction::Fault {
                source,
                reason: "took a receive that was not offered",
            }),
        }
    }

    fn landed(
        &mut self,
        source: Source,
        receive: ReceiveId,
        bytes: u64,
        out: &mut Vec<ReceiveAction>,
    ) {
        match self.owned(source, receive) {
            Some((at, State::Offered)) => {
                out.push(ReceiveAction::Unlink { receive, bytes });
                self.complete(at, bytes, out);
            }
            Some((at, State::Matched { .. })) => self.complete(at, bytes, out),
            _ => out.push(ReceiveAction::Fault {
                source,
                reason: "wrote into a receive that was not offered",
            }),
        }
    }

    /// The entry and state of a receive that a sender may name.
    fn owned(&self, source: Source, receive: ReceiveId) -> Option<(usize, State)> {
        let at = self.find(receive)?;
        let entry = &self.entries[at];
        (entry.source == source).then_some((at, entry.state))
    }

    fn notified(
        &mut self,
        receive: ReceiveId,
        bytes: u64,
        rts_sent: bool,
        out: &mut Vec<ReceiveAction>,
    ) {
        let Some(at) = self.find(receive) else {
            return;
        };
        let waits_for_cell = self.config.columns().announce == Announce::Cell || rts_sent;
        match self.entries[at].state {
            State::Matched { bytes, send } => {
                if let Some(send) = send {
                    let source = self.entries[at].source;
                    out.push(ReceiveAction::SendFin { source, send });
                }
                self.complete(at, bytes, out);
            }
            State::Offered if waits_for_cell && !self.config.has(Flaw::FreedBeforeRts) => {
                self.entries[at].state = State::Notified { bytes };
            }
            State::Offered => {
                out.push(ReceiveAction::Unlink { receive, bytes });
                self.complete(at, bytes, out);
            }
            _ => {}
        }
    }

    fn revoked(&mut self, receive: ReceiveId, is_won: bool, out: &mut Vec<ReceiveAction>) {
        let Some(at) = self.find(receive) else {
            return;
        };
        let State::Revoking(reason) = self.entries[at].state else {
            return;
        };
        let source = self.entries[at].source;
        self.entries[at].is_live &= !is_won;
        match (reason, is_won) {
            (
                Reason::Eager {
                    send,
                    bytes,
                    is_synchronous,
                },
                true,
            ) => self.deliver(at, send, bytes, is_synchronous, out),
            (Reason::Eager { .. }, false) => out.push(ReceiveAction::Fault {
                source,
                reason: "claimed a receive before a message of its own had arrived",
            }),
            (Reason::Rts { send, bytes }, true) => self.serve(at, send, bytes, out),
            (Reason::Rts { bytes, .. }, false) => {
                self.entries[at].state = State::Matched { bytes, send: None };
            }
            (Reason::Cancel, true) => {
                self.entries.remove(at);
                out.push(ReceiveAction::Cancelled { receive });
            }
            (Reason::Cancel, false) => {
                self.entries[at].state = State::Offered;
                out.push(ReceiveAction::TooLate { receive });
            }
        }
    }

    fn read(&mut self, receive: ReceiveId, is_done: bool, out: &mut Vec<ReceiveAction>) {
        let Some(at) = self.find(receive) else {
            return;
        };
        let Entry {
            source,
            capacity,
            state: State::Reading { send, bytes },
            ..
        } = self.entries[at]
        else {
            return;
        };
        if is_done {
            out.push(ReceiveAction::SendFin { source, send });
            return self.complete(at, bytes, out);
        }
        self.entries[at].state = State::Matched { bytes, send: None };
        out.push(ReceiveAction::SendCts {
            source,
            send,
            receive,
            capacity,
        });
    }

    fn cancel(&mut self, receive: ReceiveId, out: &mut Vec<ReceiveAction>) {
        let stale = self.config.columns().stale;
        let Some(at) = self.find(receive) else {
            return out.push(ReceiveAction::Cancelled { receive });
        };
        let is_local =
            self.config.has(Flaw::CancelledWithoutClaim) || self.config.has(Flaw::TicketLeftBehind);
        match self.entries[at].state {
            State::Offered if stale == Stale::Claim && !is_local => {
                self.entries[at].state = State::Revoking(Reason::Cancel);
                out.push(ReceiveAction::Revoke { receive });
            }
            State::Offered | State::Silent if is_local => {
                self.entries.remove(at);
                out.push(ReceiveAction::Cancelled { receive });
            }
            // The sender may write at any time, and only it could say whether it does.
            _ => out.push(ReceiveAction::TooLate { receive }),
        }
    }

    fn complete(&mut self, at: usize, bytes: u64, out: &mut Vec<ReceiveAction>) {
        let entry = self.entries.remove(at);
        out.push(ReceiveAction::Complete {
            receive: entry.receive,
            bytes,
        });
    }
}
