// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's side of offers between nodes: for each receiver there that has offered memory, the state machine that decides
//! ([`SendSide`]), and the memory.

use fabric::transport::Opening;
use protocols::{
    Config, Fabric, Key as PairKey, Kind, Offer, ReceiveId, SendAction, SendEvent, SendId,
    SendSide, Variant,
};

use crate::identity::LinkIndex;

/// The receivers on other nodes that have offered memory to a VCI.
#[derive(Default)]
pub(crate) struct Stored {
    /// In the order of the receivers.
    receivers: Vec<StoredOf>,
}

/// The offers of one receiver.
pub(crate) struct StoredOf {
    receiver: LinkIndex,
    rules: SendSide,
    /// The memory of the offers that the state machine has.
    memory: Vec<(ReceiveId, Opening)>,
}

/// A put into an offered receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PutTo {
    /// Id of the receive.
    pub(crate) receive: u64,
    pub(crate) memory: Opening,
    /// Bytes of the message that the receive holds.
    pub(crate) bytes: u64,
}

impl Stored {
    /// The offers of a receiver that has made some.
    #[inline]
    pub(crate) fn of(&mut self, receiver: LinkIndex) -> Option<&mut StoredOf> {
        if self.receivers.is_empty() {
            return None;
        }
        let place = self.place(receiver).ok()?;
        Some(&mut self.receivers[place])
    }

    /// The offers of a receiver.
    pub(crate) fn obtain(&mut self, receiver: LinkIndex) -> &mut StoredOf {
        let place = self.place(receiver).unwrap_or_else(|place| {
            let config = Config::new(Variant::WriteLog, Fabric::NODES);
            let stored = StoredOf {
                receiver,
                rules: SendSide::new(config),
                memory: Vec::new(),
            };
            self.receivers.insert(place, stored);
            place
        });
        &mut self.receivers[place]
    }

    fn place(&self, receiver: LinkIndex) -> Result<usize, usize> {
        self.receivers
            .binary_search_by_key(&receiver, |one| one.receiver)
    }
}

impl StoredOf {
    /// Takes an offer in.
    pub(crate) fn add(&mut self, offer: Offer, memory: Opening) {
        let is_blocked = false;
        self.handle(SendEvent::Rtr { offer, is_blocked });
        let (rules, receive) = (&self.rules, offer.receive);
        let is_stored = |named: ReceiveId| rules.offers().iter().any(|it| it.receive == named);
        self.memory
            .retain(|&(named, _)| named != receive && is_stored(named));
        self.memory.push((receive, memory));
    }

    /// How many cells of this rank the receiver had consumed when it made the offer of a match word, if it has made one.
    pub(crate) fn offered_at(&self, word: u64) -> Option<u64> {
        self.rules.offered_at(PairKey(word))
    }

    /// Forgets the offer of a match word.
    pub(crate) fn forget(&mut self, word: u64) {
        self.rules.retain_offers(|offer| offer.key != PairKey(word));
    }

    /// Begins a send of so many bytes, which may be put into the receive that the offer of its match word is for.
    pub(crate) fn begin(&mut self, send: u64, word: u64, bytes: u64) -> Option<PutTo> {
        let actions = self.handle(SendEvent::Posted {
            send: SendId(send),
            key: PairKey(word),
            bytes,
            kind: Kind::Long,
            is_blocked: false,
        });
        let found = actions.iter().find_map(|action| match *action {
            SendAction::Write { receive, bytes, .. } => Some((receive, bytes)),
            _ => None,
        });
        let (receive, bytes) = found?;
        let (_, memory) = *self.memory.iter().find(|(named, _)| *named == receive)?;
        Some(PutTo {
            receive: receive.0,
            memory,
            bytes,
        })
    }

    /// Whether a send has begun by an offer and not ended.
    pub(crate) fn knows(&self, send: u64) -> bool {
        self.rules.knows(SendId(send))
    }

    /// Has the state machine handle an event; what follows from it.
    pub(crate) fn handle(&mut self, event: SendEvent) -> Vec<SendAction> {
        let mut actions = Vec::new();
        self.rules.handle(event, &mut actions);
        actions
    }
}

#[cfg(test)]
impl StoredOf {
    /// The cells that the receiver had consumed when it made the stored offers.
    pub(crate) fn moments(&self) -> Vec<u64> {
        let offers = self.rules.offers().iter();
        offers.map(|offer| offer.number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Opening = Opening {
        address: 4096,
        key: 7,
    };

    fn offer(receive: u64, word: u64, consumed: u64) -> Offer {
        Offer {
            receive: ReceiveId(receive),
            key: PairKey(word),
            capacity: 1000,
            number: consumed,
        }
    }

    #[test]
    fn the_newest_offer_of_a_match_word_is_put_to_once() {
        let mut stored = Stored::default();
        let peer = LinkIndex::new(3);
        assert!(stored.of(peer).is_none());
        let known = stored.obtain(peer);
        known.add(offer(1, 5, 10), Opening { key: 6, ..MEMORY });
        known.add(offer(2, 5, 12), MEMORY);
        assert_eq!(known.offered_at(5), Some(12));
        let put = known.begin(9, 5, 4000);
        let expected = PutTo {
            receive: 2,
            memory: MEMORY,
            bytes: 1000,
        };
        assert_eq!(put, Some(expected));
        assert!(known.knows(9) && known.offered_at(5).is_none());
        let ended = known.handle(SendEvent::Written { send: SendId(9) });
        assert!(matches!(ended[0], SendAction::SendLanded { .. }));
        assert!(!known.knows(9));
    }

    #[test]
    fn as_many_offers_are_kept_as_a_receiver_may_make_and_the_newest_of_them() {
        let mut stored = Stored::default();
        let known = stored.obtain(LinkIndex::new(0));
        for number in 0..1000 {
            known.add(offer(number, number, 0), MEMORY);
            assert!(known.memory.len() <= Config::OFFERS_PER_PEER);
            assert_eq!(known.offered_at(number), Some(0));
        }
        known.forget(999);
        assert_eq!(known.offered_at(999), None);
    }
}
