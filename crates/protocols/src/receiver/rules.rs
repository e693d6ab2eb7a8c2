// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which receives may be offered, and which may meet a message.

use super::event::PostedReceive;
use super::side::{Entry, ReceiveSide, State};
use crate::flaw::Flaw;
use crate::names::{Key, ReceiveId, Source};
use crate::variant::{Announce, Offers, Stale};

impl ReceiveSide {
    /// Whether a receive in the queue may be offered (or, where receives are numbered, draw its number), given those that were
    /// posted before it and are still in the queue.
    pub fn may_offer(
        &self,
        earlier: impl IntoIterator<Item = PostedReceive>,
        candidate: PostedReceive,
    ) -> bool {
        let columns = self.config.columns();
        let Some(source) = candidate.source else {
            return false;
        };
        let stale = columns.stale;
        let is_exact = candidate.key.tag() != Key::ANY_TAG;
        match (columns.offers, stale) {
            (Offers::None, _) => return false,
            (_, Stale::Assumed) => return candidate.is_long,
            (_, Stale::Claim | Stale::Log) if !is_exact || !candidate.is_long => return false,
            (_, Stale::Claim | Stale::Log)
                if !self.has_room(source) && !self.config.has(Flaw::OffersUnbounded) =>
            {
                return false;
            }
            (_, Stale::Counter | Stale::Ticket) if !is_exact => return false,
            _ => {}
        }
        if self.is_answering(source, candidate.key) && !self.config.has(Flaw::OfferedBeforeAnswer) {
            return false;
        }
        !earlier
            .into_iter()
            .any(|before| self.blocks(before, source, candidate.key))
    }

    /// Whether an earlier receive keeps a later one of a source and key from being offered.
    fn blocks(&self, before: PostedReceive, source: Source, key: Key) -> bool {
        let overlaps = (before.source.is_none() || before.source == Some(source))
            && before.key.context() == key.context()
            && (before.key.accepts(key) || key.accepts(before.key));
        let is_wild = before.source.is_none() || before.key.tag() == Key::ANY_TAG;
        if !overlaps
            || (is_wild && self.config.has(Flaw::WildcardOvertaken))
            || (!is_wild && self.config.has(Flaw::SuspensionLiftedEarly))
        {
            return false;
        }
        match self.config.columns().stale {
            Stale::Claim => !self.is_offered(before.receive),
            // The sender finds out which message an offer is for only if its receive is the first one of the key.
            Stale::Log => {
                let is_several =
                    self.config.has(Flaw::SeveralOffers) || self.config.has(Flaw::CrossingAwaited);
                !(is_several && self.is_offered(before.receive))
            }
            _ => self.find(before.receive).is_none(),
        }
    }

    /// Whether a message of a sender and key was matched and its answer has not left.
    fn is_answering(&self, source: Source, key: Key) -> bool {
        let is_read = |entry: &Entry| {
            entry.source == source
                && entry.key == key
                && matches!(entry.state, State::Reading { .. })
        };
        self.entries.iter().any(is_read)
    }

    /// Whether a sender may get another RTR.
    pub fn has_room(&self, source: Source) -> bool {
        let live = |entry: &&Entry| entry.source == source && entry.is_live;
        self.entries.iter().filter(live).count() < self.config.offers_per_peer
    }

    /// Whether a receive's RTR is out, and no message has met it.
    pub fn is_offered(&self, receive: ReceiveId) -> bool {
        let waits = |at: usize| {
            matches!(
                self.entries[at].state,
                State::Offered | State::Notified { .. }
            )
        };
        self.find(receive).is_some_and(waits)
    }

    /// Whether a receive was reported and has not ended.
    pub fn knows(&self, receive: ReceiveId) -> bool {
        self.find(receive).is_some()
    }

    /// Whether a receive in the queue may meet an RTS or an eager message. `notified` is what the notification behind its data says
    /// in memory, if there is one: whether an RTS for it is on its way.
    pub fn is_available(&self, receive: ReceiveId, notified: Option<bool>, is_eager: bool) -> bool {
        let columns = self.config.columns();
        let flaw = if is_eager {
            Flaw::EagerTakesCompleted
        } else {
            Flaw::RtsTakesCompleted
        };
        match columns.announce {
            Announce::Cell => true,
            // Eager messages and offered receives are worlds apart.
            Announce::Notification if columns.stale == Stale::Assumed => {
                self.find(receive).is_none()
            }
            Announce::Notification => match notified {
                None => true,
                Some(rts_sent) => (rts_sent && !is_eager) || self.config.has(flaw),
            },
        }
    }

    /// Whether no receive is known here.
    pub fn is_idle(&self) -> bool {
        self.entries.is_empty()
    }
}
