// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matching of messages and receives (MPI-5.0, section 3.5).
//!
//! Both queues are hash tables over (context, tag, peer) whose chains run through the request records, in order of
//! insertion, so that n messages received in reverse order cost O(n). A posted receive with wildcards is filed under a key
//! that contains them; an arrival then looks up to four keys up and takes the receive that was posted first. While no
//! wildcard receive is posted, one look-up suffices. A receive with wildcards searches the unexpected messages in order of
//! arrival and takes the first one that fits.
//!
//! A message without a tag (`_nomatch` calls) is filed under its context alone, as a receive of such messages is. Such a key names any peer
//! and is no wildcard: chains are in order of insertion, so its first entry is the oldest.

use fabric::board::{ANY_TAG, IN_ORDER, PARTITIONED};

use crate::identity::LinkIndex;
use crate::request::{RequestEntry, RequestIndex, RequestSlab, Role, flag};

/// The key of matching: context id and tag in one word, and the sender, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) word: u64,
    pub(crate) peer: LinkIndex,
}

/// Set in the match words of a communicator's own messages, and of those without a tag: the bit between context and tag.
const COLLECTIVE: u64 = 1 << 32;

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
    const fn filed(self) -> Key {
        if is_in_order(self.word) {
            return self.any_peer();
        }
        self
    }

    const fn any_tag(self) -> Key {
        Key {
            word: self.word | ANY_TAG as u64,
            peer: self.peer,
        }
    }

    const fn any_peer(self) -> Key {
        Key {
            word: self.word,
            peer: LinkIndex::ANY,
        }
    }

    /// Whether this (perhaps wildcard) key accepts the exact key `message`.
    fn accepts(self, message: Key) -> bool {
        let word_fits = self.word == message.word || self.word == message.any_tag().word;
        word_fits && (self.peer == message.peer || self.peer == LinkIndex::ANY)
    }

    pub(crate) fn is_wild(self) -> bool {
        (self.peer == LinkIndex::ANY && !is_in_order(self.word)) || self.word as u32 == ANY_TAG
    }
}

/// A hash table whose chains are lists of request records in insertion order. It grows with the number of operations
/// ever pending at once, so it needs no count.
struct Chains {
    buckets: Box<[Bucket]>,
    /// Number of buckets (a power of two) less one.
    mask: u64,
}

#[derive(Clone, Copy)]
struct Bucket {
    first: RequestIndex,
    last: RequestIndex,
}

const EMPTY: Bucket = Bucket {
    first: RequestIndex::NONE,
    last: RequestIndex::NONE,
};
const FIRST_BUCKETS: usize = 256;
/// Multipliers of the hash, 31 bits so that each fits into an instruction; and its lowest bit in use, chosen so that the
/// bits above it depend on tag, peer and context alike, for few buckets as well as for many.
const PEER_FACTOR: u64 = 0x5a82_7999;
const FACTOR: u64 = 0x5851_f42d;
const HASH_SHIFT: u32 = 28;

impl Chains {
    fn new() -> Self {
        Self {
            buckets: vec![EMPTY; FIRST_BUCKETS].into_boxed_slice(),
            mask: FIRST_BUCKETS as u64 - 1,
        }
    }

    #[inline(always)]
    fn bucket(&mut self, key: Key) -> &mut Bucket {
        let mixed = key
            .word
            .wrapping_add(u64::from(key.peer.get()).wrapping_mul(PEER_FACTOR))
            .wrapping_mul(FACTOR);
        let index = (mixed >> HASH_SHIFT & self.mask) as usize;
        debug_assert!(index < self.buckets.len());
        // SAFETY: `mask` is one less than the number of buckets.
        unsafe { self.buckets.get_unchecked_mut(index) }
    }

    // TIER: short
    #[inline(always)]
    fn append(&mut self, slab: &mut RequestSlab, index: RequestIndex, key: Key) {
        if slab.used() > self.buckets.len() {
            self.grow(slab);
        }
        let record = slab.record_mut(index);
        record.match_word = key.word;
        record.peer = key.peer;
        record.next = RequestIndex::NONE.0;
        let last = self.link(index, key.filed());
        if last != RequestIndex::NONE {
            slab.record_mut(last).next = index.0;
        }
    }

    /// Makes an entry the last of its chain; the result, if any, must be told its successor.
    #[inline(always)]
    fn link(&mut self, index: RequestIndex, key: Key) -> RequestIndex {
        let bucket = self.bucket(key);
        let last = std::mem::replace(&mut bucket.last, index);
        if last == RequestIndex::NONE {
            bucket.first = index;
        }
        last
    }

