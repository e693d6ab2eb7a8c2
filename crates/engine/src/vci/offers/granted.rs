// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiver's side: which receives are offered to which sender, and their claim words.
//!
//! The rules are those of [`ReceiveSide`], which knows the offered receives only; this drives it, and executes what concerns claim words.

use fabric::claim::{ClaimTable, MOST_OFFERS, OfferNumber};
use fabric::node::NodeHandle;
use protocols::{
    Config, Fabric, Key as PairKey, PostedReceive, ReceiveAction, ReceiveEvent, ReceiveId,
    ReceiveSide, SendId, Source, Variant,
};

use crate::identity::LinkIndex;
use crate::request::RequestEntry;
use crate::vci::matching::Key;

/// Bytes of the segment that are taken at once: claim words for many senders.
const PAGE_BYTES: u64 = 4096;

/// The offers of the receives of a VCI.
pub(crate) struct Granted {
    rules: ReceiveSide,
    /// Of the event that is handled.
    actions: Vec<ReceiveAction>,
    /// In the order of the senders.
    senders: Vec<GrantedTo>,
    /// Memory of the segment for the claim words of further senders.
    fresh: std::ops::Range<u64>,
    /// The rules of offers to senders on other nodes.
    far: ReceiveSide,
    /// Offers that were taken back, or whose receives got a message another way.
    pub(crate) withdrawn: u64,
}

/// The offers to one sender.
struct GrantedTo {
    sender: LinkIndex,
    claims: ClaimTable,
    /// One bit for each claim word in use.
    live: u16,
    numbers: [OfferNumber; MOST_OFFERS],
}

const _: () = assert!(MOST_OFFERS == u16::BITS as usize);

/// In place of a claim word: the sender is on another node.
const FAR: u64 = u64::MAX;

/// A new offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Which of the claim words.
    pub(crate) slot: usize,
    pub(crate) number: OfferNumber,
    /// Where the claim words are in the segment.
    pub(crate) table: u64,
}

/// The result of taking an offer back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reclaimed {
    /// The receive is not offered any longer.
    Free,
    /// The sender has claimed it, and will say when its data have landed.
    Claimed,
}

/// What a message that a sender has written, or writes, does to its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    /// The receive is in the queue, and matches now.
    Matches,
    /// It matched the RTS of the same message.
    Matched,
    /// The sender broke the protocol.
    Fault(&'static str),
}

/// The receive as the state machine names it.
const fn receive_of(entry: &RequestEntry) -> ReceiveId {
    ReceiveId(entry.id().0)
}

/// A key of the queue as the state machine has it: the peer apart.
pub(crate) fn posted(entry: &RequestEntry, key: Key) -> PostedReceive {
    PostedReceive {
        receive: receive_of(entry),
        source: (key.peer != LinkIndex::ANY).then(|| Source(key.peer.get())),
        key: PairKey(key.word),
        is_long: true,
    }
}

impl Granted {
    /// No offer yet, and at most so many to one sender.
    pub(crate) fn new(most: u64) -> Self {
        let most = usize::try_from(most).map_or(MOST_OFFERS, |most| most.min(MOST_OFFERS));
        let config = Config::new(Variant::Write, Fabric::RINGS).with_offers(most);
        let far = Config::new(Variant::WriteLog, Fabric::NODES).with_offers(most);
        Self {
            rules: ReceiveSide::new(config),
            far: ReceiveSide::new(far),
            actions: Vec::new(),
            senders: Vec::new(),
            fresh: 0..0,
            withdrawn: 0,
        }
    }

    /// Has the state machine handle an event; what follows from it is in `actions`.
    fn handle(&mut self, event: ReceiveEvent) {
        self.actions.clear();
        self.rules.handle(event, &mut self.actions);
    }

