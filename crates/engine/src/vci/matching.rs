// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matching of messages and receives (MPI-5.0, section 3.5).
//!
//! Both queues are hash tables over (context, tag, peer) whose chains run through the request records, in order of
//! insertion, so that n messages received in reverse order cost O(n). A posted receive with wildcards is filed under a key
//! that contains them; an arrival then looks up to four keys up and takes the receive that was posted first. While no
//! wildcard receive is posted, one look-up suffices. Unexpected messages are filed under their exact key, and, when a receive with
//! wildcards does not find its message soon, under those with wildcards, too ([`super::wild_lists`]).
//!
//! A message without a tag (`_nomatch` calls) is filed under its context alone, as a receive of such messages is. Such a key names any peer
//! and is no wildcard: chains are in order of insertion, so its first entry is the oldest.

// account: match-bits

use fabric::board::{ANY_TAG, IN_ORDER, PARTITIONED, RequestRecord, kind as record_kind};
use fabric::node::NodeHandle;
use protocols::{PostedReceive, ReceiveId};

use super::chains::Chains;
use super::offers::{Grant, Granted, ReceiveLanding, Reclaimed, posted};
use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestIndex, RequestSlab, flag};

/// The key of matching: context id and tag in one word, and the sender, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) word: u64,
    pub(crate) peer: LinkIndex,
}

/// Set in the match words of a communicator's own messages, and of those without a tag: the bit between context and tag.
pub(super) const COLLECTIVE: u64 = 1 << 32;

/// Whether a match word is that of messages without a tag.
#[inline(always)]
pub(crate) const fn is_in_order(word: u64) -> bool {
    word & (PARTITIONED | COLLECTIVE | u32::MAX as u64) == COLLECTIVE | IN_ORDER as u64
}

/// The key of messages without a tag in the context of a communicator.
#[inline(always)]
pub(crate) const fn in_order_key(match_base: u64) -> Key {
    Key {
        word: match_base + (COLLECTIVE | IN_ORDER as u64),
        peer: LinkIndex::ANY,
    }
}

impl Key {
    /// The key under which an operation is filed: messages without a tag are told apart by nothing but their context.
    #[inline(always)]
    pub(super) const fn filed(self) -> Key {
        if is_in_order(self.word) {
            return self.any_peer();
        }
        self
    }

    /// The key of a message or a receive in a queue.
    #[inline(always)]
    pub(super) const fn of(record: &RequestRecord) -> Key {
        Key {
            word: record.match_word,
            peer: record.peer,
        }
    }

    pub(super) const fn any_tag(self) -> Key {
        Key {
            word: self.word | ANY_TAG as u64,
            peer: self.peer,
        }
    }

    pub(super) const fn any_peer(self) -> Key {
        Key {
            word: self.word,
            peer: LinkIndex::ANY,
        }
    }

    /// Whether this (perhaps wildcard) key accepts the exact key `message`.
    pub(super) fn accepts(self, message: Key) -> bool {
        let word_fits = self.word == message.word || self.word == message.any_tag().word;
        word_fits && (self.peer == message.peer || self.peer == LinkIndex::ANY)
    }

    pub(crate) fn is_wild(self) -> bool {
        (self.peer == LinkIndex::ANY && !is_in_order(self.word)) || self.word as u32 == ANY_TAG
    }
}

/// How a receive was taken for an announced message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Taken {
    /// It was not offered.
    Unoffered,
    /// It was offered, and its sender can no longer claim it.
    Reclaimed,
    /// Its sender has claimed it for this message, and writes it.
    Claimed,
}

/// Receives that wait for their message.
pub(crate) struct PostedQueue {
    chains: Chains,
    /// Receives in the queue that have wildcards or are offered to their sender: while there are none, one look-up matches.
    special: usize,
    /// Those of them that are offered.
    offered: usize,
    /// Offers of receives to senders.
    granted: Granted,
    /// A sender that claimed a receive and then sent another message for it.
    pub(crate) contested: Option<LinkIndex>,
    /// Receives with wildcards posted so far. A receive notes this number when it is posted: among those that fit one
    /// message all but one kind of key have wildcards, so a smaller number means posted earlier, and of equals the one
    /// with wildcards, which raised the number itself, was posted first.
    wild_posts: u64,
    /// Messages matched here by receives with wildcards.
    pub(crate) wild_matches: u64,
}

impl PostedQueue {
    /// An empty queue of which so many receives may be offered to one sender.
    pub(crate) fn new(most_offers: u64) -> Self {
        Self {
            chains: Chains::new(),
            special: 0,
            offered: 0,
            granted: Granted::new(most_offers),
            contested: None,
            wild_posts: 0,
            wild_matches: 0,
        }
    }

