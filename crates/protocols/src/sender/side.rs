// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state machine of a sender.

use std::collections::BTreeMap;

use super::event::{Kind, Offer, SendAction, SendEvent};
use crate::flaw::Flaw;
use crate::names::{Key, ReceiveId, SendId};
use crate::variant::{Announce, Config, Data, Stale};

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum State {
    /// Waits for a silent write.
    Held { is_blocked: bool },
    /// Its RTS is out, and an RTR may still be its answer.
    Open,
    /// Its RTS is out, and the receiver serves it.
    Closed,
    /// Waits for an RTR without an RTS.
    Waiting,
    /// The outcome of a claim is due.
    Claiming { receive: ReceiveId, rts_sent: bool },
    /// Its data are out; kept for the RTR or acknowledgement that clears it.
    Sent,
    /// The data go into a receive.
    Writing {
        receive: ReceiveId,
        rts_sent: bool,
        is_told: bool,
    },
    /// The data go as chunks.
    Pushing,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Pending {
    pub(super) send: SendId,
    pub(super) key: Key,
    pub(super) bytes: u64,
    kind: Kind,
    number: u64,
    pub(super) state: State,
}

/// Numbers of a key.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Counts {
    sent: u64,
    /// The ticket after the last one that the receiver has told, for [`Stale::Counter`].
    told: u64,
}

/// The sender's half of a protocol, for one receiver.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct SendSide {
    pub(super) config: Config,
    /// Sends that the receiver or the fabric still owes something, oldest first.
    pub(super) pending: Vec<Pending>,
    /// Stored RTRs, oldest first.
    pub(super) offers: Vec<Offer>,
    counts: BTreeMap<Key, Counts>,
}

impl SendSide {
    /// A sender that has sent nothing.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            pending: Vec::new(),
            offers: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Handles an event; appends the actions that follow from it.
    pub fn handle(&mut self, event: SendEvent, out: &mut Vec<SendAction>) {
        match event {
            SendEvent::Posted {
                send,
                key,
                bytes,
                kind,
                is_blocked,
            } => self.posted(send, key, bytes, kind, is_blocked, out),
            SendEvent::Rtr { offer, is_blocked } => self.rtr(offer, is_blocked, out),
            SendEvent::Claimed {
                send,
                is_won,
                in_parts,
            } => self.claimed(send, is_won, in_parts, out),
            SendEvent::Begun { send } => self.begun(send, out),
            SendEvent::Written { send } => self.written(send, out),
            SendEvent::Refused { send } => self.refused(send, out),
            SendEvent::Pushed { send } => self.finish(send, out),
            SendEvent::Cts {
                send,
                receive,
                capacity,
            } => self.cts(send, receive, capacity, out),
            SendEvent::Fin { send } => self.fin(send, out),
            SendEvent::Recalled { send } => {
                if let Some(at) = self.find(send)
                    && self.pending[at].state == State::Open
                {
                    self.pending[at].state = State::Closed;
                }
            }
            SendEvent::PeerLost => {
                let left = self.pending.drain(..).filter(|one| {
                    // An eager send was complete when its data were out.
                    one.kind != Kind::Eager || one.state != State::Sent
                });
                out.extend(left.map(|one| SendAction::Fail { send: one.send }));
                self.offers.clear();
                self.counts.clear();
            }
        }
    }

    /// Whether a stored RTR fits a key.
    pub fn has_offer(&self, key: Key) -> bool {
        self.offers.iter().any(|offer| offer.key.accepts(key))
    }

    /// The oldest send of a key whose RTS is open: an RTR may be its answer.
    pub fn oldest_open(&self, key: Key) -> Option<SendId> {
        let open = |one: &&Pending| one.key == key && one.state == State::Open;
        self.pending.iter().find(open).map(|one| one.send)
    }

    /// The stored RTRs, oldest first.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Whether dead offers must be dropped before another RTR is handled ([`Stale::Claim`]).
    pub fn is_full(&self) -> bool {
        self.config.columns().stale == Stale::Claim
            && self.offers.len() >= self.config.offers_per_peer
    }

    /// Drops stored RTRs that the receiver has revoked, as their claim words say.
    pub fn retain_offers(&mut self, is_live: impl FnMut(&Offer) -> bool) {
        self.offers.retain(is_live);
    }

    /// Whether a send has begun and not ended.
    pub fn knows(&self, send: SendId) -> bool {
        self.find(send).is_some()
    }

