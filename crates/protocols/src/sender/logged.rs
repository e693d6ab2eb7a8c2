// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender does where its log decides which message an RTR is for ([`Stale::Log`](crate::Stale::Log)).

use super::event::{Offer, SendAction};
use super::side::{Pending, SendSide, State};
use crate::flaw::Flaw;
use crate::names::{Key, SendId};

impl SendSide {
    /// How many cells the receiver had consumed when it made the stored RTR of a key ([`Stale::Log`](crate::Stale::Log)).
    pub fn offered_at(&self, key: Key) -> Option<u64> {
        let same = |offer: &&Offer| offer.key == key;
        self.offers.iter().find(same).map(|offer| offer.number)
    }

    /// Starts a long send where the log decides. Whatever becomes of it, the stored RTR of its key is used up: the receive gets this
    /// message, or one before it.
    pub(super) fn begin_logged(
        &mut self,
        mut pending: Pending,
        is_blocked: bool,
        out: &mut Vec<SendAction>,
    ) {
        let is_blocked = is_blocked && !self.config.has(Flaw::ScanLeftOut);
        let same = |offer: &Offer| offer.key == pending.key;
        let stored = self.offers.iter().position(same);
        let offer = stored.map(|at| self.offers.remove(at));
        let send = pending.send;
        pending.state = match self.config.has(Flaw::CrossingAwaited) {
            true => State::Open,
            false => State::Closed,
        };
        self.pending.push(pending);
        match offer.filter(|_| !is_blocked) {
            Some(offer) => self.write(self.pending.len() - 1, offer, false, false, out),
            None => out.push(SendAction::SendRts { send }),
        }
    }

    /// Stores an RTR. An older one of its key has a receive that a message has met since.
    pub(super) fn rtr_to_store(
        &mut self,
        offer: Offer,
        is_blocked: bool,
        out: &mut Vec<SendAction>,
    ) {
        if self.config.has(Flaw::CrossingAwaited) {
            return self.rtr_to_cross(offer, is_blocked, out);
        }
        self.offers.retain(|one| one.key != offer.key);
        if self.offers.len() >= self.config.offers_per_peer {
            self.offers.remove(0);
        }
        self.offers.push(offer);
    }

    /// The wrong rule that an RTR serves an open RTS between nodes, too.
    fn rtr_to_cross(&mut self, offer: Offer, is_blocked: bool, out: &mut Vec<SendAction>) {
        let is_open = |one: &Pending| one.key == offer.key && one.state == State::Open;
        match self.pending.iter().position(is_open) {
            Some(at) if !is_blocked => self.write(at, offer, true, false, out),
            _ => {
                let open = self.pending.iter_mut().filter(|one| is_open(one));
                open.for_each(|one| one.state = State::Closed);
                self.offers.push(offer);
            }
        }
    }

    /// Tells the receiver of a write that goes on, unless it knows.
    pub(super) fn begun(&mut self, send: SendId, out: &mut Vec<SendAction>) {
        let Some(at) = self.find(send) else {
            return;
        };
        let Pending { bytes, state, .. } = &mut self.pending[at];
        if let State::Writing {
            receive,
            rts_sent: false,
            is_told: is_told @ false,
        } = state
            && !self.config.has(Flaw::TakenLeftOut)
        {
            *is_told = true;
            out.push(SendAction::SendTaken {
                send,
                receive: *receive,
                bytes: *bytes,
            });
        }
    }
}