    /// Offers a receive to its sender, given those before it that may take the same message. `None` when it may not be offered, or there is
    /// no memory for claim words.
    pub(crate) fn grant(
        &mut self,
        node: &NodeHandle,
        entry: &RequestEntry,
        key: Key,
        earlier: impl IntoIterator<Item = PostedReceive>,
    ) -> Option<Grant> {
        let candidate = posted(entry, key);
        if !self.rules.may_offer(earlier, candidate) {
            return None;
        }
        let place = match self.place(key.peer) {
            Ok(place) => place,
            Err(place) => {
                let claims = self.new_table(node)?;
                let granted = GrantedTo {
                    sender: key.peer,
                    claims,
                    live: 0,
                    numbers: [OfferNumber(0); MOST_OFFERS],
                };
                self.senders.insert(place, granted);
                place
            }
        };
        let slot = self.senders[place].live.trailing_ones() as usize;
        if slot == MOST_OFFERS {
            return None;
        }
        self.handle(ReceiveEvent::Posted {
            receive: candidate.receive,
            source: Source(key.peer.get()),
            key: candidate.key,
            capacity: entry.record.bytes,
            is_long: true,
        });
        let is_sent = |action: &ReceiveAction| matches!(action, ReceiveAction::SendRtr { .. });
        if !self.actions.iter().any(is_sent) {
            return None;
        }
        let granted = &mut self.senders[place];
        let number = granted.claims.word(slot).offer();
        granted.live |= 1 << slot;
        granted.numbers[slot] = number;
        Some(Grant {
            slot,
            number,
            table: granted.claims.offset(),
        })
    }

    /// As [`Self::grant`], to a sender on another node. Returns the mark that such a receive has in place of a claim word.
    pub(crate) fn grant_far(
        &mut self,
        entry: &RequestEntry,
        key: Key,
        earlier: impl IntoIterator<Item = PostedReceive>,
    ) -> Option<u64> {
        let candidate = posted(entry, key);
        if !self.far.may_offer(earlier, candidate) {
            return None;
        }
        self.handle_far(ReceiveEvent::Posted {
            receive: candidate.receive,
            source: Source(key.peer.get()),
            key: candidate.key,
            capacity: entry.record.bytes,
            is_long: true,
        });
        let is_sent = |action: &ReceiveAction| matches!(action, ReceiveAction::SendRtr { .. });
        self.actions.iter().any(is_sent).then_some(FAR)
    }

    fn handle_far(&mut self, event: ReceiveEvent) {
        self.actions.clear();
        self.far.handle(event, &mut self.actions);
    }

    /// A message meets a receive that is offered to a sender on another node: the sender does not use the offer, or it would have put this
    /// message there. The rest is that of all receives.
    fn meet_far(&mut self, event: ReceiveEvent, receive: ReceiveId) -> Reclaimed {
        self.handle_far(event);
        self.handle_far(ReceiveEvent::ChunksDone { receive });
        self.withdrawn += 1;
        Reclaimed::Free
    }

    /// Takes an offered receive back for an eager message that it matches.
    pub(crate) fn meet_eager(&mut self, entry: &RequestEntry, key: Key) -> Reclaimed {
        let (receive, source) = (receive_of(entry), Source(key.peer.get()));
        let event = ReceiveEvent::Eager {
            receive,
            source,
            send: SendId(0),
            key: PairKey(key.word),
            bytes: 0,
            is_synchronous: false,
        };
        if entry.receive().claim == FAR {
            return self.meet_far(event, receive);
        }
        self.handle(event);
        self.revoke(entry)
    }

    /// The same for an announced message of so many bytes. A receive that is free has to be served, and then [`Self::served`] to be called.
    pub(crate) fn meet_announced(
        &mut self,
        entry: &RequestEntry,
        key: Key,
        [bytes, sender]: [u64; 2],
    ) -> Reclaimed {
        let event = ReceiveEvent::Rts {
            receive: receive_of(entry),
            capacity: entry.record.bytes,
            source: Source(key.peer.get()),
            send: SendId(sender),
            key: PairKey(key.word),
            bytes,
        };
        if entry.receive().claim == FAR {
            return self.meet_far(event, receive_of(entry));
        }
        self.handle(event);
        let reclaimed = self.revoke(entry);
        if reclaimed == Reclaimed::Claimed {
            // The sender does not read the claim word again.
            let _ = self.end(entry.record.peer, entry.receive().claim as usize);
        }
        reclaimed
    }

    /// An announced message has been read, or requested.
    pub(crate) fn served(&mut self, receive: u64) {
        let receive = ReceiveId(receive);
        self.handle(ReceiveEvent::Read {
            receive,
            is_done: true,
        });
    }

