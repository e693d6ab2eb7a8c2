// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sender's side: for each receiver that has offered memory, the state machine that decides ([`SendSide`]), and what it needs no names
//! for: where the memory is, and where in the ring announced messages are.

use fabric::claim::{ClaimTable, MOST_OFFERS, OfferNumber};
use protocols::{
    Config, Fabric, Key as PairKey, Offer, ReceiveId, SendAction, SendEvent, SendId, SendSide,
    Variant,
};

use crate::identity::LinkIndex;
use crate::request::RequestId;

/// The receivers that have offered memory to a VCI.
#[derive(Default)]
pub(crate) struct Known {
    /// In the order of the receivers.
    receivers: Vec<OffersOf>,
}

/// The offers of one receiver.
pub(crate) struct OffersOf {
    receiver: LinkIndex,
    rules: SendSide,
    /// By claim word: a newer offer of the same word replaces one that is gone.
    places: [Option<Landing>; MOST_OFFERS],
    /// Sends of which the state machine knows, and the cells before their RTS, if they have sent one.
    sends: Vec<(RequestId, Option<u64>)>,
    /// Cells of this rank that the receiver is known to have consumed.
    pub(crate) consumed: u64,
}

/// Memory that a receiver offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    /// Id of the receive.
    pub(crate) receive: u64,
    /// Where the memory is.
    pub(crate) place: Place,
    /// The claim word.
    pub(crate) claims: ClaimTable,
    pub(crate) slot: usize,
    pub(crate) number: OfferNumber,
}

/// Where offered memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At this offset of the node segment.
    Segment(u64),
    /// At this address of the receiver's private memory; the second one is that of its proof.
    Private(u64, u64),
}

impl Landing {
    /// The name of the offer. The id of a persistent receive is the same each time that it starts, its offers are not.
    const fn name(&self) -> ReceiveId {
        ReceiveId((self.number.0 as u64) << 8 | self.slot as u64)
    }

    /// Claims the memory; false when the receiver has taken the offer back.
    #[must_use]
    pub(crate) fn claim(&self) -> bool {
        self.claims.word(self.slot).claim(self.number)
    }
}

impl Known {
    /// The offers of a receiver that has made some.
    #[inline]
    pub(crate) fn of(&mut self, receiver: LinkIndex) -> Option<&mut OffersOf> {
        if self.receivers.is_empty() {
            return None;
        }
        let place = self.place(receiver).ok()?;
        Some(&mut self.receivers[place])
    }

    fn place(&self, receiver: LinkIndex) -> Result<usize, usize> {
        self.receivers
            .binary_search_by_key(&receiver, |one| one.receiver)
    }

    /// The offers of a receiver.
    pub(crate) fn obtain(&mut self, receiver: LinkIndex) -> &mut OffersOf {
        let place = self.place(receiver).unwrap_or_else(|place| {
            let config = Config::new(Variant::Write, Fabric::RINGS).with_offers(MOST_OFFERS);
            let offers = OffersOf {
                receiver,
                rules: SendSide::new(config),
                places: [None; MOST_OFFERS],
                sends: Vec::new(),
                consumed: 0,
            };
            self.receivers.insert(place, offers);
            place
        });
        &mut self.receivers[place]
    }
}

#[cfg(test)]
impl Known {
    /// The receive of some offer that was made.
    pub(crate) fn first_receive(&self) -> u64 {
        let mut places = self.receivers.iter().flat_map(|one| &one.places);
        let landing = places.find_map(|place| *place);
        landing.map_or(0, |landing| landing.receive)
    }
}

impl OffersOf {
    /// Has the state machine handle an event.
    pub(crate) fn handle(&mut self, event: SendEvent, actions: &mut Vec<SendAction>) {
        self.rules.handle(event, actions);
    }

    /// Forgets offers that their receiver has taken back, and says whether one of this match word is left.
    pub(crate) fn has_offer(&mut self, word: u64) -> bool {
        let places = &self.places;
        self.rules.retain_offers(|offer| {
            let known = find(places, offer.receive);
            known.is_some_and(|it| it.claims.word(it.slot).is_offered(it.number))
        });
        self.rules.has_offer(PairKey(word))
    }

    /// Takes an offer in; the state machine handles it with the result.
    pub(crate) fn add(&mut self, word: u64, capacity: u64, landing: Landing) -> Offer {
        // Drops the last offer of the same claim word, which is gone.
        self.has_offer(word);
        self.places[landing.slot] = Some(landing);
        Offer {
            receive: landing.name(),
            key: PairKey(word),
            capacity,
            number: 0,
        }
    }

    /// The memory of an offer.
    pub(crate) fn landing(&self, receive: ReceiveId) -> Option<Landing> {
        find(&self.places, receive)
    }

    /// The state machine knows of a send from now on.
    pub(crate) fn track(&mut self, send: RequestId) {
        self.sends.push((send, None));
    }

    /// A send of which the state machine knows announces itself behind so many cells.
    pub(crate) fn note_rts(&mut self, send: RequestId, position: u64) {
        if let Some(known) = self.sends.iter_mut().find(|known| known.0 == send) {
            known.1 = Some(position);
        }
    }

    /// Cells before the RTS of the oldest send of a match word that an offer may meet.
    pub(crate) fn oldest_open(&self, word: u64) -> Option<u64> {
        let SendId(open) = self.rules.oldest_open(PairKey(word))?;
        let mut sends = self.sends.iter();
        sends
            .find(|known| known.0.0 == open)
            .and_then(|known| known.1)
    }

    /// Whether the state machine knows of a send.
    pub(crate) fn knows(&self, send: RequestId) -> bool {
        self.sends.iter().any(|known| known.0 == send)
    }

    /// The receiver has answered a send: it has consumed its RTS, and all cells before.
    pub(crate) fn note_answer(&mut self, send: RequestId) {
        let known = self.sends.iter().find(|known| known.0 == send);
        if let Some(position) = known.and_then(|known| known.1) {
            self.consumed = self.consumed.max(position + 1);
        }
    }

    /// The state machine knows a send no longer.
    pub(crate) fn forget(&mut self, send: RequestId) {
        self.sends.retain(|known| known.0 != send);
    }
}

/// The memory of an offer.
fn find(places: &[Option<Landing>; MOST_OFFERS], receive: ReceiveId) -> Option<Landing> {
    let slot = (receive.0 & 0xff) as usize;
    let landing = (*places.get(slot)?)?;
    (landing.name() == receive).then_some(landing)
}