    /// The first entry of messages without a tag that is filed under `key`, and its predecessor in the chain.
    #[inline]
    fn find_in_order(
        &mut self,
        slab: &RequestSlab,
        key: Key,
    ) -> Option<(RequestIndex, RequestIndex)> {
        let mut before = RequestIndex::NONE;
        let mut index = self.bucket(key).first;
        while index != RequestIndex::NONE && slab.record(index).match_word != key.word {
            before = index;
            index = RequestIndex(slab.record(index).next);
        }
        (index != RequestIndex::NONE).then_some((before, index))
    }

    /// The first entry filed under exactly `key`, and its predecessor in the chain. Not of messages without a tag.
    #[inline(always)]
    fn find(&mut self, slab: &RequestSlab, key: Key) -> Option<(RequestIndex, RequestIndex)> {
        let mut before = RequestIndex::NONE;
        let mut index = self.bucket(key).first;
        while index != RequestIndex::NONE {
            let record = slab.record(index);
            if record.match_word == key.word && record.peer == key.peer {
                return Some((before, index));
            }
            before = index;
            index = RequestIndex(record.next);
        }
        None
    }

    #[inline(always)]
    fn unlink(
        &mut self,
        slab: &mut RequestSlab,
        before: RequestIndex,
        index: RequestIndex,
        key: Key,
    ) {
        let next = RequestIndex(slab.record(index).next);
        let bucket = self.bucket(key);
        if bucket.last == index {
            bucket.last = before;
        }
        if before == RequestIndex::NONE {
            bucket.first = next;
        } else {
            slab.record_mut(before).next = next.0;
        }
    }

    /// Takes a particular entry out; false if it is not in the table.
    fn remove(&mut self, slab: &mut RequestSlab, wanted: RequestIndex) -> bool {
        let record = slab.record(wanted);
        let key = Key {
            word: record.match_word,
            peer: record.peer,
        }
        .filed();
        let mut before = RequestIndex::NONE;
        let mut index = self.bucket(key).first;
        while index != RequestIndex::NONE && index != wanted {
            before = index;
            index = RequestIndex(slab.record(index).next);
        }
        if index == wanted {
            self.unlink(slab, before, index, key);
        }
        index == wanted
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, slab: &mut RequestSlab) {
        let larger = vec![EMPTY; self.buckets.len() * 4].into_boxed_slice();
        let old = std::mem::replace(&mut self.buckets, larger);
        self.mask = self.buckets.len() as u64 - 1;
        for bucket in old {
            let mut index = bucket.first;
            while index != RequestIndex::NONE {
                let record = slab.record(index);
                let (key, next) = (
                    Key {
                        word: record.match_word,
                        peer: record.peer,
                    },
                    RequestIndex(record.next),
                );
                self.append(slab, index, key);
                index = next;
            }
        }
    }
}

/// Receives that wait for their message.
pub(crate) struct PostedQueue {
    chains: Chains,
    /// Receives with wildcards in the queue.
    wild: usize,
    /// Receives with wildcards posted so far. A receive notes this number when it is posted: among those that fit one
    /// message all but one kind of key have wildcards, so a smaller number means posted earlier, and of equals the one
    /// with wildcards, which raised the number itself, was posted first.
    wild_posts: u64,
    /// Messages matched here by receives with wildcards.
    pub(crate) wild_matches: u64,
}

