// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold when a job can take no step any more.

use super::world::{Buffer, ClaimState, ClaimWord, Link, Progress, Receiver, World};
use crate::flaw::Flaw;
use crate::names::{ReceiveId, SendId};
use crate::sender::Kind;
use crate::variant::Stale;

impl World {
    /// What is wrong at the end: the match order, an operation that hangs, something that is stored.
    pub fn wrong_at_end(&self) -> Option<String> {
        self.violation.clone().or_else(|| {
            let mut receivers = self.receivers.iter();
            let ordered = receivers.find_map(|receiver| self.wrong_order(receiver));
            ordered.or_else(|| self.hanging()).or_else(|| self.stored())
        })
    }

    /// Receives of a rank in the order of their posts, and the message of each.
    fn wrong_order(&self, receiver: &Receiver) -> Option<String> {
        let buffers = &receiver.buffers;
        if self.dead == Some(receiver.rank) {
            return None;
        }
        for (at, later) in buffers.iter().enumerate() {
            let Some((link, send)) = later.content else {
                continue;
            };
            if !accepts(later, &self.links[link], send) {
                return Some(format!(
                    "receive {at} got send {} of rank {}, which it does not match",
                    send.0, self.links[link].from
                ));
            }
            for (before, earlier) in buffers[..at].iter().enumerate() {
                if accepts(earlier, &self.links[link], send)
                    && !got_earlier(earlier, link, send)
                    && matches!(earlier.progress, Progress::Pending | Progress::Complete)
                {
                    return Some(format!(
                        "receive {at} got send {}, which receive {before} should have got",
                        send.0
                    ));
                }
            }
            for other in (0..send.0).map(SendId) {
                let taken = |one: &Buffer| one.content == Some((link, other));
                if accepts(later, &self.links[link], other)
                    && !buffers.iter().any(taken)
                    && self.dead.is_none()
                {
                    return Some(format!(
                        "receive {at} got send {}, which overtook send {}",
                        send.0, other.0
                    ));
                }
            }
        }
        None
    }

    /// An operation that waits although its counterpart is there.
    fn hanging(&self) -> Option<String> {
        for receiver in &self.receivers {
            if self.dead == Some(receiver.rank) {
                continue;
            }
            for buffer in &receiver.buffers {
                if let Some(text) = self.hanging_receive(receiver, buffer) {
                    return Some(text);
                }
            }
        }
        for (index, link) in self.links.iter().enumerate() {
            if self.dead == Some(link.from) {
                continue;
            }
            for (at, record) in link.sends.iter().enumerate() {
                let send = SendId(at as u64);
                let is_matched = self.dead == Some(link.to) || self.is_received(index, send);
                if record.progress == Progress::Pending && is_matched {
                    return Some(format!("send {at} of rank {} hangs", link.from));
                }
            }
        }
        None
    }

    fn hanging_receive(&self, receiver: &Receiver, buffer: &Buffer) -> Option<String> {
        if buffer.progress != Progress::Pending {
            return None;
        }
        let id = buffer.posted.receive.0;
        if buffer.content.is_some() {
            return Some(format!("receive {id} hangs, and its data are there"));
        }
        for (index, link) in self.links.iter().enumerate() {
            if link.to != receiver.rank {
                continue;
            }
            if self.dead == Some(link.from) {
                let is_named = buffer.posted.source.is_some();
                if is_named && buffer.posted.source == Some(self.source(index)) {
                    return Some(format!("receive {id} waits for a rank that died"));
                }
                continue;
            }
            for at in 0..link.sends.len() as u64 {
                if accepts(buffer, link, SendId(at)) && !self.is_received(index, SendId(at)) {
                    return Some(format!("receive {id} and send {at} wait for each other"));
                }
            }
        }
        None
    }

    fn is_received(&self, link: usize, send: SendId) -> bool {
        let buffers = &self.receivers[self.end(link)].buffers;
        buffers.iter().any(|one| one.content == Some((link, send)))
    }

    /// Something that is kept although every operation has ended.
    fn stored(&self) -> Option<String> {
        let waits = |progress: Progress| progress == Progress::Pending;
        let mut sends = self.links.iter().flat_map(|link| &link.sends);
        let mut buffers = self.receivers.iter().flat_map(|one| &one.buffers);
        let is_open = sends.any(|one| waits(one.progress) || self.is_unreceived_eager())
            || buffers.any(|one| waits(one.progress));
        if self.dead.is_some() || is_open {
            return None;
        }
        let gives_away = self.config.has(Flaw::DeliveredWithoutClaim)
            || self.config.has(Flaw::ServedWithoutClaim);
        for link in &self.links {
            let is_revoked = |receive: ReceiveId| {
                let claim = link.stored.iter().find(|(named, _)| *named == receive);
                claim.is_some_and(|(_, claim)| {
                    let word = link.claims[claim.index];
                    word.state != ClaimState::Offered
                        || word.generation != claim.generation
                        || gives_away
                })
            };
            let stale = self.config.columns().stale;
            let is_claim = stale == Stale::Claim;
            let mut offers = link.side.offers().iter();
            // What the log decides on needs no sweep: an RTR whose receive is gone is found void, or replaced.
            let is_kept =
                stale != Stale::Log && offers.any(|offer| !is_claim || !is_revoked(offer.receive));
            if is_kept || !link.side.is_idle() {
                return Some(format!(
                    "rank {} keeps something: {:?}",
                    link.from, link.side
                ));
            }
            let is_used = |word: &ClaimWord| word.state != ClaimState::Free;
            if link.claims.iter().any(is_used) && !gives_away {
                return Some("a claim word is in use".to_owned());
            }
        }
        for receiver in &self.receivers {
            if receiver.buffers.iter().any(|one| one.region.is_some()) {
                return Some(format!("rank {} leaves memory open", receiver.rank));
            }
            if !receiver.side.is_idle()
                || !receiver.posted.is_empty()
                || !receiver.unexpected.is_empty()
                || !receiver.notifications.is_empty()
            {
                return Some(format!(
                    "rank {} keeps something: {receiver:?}",
                    receiver.rank
                ));
            }
        }
        None
    }

    /// Whether an eager message, whose send is complete, waits for a receive that was never posted.
    fn is_unreceived_eager(&self) -> bool {
        self.links.iter().enumerate().any(|(index, link)| {
            let mut sends = link.sends.iter().enumerate();
            sends.any(|(at, record)| {
                record.kind == Kind::Eager && !self.is_received(index, SendId(at as u64))
            })
        })
    }
}

/// Whether a receive may get a message at all.
fn accepts(buffer: &Buffer, link: &Link, send: SendId) -> bool {
    let source = buffer.posted.source;
    let record = &link.sends[send.0 as usize];
    source.is_none_or(|source| source.0 == link.from) && buffer.posted.key.accepts(record.key)
}

/// Whether an earlier receive has a message that excuses it from another one: one of another sender, or one sent before.
fn got_earlier(buffer: &Buffer, link: usize, send: SendId) -> bool {
    let content = buffer.content;
    content.is_some_and(|(owner, got)| owner != link || got < send)
}