    /// Takes an offered receive back to cancel it.
    pub(crate) fn cancel(&mut self, entry: &RequestEntry) -> Reclaimed {
        let receive = receive_of(entry);
        if entry.receive().claim == FAR {
            // Only its sender could say whether it puts, and nobody cancels the receives that are offered to one.
            return Reclaimed::Claimed;
        }
        self.handle(ReceiveEvent::Cancel { receive });
        self.revoke(entry)
    }

    /// Executes [`ReceiveAction::Revoke`].
    fn revoke(&mut self, entry: &RequestEntry) -> Reclaimed {
        let receive = receive_of(entry);
        let is_asked = self.actions.contains(&ReceiveAction::Revoke { receive });
        let is_won = is_asked && self.withdraw(entry.record.peer, entry.receive().claim as usize);
        self.handle(ReceiveEvent::Revoked { receive, is_won });
        match is_won {
            true => Reclaimed::Free,
            false => Reclaimed::Claimed,
        }
    }

    fn withdraw(&mut self, sender: LinkIndex, slot: usize) -> bool {
        let Some((granted, number)) = self.find(sender, slot) else {
            return false;
        };
        let is_won = granted.claims.word(slot).withdraw(number);
        if is_won {
            granted.live &= !(1 << slot);
            self.withdrawn += 1;
        }
        is_won
    }

    /// A sender says that it has written a message of so many bytes into a receive, or, unless `is_whole`, that it begins to send chunks.
    pub(crate) fn landed(
        &mut self,
        entry: &RequestEntry,
        peer: LinkIndex,
        bytes: u64,
        is_whole: bool,
    ) -> Landing {
        let (receive, source) = (receive_of(entry), Source(peer.get()));
        let is_far = self.far.knows(receive);
        if self.rules.is_offered(receive) && !self.is_claimed(peer, entry.receive().claim as usize)
        {
            return Landing::Fault("wrote into a receive that it had not claimed");
        }
        let event = match is_whole {
            true => ReceiveEvent::Landed {
                source,
                receive,
                bytes,
            },
            false => ReceiveEvent::Taken {
                source,
                receive,
                bytes,
            },
        };
        match is_far {
            true => self.handle_far(event),
            false => self.handle(event),
        }
        let mut landing = Landing::Matched;
        for action in &self.actions {
            match *action {
                ReceiveAction::Unlink { .. } => landing = Landing::Matches,
                ReceiveAction::Fault { reason, .. } => landing = Landing::Fault(reason),
                _ => {}
            }
        }
        if landing == Landing::Matches && !is_far {
            let _ = self.end(peer, entry.receive().claim as usize);
        }
        landing
    }

    /// The last chunk of a message for a receive that was offered is here.
    pub(crate) fn chunks_done(&mut self, receive: u64) {
        let receive = ReceiveId(receive);
        self.handle(ReceiveEvent::ChunksDone { receive });
        self.handle_far(ReceiveEvent::ChunksDone { receive });
    }

    fn is_claimed(&mut self, sender: LinkIndex, slot: usize) -> bool {
        let found = self.find(sender, slot);
        found.is_some_and(|(granted, number)| granted.claims.word(slot).is_claimed(number))
    }

    fn end(&mut self, sender: LinkIndex, slot: usize) -> bool {
        let Some((granted, number)) = self.find(sender, slot) else {
            return false;
        };
        granted.live &= !(1 << slot);
        granted.claims.word(slot).end(number)
    }

    fn find(&mut self, sender: LinkIndex, slot: usize) -> Option<(&mut GrantedTo, OfferNumber)> {
        let place = self.place(sender).ok()?;
        let granted = &mut self.senders[place];
        let number = *granted.numbers.get(slot)?;
        let is_live = granted.live >> slot & 1 != 0;
        is_live.then_some((granted, number))
    }

    fn place(&self, sender: LinkIndex) -> Result<usize, usize> {
        self.senders.binary_search_by_key(&sender, |one| one.sender)
    }

    fn new_table(&mut self, node: &NodeHandle) -> Option<ClaimTable> {
        if self.fresh.is_empty() {
            let start = node.allocate_spare(PAGE_BYTES).ok()?;
            self.fresh = start..start + PAGE_BYTES;
        }
        let table = ClaimTable::at(node, self.fresh.start);
        self.fresh.start += ClaimTable::BYTES;
        table
    }
}