    /// Whether no send is under way.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn find(&self, send: SendId) -> Option<usize> {
        self.pending.iter().position(|one| one.send == send)
    }

    fn posted(
        &mut self,
        send: SendId,
        key: Key,
        bytes: u64,
        kind: Kind,
        is_blocked: bool,
        out: &mut Vec<SendAction>,
    ) {
        let mut number = 0;
        if self.config.counts() {
            let counts = self.counts.entry(key).or_default();
            number = counts.sent;
            counts.sent += 1;
        }
        let pending = Pending {
            send,
            key,
            bytes,
            kind,
            number,
            state: State::Held { is_blocked },
        };
        if self.must_hold() {
            self.pending.push(pending);
        } else {
            self.begin(pending, is_blocked, out);
        }
    }

    /// Whether a write that nothing announces is under way, or a send waits for one. Its receive may take any tag, so all keys wait.
    fn must_hold(&self) -> bool {
        let holds = |one: &Pending| matches!(one.state, State::Held { .. }) || is_silent(one);
        self.config.writes_silently()
            && !self.config.has(Flaw::SentBehindSilentWrite)
            && self.pending.iter().any(holds)
    }

    /// Starts a send that nothing holds.
    fn begin(&mut self, pending: Pending, is_blocked: bool, out: &mut Vec<SendAction>) {
        match pending.kind {
            Kind::Long => self.begin_long(pending, is_blocked, out),
            Kind::Eager | Kind::EagerSynchronous => self.begin_eager(pending, out),
        }
    }

    fn begin_long(&mut self, mut pending: Pending, is_blocked: bool, out: &mut Vec<SendAction>) {
        let columns = self.config.columns();
        if columns.stale == Stale::Log {
            return self.begin_logged(pending, is_blocked, out);
        }
        if columns.stale == Stale::Claim {
            let is_blocked = is_blocked && !self.config.has(Flaw::ScanLeftOut);
            if is_blocked && self.has_offer(pending.key) {
                pending.state = State::Closed;
                out.push(SendAction::SendRts { send: pending.send });
                self.pending.push(pending);
            } else {
                self.pending.push(pending);
                self.try_offers(self.pending.len() - 1, out);
            }
            return;
        }
        if let Some(offer) = self.take_offer(&pending) {
            self.pending.push(pending);
            self.write(self.pending.len() - 1, offer, false, false, out);
            return;
        }
        if columns.requests {
            pending.state = State::Open;
            out.push(SendAction::SendRts { send: pending.send });
        } else {
            pending.state = State::Waiting;
        }
        self.pending.push(pending);
    }

    fn begin_eager(&mut self, mut pending: Pending, out: &mut Vec<SendAction>) {
        let is_synchronous = pending.kind == Kind::EagerSynchronous;
        let send = pending.send;
        let stale = self.config.columns().stale;
        let met = match stale {
            Stale::Acks => self.take_offer(&pending).is_some(),
            Stale::Counter | Stale::Ticket => self.take_offer(&pending).is_some(),
            Stale::Claim | Stale::Log | Stale::Assumed => false,
        };
        out.push(SendAction::SendEager {
            send,
            is_synchronous: is_synchronous && !met,
        });
        if !is_synchronous || met {
            out.push(SendAction::Complete { send });
        }
        let is_kept = match stale {
            Stale::Acks => !met && !self.config.has(Flaw::EagerForgotten),
            _ => !met && is_synchronous,
        };
        if is_kept {
            pending.state = State::Sent;
            self.pending.push(pending);
        }
    }

    /// Takes the stored RTR that a send meets; drops those that can meet none any more.
    fn take_offer(&mut self, pending: &Pending) -> Option<Offer> {
        let fits = |offer: &Offer| offer.key.accepts(pending.key);
        let at = if self.config.counts() && !self.config.has(Flaw::EagerForgotten) {
            self.offers
                .retain(|offer| !fits(offer) || offer.number >= pending.number);
            let same = |offer: &Offer| fits(offer) && offer.number == pending.number;
            self.offers.iter().position(same)
        } else {
            self.offers.iter().position(fits)
        };
        at.map(|at| self.offers.remove(at))
    }

    /// Claims the oldest RTR of a send's key, or sends the RTS.
    fn try_offers(&mut self, at: usize, out: &mut Vec<SendAction>) {
        let Pending { send, key, .. } = self.pending[at];
        let next = self.offers.iter().find(|offer| offer.key == key);
        if let Some(&Offer { receive, .. }) = next {
            self.pending[at].state = State::Claiming {
                receive,
                rts_sent: false,
            };
            out.push(SendAction::Claim { send, receive });
        } else {
            self.pending[at].state = State::Open;
            out.push(SendAction::SendRts { send });
        }
    }

    fn rtr(&mut self, mut offer: Offer, is_blocked: bool, out: &mut Vec<SendAction>) {
        match self.config.columns().stale {
            Stale::Claim => return self.rtr_to_claim(offer, is_blocked, out),
            Stale::Log => return self.rtr_to_store(offer, is_blocked, out),
            Stale::Counter => {
                let counts = self.counts.entry(offer.key).or_default();
                offer.number += counts.told;
                counts.told = offer.number + 1;
            }
            Stale::Acks | Stale::Ticket | Stale::Assumed => {}
        }
        let by_number = self.config.counts() && !self.config.has(Flaw::EagerForgotten);
        let meets = |one: &Pending| {
            offer.key.accepts(one.key)
                && matches!(one.state, State::Open | State::Waiting | State::Sent)
                && (!by_number || one.number == offer.number)
        };
        if let Some(at) = self.pending.iter().position(meets) {
            match self.pending[at].state {
                State::Open => self.write(at, offer, true, false, out),
                State::Waiting => self.write(at, offer, false, false, out),
                _ => self.clear(at, out),
            }
            return;
        }
        let is_held = |one: &Pending| {
            matches!(one.state, State::Held { .. })
                && one.key == offer.key
                && one.number == offer.number
        };
        let is_stale = by_number
            && offer.number < self.counts.get(&offer.key).map_or(0, |one| one.sent)
            && !self.pending.iter().any(is_held);
        if !is_stale {
            self.offers.push(offer);
        }
    }

    fn rtr_to_claim(&mut self, offer: Offer, is_blocked: bool, out: &mut Vec<SendAction>) {
        if self.is_full() {
            return out.push(SendAction::Fault {
                reason: "offered more receives than this process takes",
            });
        }
        self.offers.push(offer);
        let is_open = |one: &Pending| one.key == offer.key && one.state == State::Open;
        let Some(at) = self.pending.iter().position(is_open) else {
            return;
        };
        if is_blocked && !self.config.has(Flaw::ScanLeftOut) {
            if !self.config.has(Flaw::OpenStaysOpen) {
                let open = self.pending.iter_mut().filter(|one| is_open(one));
                open.for_each(|one| one.state = State::Closed);
            }
            return;
        }
        let (send, receive) = (self.pending[at].send, offer.receive);
        self.pending[at].state = State::Claiming {
            receive,
            rts_sent: true,
        };
        out.push(SendAction::Claim { send, receive });
    }

    fn claimed(&mut self, send: SendId, is_won: bool, in_parts: bool, out: &mut Vec<SendAction>) {
        let Some(at) = self.find(send) else {
            return;
        };
        let State::Claiming { receive, rts_sent } = self.pending[at].state else {
            return;
        };
        let Some(index) = self
            .offers
            .iter()
            .position(|offer| offer.receive == receive)
        else {
            return;
        };
        let offer = self.offers.remove(index);
        if is_won {
            self.write(at, offer, rts_sent, in_parts, out);
        } else if !rts_sent {
            self.try_offers(at, out);
        } else if self.config.has(Flaw::LostStaysOpen) {
            self.pending[at].state = State::Open;
        } else {
            self.pending[at].state = State::Closed;
        }
    }

    /// Writes into an offered receive.
    pub(super) fn write(
        &mut self,
        at: usize,
        offer: Offer,
        rts_sent: bool,
        in_parts: bool,
        out: &mut Vec<SendAction>,
    ) {
        let Pending { send, bytes, .. } = self.pending[at];
        let receive = offer.receive;
        let columns = self.config.columns();
        let is_told = !rts_sent
            && columns.announce == Announce::Cell
            && (in_parts
                || !self.config.fabric.ordered
                || !matches!(columns.stale, Stale::Claim | Stale::Log));
        self.pending[at].state = State::Writing {
            receive,
            rts_sent,
            is_told,
        };
        if is_told {
            out.push(SendAction::SendTaken {
                send,
                receive,
                bytes,
            });
        }
        out.push(SendAction::Write {
            send,
            receive,
            bytes: self.fitting(bytes, offer.capacity),
            rts_sent,
        });
    }

    fn fitting(&self, bytes: u64, capacity: u64) -> u64 {
        if self.config.has(Flaw::CapacityIgnored) {
            bytes
        } else {
            bytes.min(capacity)
        }
    }

    fn written(&mut self, send: SendId, out: &mut Vec<SendAction>) {
        let Some(at) = self.find(send) else {
            return;
        };
        let bytes = self.pending[at].bytes;
        let State::Writing { receive, .. } = self.pending[at].state else {
            return;
        };
        if self.config.columns().data == Data::Read {
            // An agent wrote: the receiver's FIN completes the send.
            self.pending[at].state = State::Closed;
            return;
        }
        if self.config.fabric.ordered {
            out.push(SendAction::SendLanded {
                send,
                receive,
                bytes,
            });
        }
        self.pending.remove(at);
        out.push(SendAction::Complete { send });
        self.release(out);
    }

    /// Starts the sends that waited for a silent write, up to the next such write.
    fn release(&mut self, out: &mut Vec<SendAction>) {
        let is_held = |one: &Pending| matches!(one.state, State::Held { .. });
        while !self.pending.iter().any(is_silent)
            && let Some(at) = self.pending.iter().position(is_held)
        {
            let pending = self.pending.remove(at);
            if let State::Held { is_blocked } = pending.state {
                self.begin(pending, is_blocked, out);
            }
        }
    }

    fn refused(&mut self, send: SendId, out: &mut Vec<SendAction>) {
        let Some(at) = self.find(send) else {
            return;
        };
        let State::Writing {
            receive,
            rts_sent,
            is_told,
        } = self.pending[at].state
        else {
            return;
        };
        if !rts_sent && self.config.columns().stale == Stale::Log {
            // The receive waits for a message of any kind, this one's RTS included.
            self.pending[at].state = State::Closed;
            return out.push(SendAction::SendRts { send });
        }
        if !rts_sent && !is_told {
            out.push(SendAction::SendTaken {
                send,
                receive,
                bytes: self.pending[at].bytes,
            });
        }
        self.pending[at].state = State::Pushing;
        out.push(SendAction::Push { send, receive });
    }

    fn cts(&mut self, send: SendId, receive: ReceiveId, capacity: u64, out: &mut Vec<SendAction>) {
        let waits = |one: &Pending| matches!(one.state, State::Open | State::Closed);
        let Some(at) = self.find(send).filter(|&at| waits(&self.pending[at])) else {
            return out.push(SendAction::Fault {
                reason: "requested a message that was not offered",
            });
        };
        let Pending {
            key, number, bytes, ..
        } = self.pending[at];
        if self.config.columns().stale == Stale::Counter {
            let counts = self.counts.entry(key).or_default();
            counts.told = counts.told.max(number + 1);
        }
        if !self.config.writes_on_cts() {
            self.pending[at].state = State::Pushing;
            return out.push(SendAction::Push { send, receive });
        }
        self.pending[at].state = State::Writing {
            receive,
            rts_sent: true,
            is_told: true,
        };
        out.push(SendAction::Write {
            send,
            receive,
            bytes: self.fitting(bytes, capacity),
            rts_sent: true,
        });
    }

    fn fin(&mut self, send: SendId, out: &mut Vec<SendAction>) {
        match self.find(send).map(|at| (at, self.pending[at].state)) {
            Some((at, State::Open | State::Closed | State::Sent)) => self.clear(at, out),
            // The agent's write has reached the receiver before the agent knows it.
            Some((at, State::Writing { .. })) if self.config.columns().data == Data::Read => {
                self.clear(at, out);
            }
            _ => out.push(SendAction::Fault {
                reason: "acknowledged a message that was not sent",
            }),
        }
    }

    /// Forgets a send that the receiver has, and completes it unless it is complete.
    fn clear(&mut self, at: usize, out: &mut Vec<SendAction>) {
        let one = self.pending.remove(at);
        if one.kind != Kind::Eager {
            out.push(SendAction::Complete { send: one.send });
        }
    }

    fn finish(&mut self, send: SendId, out: &mut Vec<SendAction>) {
        if let Some(at) = self.find(send) {
            self.pending.remove(at);
            out.push(SendAction::Complete { send });
        }
    }
}

/// Whether a send writes into a receive that nothing else tells of it.
fn is_silent(one: &Pending) -> bool {
    matches!(
        one.state,
        State::Writing {
            rts_sent: false,
            ..
        }
    )
}