    /// [`Self::post`] for a key without wildcards, on an entry taken with [`RequestSlab::take_free`], whose key this fills in.
    // TIER: short
    #[inline(always)]
    pub(crate) fn post_exact(&mut self, entry: &mut RequestEntry, key: Key) -> RequestIndex {
        entry.sequence = self.wild_posts;
        entry.record.match_word = key.word;
        entry.record.peer = key.peer;
        debug_assert_eq!(entry.record.next, RequestIndex::NONE.0);
        self.chains.link(entry.index(), key)
    }

    /// Files a receive under `key`, behind all that were posted before.
    // TIER: short
    #[inline(always)]
    pub(crate) fn post(&mut self, slab: &mut RequestSlab, index: RequestIndex, key: Key) {
        if key.is_wild() {
            self.note_wild(slab, index);
        }
        slab.entry_mut(index).sequence = self.wild_posts;
        self.chains.append(slab, index, key);
    }

    #[cold]
    #[inline(never)]
    fn note_wild(&mut self, slab: &mut RequestSlab, index: RequestIndex) {
        self.special += 1;
        self.wild_posts += 1;
        slab.record_mut(index).flags |= flag::WILD;
    }

    /// Whether a receive in the queue may match a message with this key.
    #[inline(always)]
    pub(crate) fn may_want(&mut self, slab: &RequestSlab, key: Key) -> bool {
        self.special != 0 || self.chains.find(slab, key).is_some()
    }

    /// Takes out the receive that matches the message `key`.
    // TIER: short
    #[inline(always)]
    pub(crate) fn take(&mut self, slab: &mut RequestSlab, key: Key) -> Option<RequestIndex> {
        if self.special != 0 {
            return self.take_among_special(slab, key);
        }
        let Some((before, index)) = self.chains.find(slab, key) else {
            return self.take_in_order(slab, key);
        };
        self.chains.unlink(slab, before, index, key);
        Some(index)
    }

    /// Takes out the oldest receive of messages without a tag for the message `key`; `None` if that has a tag.
    // TIER: short
    #[inline(always)]
    pub(crate) fn take_in_order(
        &mut self,
        slab: &mut RequestSlab,
        key: Key,
    ) -> Option<RequestIndex> {
        if !is_in_order(key.word) {
            return None;
        }
        let key = key.filed();
        let (before, index) = self.chains.find_in_order(slab, key)?;
        self.chains.unlink(slab, before, index, key);
        Some(index)
    }

    /// As [`Self::take`]. A sender that has claimed a receive sends no other message that it matches.
    #[cold]
    #[inline(never)]
    fn take_among_special(&mut self, slab: &mut RequestSlab, key: Key) -> Option<RequestIndex> {
        if is_in_order(key.word) {
            return self.take_in_order(slab, key);
        }
        let (candidate, before, index) = self.find_among_special(slab, key)?;
        let entry = slab.entry(index);
        if entry.record.kind == record_kind::RECEIVE_OFFERED {
            if self.granted.meet_eager(entry, key) == Reclaimed::Claimed {
                self.contested = Some(key.peer);
                return None;
            }
            self.note_free(slab, index);
        }
        self.unlink(slab, candidate, before, index);
        Some(index)
    }

    /// As [`Self::take`], for an announced message of so many bytes that its sender names by an id: the sender may have claimed the
    /// receive for it since. A receive that is free may have to be told of with [`Self::served`].
    pub(crate) fn take_for_announced(
        &mut self,
        slab: &mut RequestSlab,
        key: Key,
        message: [u64; 2],
    ) -> Option<(RequestIndex, Taken)> {
        if self.special == 0 {
            return Some((self.take(slab, key)?, Taken::Unoffered));
        }
        if is_in_order(key.word) {
            return Some((self.take_in_order(slab, key)?, Taken::Unoffered));
        }
        let (candidate, before, index) = self.find_among_special(slab, key)?;
        let entry = slab.entry(index);
        let taken = if entry.record.kind == record_kind::RECEIVE_OFFERED {
            match self.granted.meet_announced(entry, key, message) {
                Reclaimed::Claimed => Taken::Claimed,
                Reclaimed::Free => {
                    self.note_free(slab, index);
                    Taken::Reclaimed
                }
            }
        } else {
            Taken::Unoffered
        };
        self.unlink(slab, candidate, before, index);
        Some((index, taken))
    }

    /// An announced message has been read or requested for a receive that was taken back for it.
    pub(crate) fn served(&mut self, receive: u64) {
        self.granted.served(receive);
    }

    /// The receive that was posted first of those that match, its key, and its predecessor in the chain.
    fn find_among_special(
        &mut self,
        slab: &RequestSlab,
        key: Key,
    ) -> Option<(Key, RequestIndex, RequestIndex)> {
        let candidates = [key, key.any_tag(), key.any_peer(), key.any_tag().any_peer()];
        candidates
            .into_iter()
            .filter_map(|candidate| {
                self.chains
                    .find(slab, candidate)
                    .map(|(before, index)| (candidate, before, index))
            })
            .min_by_key(|&(candidate, _, index)| (slab.entry(index).sequence, !candidate.is_wild()))
    }