impl PostedQueue {
    pub(crate) fn new() -> Self {
        Self {
            chains: Chains::new(),
            wild: 0,
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
        self.wild += 1;
        self.wild_posts += 1;
        slab.record_mut(index).flags |= flag::WILD;
    }

    /// Whether a receive in the queue may match a message with this key.
    #[inline(always)]
    pub(crate) fn may_want(&mut self, slab: &RequestSlab, key: Key) -> bool {
        self.wild != 0 || self.chains.find(slab, key).is_some()
    }

    /// Takes out the receive that matches the message `key`.
    // TIER: short
    #[inline(always)]
    pub(crate) fn take(&mut self, slab: &mut RequestSlab, key: Key) -> Option<RequestIndex> {
        if self.wild != 0 {
            return self.take_among_wild(slab, key);
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

    #[cold]
    #[inline(never)]
    fn take_among_wild(&mut self, slab: &mut RequestSlab, key: Key) -> Option<RequestIndex> {
        if is_in_order(key.word) {
            return self.take_in_order(slab, key);
        }
        let candidates = [key, key.any_tag(), key.any_peer(), key.any_tag().any_peer()];
        let found = candidates
            .into_iter()
            .filter_map(|candidate| {
                self.chains
                    .find(slab, candidate)
                    .map(|(before, index)| (candidate, before, index))
            })
            .min_by_key(|&(candidate, _, index)| {
                (slab.entry(index).sequence, !candidate.is_wild())
            });
        let (candidate, before, index) = found?;
        self.chains.unlink(slab, before, index, candidate);
        self.wild -= usize::from(candidate.is_wild());
        self.wild_matches += u64::from(candidate.is_wild());
        Some(index)
    }

    /// Takes a particular receive out (cancel); false if it has matched already.
    pub(crate) fn remove(&mut self, slab: &mut RequestSlab, index: RequestIndex) -> bool {
        let removed = self.chains.remove(slab, index);
        if removed && slab.entry(index).has(flag::WILD) {
            self.wild -= 1;
        }
        removed
    }
}

/// Messages that arrived before their receive.
pub(crate) struct UnexpectedQueue {
    chains: Chains,
    oldest: RequestIndex,
    newest: RequestIndex,
    /// Messages matched here by receives with wildcards.
    pub(crate) wild_matches: u64,
}

impl UnexpectedQueue {
    pub(crate) fn new() -> Self {
        Self {
            chains: Chains::new(),
            oldest: RequestIndex::NONE,
            newest: RequestIndex::NONE,
            wild_matches: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.oldest == RequestIndex::NONE
    }

    /// Files an arrived message.
    #[inline(always)]
    pub(crate) fn push(&mut self, slab: &mut RequestSlab, index: RequestIndex, key: Key) {
        let newest = std::mem::replace(&mut self.newest, index);
        let entry = slab.entry_mut(index);
        entry.earlier = newest;
        entry.later = RequestIndex::NONE;
        if newest == RequestIndex::NONE {
            self.oldest = index;
        } else {
            slab.entry_mut(newest).later = index;
        }
        self.chains.append(slab, index, key);
    }

    /// The oldest message that `key`, which may hold wildcards, accepts.
    pub(crate) fn peek(&mut self, slab: &RequestSlab, key: Key) -> Option<RequestIndex> {
        if is_in_order(key.word) {
            return self.chains.find_in_order(slab, key).map(|(_, index)| index);
        }
        if !key.is_wild() {
            return self.chains.find(slab, key).map(|(_, index)| index);
        }
        let mut index = self.oldest;
        while index != RequestIndex::NONE {
            let record = slab.record(index);
            if key.accepts(Key {
                word: record.match_word,
                peer: record.peer,
            }) {
                return Some(index);
            }
            index = slab.entry(index).later;
        }
        None
    }

    /// Takes out the oldest message that `key` accepts.
    pub(crate) fn take(&mut self, slab: &mut RequestSlab, key: Key) -> Option<RequestIndex> {
        let index = if is_in_order(key.word) {
            let (before, index) = self.chains.find_in_order(slab, key)?;
            self.chains.unlink(slab, before, index, key);
            index
        } else if key.is_wild() {
            let index = self.peek(slab, key)?;
            self.chains.remove(slab, index);
            self.wild_matches += 1;
            index
        } else {
            let (before, index) = self.chains.find(slab, key)?;
            self.chains.unlink(slab, before, index, key);
            index
        };
        self.unlink(slab, index);
        Some(index)
    }

    /// Number of messages with a match word.
    pub(crate) fn count_of(&self, slab: &RequestSlab, word: u64) -> usize {
        let first = (self.oldest != RequestIndex::NONE).then_some(self.oldest);
        let all = std::iter::successors(first, |&index| {
            let later = slab.entry(index).later;
            (later != RequestIndex::NONE).then_some(later)
        });
        all.filter(|&index| slab.record(index).match_word == word)
            .count()
    }

    /// The message that a peer names by the id of its send.
    pub(crate) fn find_sent(
        &self,
        slab: &RequestSlab,
        peer: LinkIndex,
        sender: u64,
    ) -> Option<RequestIndex> {
        let mut index = self.oldest;
        while index != RequestIndex::NONE {
            let entry = slab.entry(index);
            if entry.record.peer == peer && entry.remote == sender && entry.role() != Role::Injected
            {
                return Some(index);
            }
            index = entry.later;
        }
        None
    }

    /// Takes a particular message out.
    pub(crate) fn remove(&mut self, slab: &mut RequestSlab, index: RequestIndex) {
        self.chains.remove(slab, index);
        self.unlink(slab, index);
    }

    /// Takes a message out of the order of arrival.
    fn unlink(&mut self, slab: &mut RequestSlab, index: RequestIndex) {
        let (earlier, later) = (slab.entry(index).earlier, slab.entry(index).later);
        if earlier == RequestIndex::NONE {
            self.oldest = later;
        } else {
            slab.entry_mut(earlier).later = later;
        }
        if later == RequestIndex::NONE {
            self.newest = earlier;
        } else {
            slab.entry_mut(later).earlier = earlier;
        }
    }
}