    /// Takes a receive with its key out, which is no longer offered, or claimed.
    fn unlink(
        &mut self,
        slab: &mut RequestSlab,
        key: Key,
        before: RequestIndex,
        index: RequestIndex,
    ) {
        self.chains.unlink(slab, before, index, key);
        if key.is_wild() {
            self.special -= 1;
            self.wild_matches += 1;
        } else if slab.record(index).kind == record_kind::RECEIVE_OFFERED {
            self.special -= 1;
            self.offered -= 1;
        }
    }

    /// Offers a receive, the last that was posted, to its sender. `None` when it may not be offered: a message of the sender may go to an
    /// earlier receive that is not, or there are too many offers.
    pub(crate) fn offer(
        &mut self,
        slab: &mut RequestSlab,
        node: &NodeHandle,
        index: RequestIndex,
        key: Key,
    ) -> Option<Grant> {
        let mut wild = [key.any_tag(), key.any_peer(), key.any_tag().any_peer()].map(Some);
        if key.is_wild() {
            return None;
        }
        for place in &mut wild {
            let is_wanted = |key| self.special != self.offered && self.chains.has(slab, key);
            *place = place.filter(|&key| is_wanted(key));
        }
        let entry = slab.entry(index);
        let wild = wild.into_iter().flatten().map(|key| posted(entry, key));
        let wild = wild.map(|it| PostedReceive {
            // Another one than the candidate; wildcards are not offered, so no rule needs its name.
            receive: ReceiveId(0),
            ..it
        });
        let same = self.chains.before(slab, index, key);
        let same = same.map(|earlier| posted(slab.entry(earlier), key));
        let earlier = wild.chain(same);
        let grant = self.granted.grant(node, entry, key, earlier)?;
        self.note_offered(slab, index, grant.slot as u64);
        Some(grant)
    }

    /// As [`Self::offer`], to a sender on another node; whether it may be.
    pub(crate) fn offer_far(
        &mut self,
        slab: &mut RequestSlab,
        index: RequestIndex,
        key: Key,
    ) -> bool {
        // Wildcards do not fit the keys of the library's own receives.
        let same = self.chains.before(slab, index, key);
        let earlier = same.map(|earlier| posted(slab.entry(earlier), key));
        let claim = self.granted.grant_far(slab.entry(index), key, earlier);
        let noted = claim.map(|claim| self.note_offered(slab, index, claim));
        noted.is_some()
    }

    fn note_offered(&mut self, slab: &mut RequestSlab, index: RequestIndex, claim: u64) {
        slab.record_mut(index).kind = record_kind::RECEIVE_OFFERED;
        slab.entry_mut(index).receive_mut().claim = claim;
        self.special += 1;
        self.offered += 1;
    }

    /// A receive is not offered any longer.
    fn note_free(&mut self, slab: &mut RequestSlab, index: RequestIndex) {
        slab.record_mut(index).kind = record_kind::RECEIVE_POSTED;
        self.special -= 1;
        self.offered -= 1;
    }

    /// Takes the offer of a receive back, and leaves the receive in the queue; false when its sender has claimed it.
    pub(crate) fn reclaim(&mut self, slab: &mut RequestSlab, index: RequestIndex) -> bool {
        if self.granted.cancel(slab.entry(index)) == Reclaimed::Claimed {
            return false;
        }
        self.note_free(slab, index);
        true
    }

    /// A sender says that it has written a message of so many bytes into a receive, or, unless `is_whole`, that it begins to send chunks.
    /// Takes the receive out if it is in the queue.
    pub(crate) fn landed(
        &mut self,
        slab: &mut RequestSlab,
        index: RequestIndex,
        (peer, bytes): (LinkIndex, u64),
        is_whole: bool,
    ) -> ReceiveLanding {
        let landing = self
            .granted
            .landed(slab.entry(index), peer, bytes, is_whole);
        if landing == ReceiveLanding::Matches {
            self.remove(slab, index);
        }
        landing
    }

    /// The last chunk of a message for a receive that was offered is here.
    pub(crate) fn chunks_done(&mut self, receive: u64) {
        self.granted.chunks_done(receive);
    }

    /// Offers that were taken back.
    pub(crate) const fn withdrawn(&self) -> u64 {
        self.granted.withdrawn
    }

    /// Takes a particular receive out (cancel); false if it has matched already.
    pub(crate) fn remove(&mut self, slab: &mut RequestSlab, index: RequestIndex) -> bool {
        let removed = self.chains.remove(slab, index);
        if removed && slab.entry(index).has(flag::WILD) {
            self.special -= 1;
        }
        if removed && slab.record(index).kind == record_kind::RECEIVE_OFFERED {
            self.special -= 1;
            self.offered -= 1;
        }
        removed
    }
}
