// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that arrived before their receive (MPI-5.0, section 3.5), in the hash table of [`super::chains`] and in order of arrival.
//!
//! A receive or probe with wildcards compares the oldest messages one by one. When none of the first [`MOST_COMPARED`] fits, the messages are filed in [`WildLists`], which serve all such
//! look-ups until no message waits: these then cost the same whatever else waits.

use super::chains::Chains;
#[cfg(test)]
use super::chains::compared;
use super::matching::{Key, is_in_order};
use super::wild_lists::WildLists;
use crate::identity::LinkIndex;
use crate::request::{RequestIndex, RequestSlab, Role};

/// Messages that a receive with wildcards compares one by one: to compare so many costs about as much as to file a few.
const MOST_COMPARED: usize = 64;

/// Messages that arrived before their receive.
pub(crate) struct UnexpectedQueue {
    chains: Chains,
    oldest: RequestIndex,
    newest: RequestIndex,
    /// Receives of so many bytes and more leave the fast stages: all while messages wait here.
    slow_from: u64,
    /// The same while none waits.
    noted_from: u64,
    /// Messages matched here by receives with wildcards.
    pub(crate) wild_matches: u64,
    /// The messages by keys with wildcards, since a search became long.
    lists: Option<Box<WildLists>>,
}

impl UnexpectedQueue {
    /// An empty queue; receives of `noted_from` bytes and more are never posted by the fast stages.
    pub(crate) fn new(noted_from: u64) -> Self {
        Self {
            chains: Chains::new(),
            oldest: RequestIndex::NONE,
            newest: RequestIndex::NONE,
            slow_from: noted_from,
            noted_from,
            wild_matches: 0,
            lists: None,
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.oldest == RequestIndex::NONE
    }

    /// Whether a fast stage may post a receive of so many bytes.
    // account: match-bits
    #[inline(always)]
    pub(crate) const fn lets_post(&self, bytes: u64) -> bool {
        bytes < self.slow_from
    }

    /// Files an arrived message.
    #[inline(always)]
    pub(crate) fn push(&mut self, slab: &mut RequestSlab, index: RequestIndex, key: Key) {
        let newest = std::mem::replace(&mut self.newest, index);
        let body = slab.entry_mut(index).unexpected_mut();
        (body.earlier, body.later) = (newest, RequestIndex::NONE);
        if newest == RequestIndex::NONE {
            (self.oldest, self.slow_from) = (index, 0);
        } else {
            slab.entry_mut(newest).unexpected_mut().later = index;
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
        self.peek_wild(slab, key)
    }

    /// As [`Self::peek`] for a key with wildcards.
    fn peek_wild(&mut self, slab: &RequestSlab, key: Key) -> Option<RequestIndex> {
        if let Some(lists) = &mut self.lists {
            return lists.first(slab, self.oldest, key);
        }
        let mut index = self.oldest;
        for _ in 0..MOST_COMPARED {
            if index == RequestIndex::NONE {
                return None;
            }
            #[cfg(test)]
            compared::count();
            if key.accepts(Key::of(slab.record(index))) {
                return Some(index);
            }
            index = slab.entry(index).unexpected().later;
        }
        let lists = self.lists.insert(Box::new(WildLists::new()));
        lists.first(slab, self.oldest, key)
    }

    /// Takes out the oldest message that `key` accepts.
    pub(crate) fn take(&mut self, slab: &mut RequestSlab, key: Key) -> Option<RequestIndex> {
        if key.peer == LinkIndex::ANY || key.is_wild() {
            return self.take_unusual(slab, key);
        }
        let (before, index) = self.chains.find(slab, key)?;
        self.chains.unlink(slab, before, index, key);
        self.unlink(slab, index);
        Some(index)
    }

    /// As [`Self::take`] for a key with wildcards or of messages without a tag.
    #[cold]
    #[inline(never)]
    fn take_unusual(&mut self, slab: &mut RequestSlab, key: Key) -> Option<RequestIndex> {
        let index = if is_in_order(key.word) {
            let (before, index) = self.chains.find_in_order(slab, key)?;
            self.chains.unlink(slab, before, index, key);
            index
        } else {
            let index = self.peek_wild(slab, key)?;
            self.chains.remove(slab, index);
            self.wild_matches += 1;
            index
        };
        self.unlink(slab, index);
        Some(index)
    }

    /// Number of messages with a match word.
    pub(crate) fn count_of(&self, slab: &RequestSlab, word: u64) -> usize {
        let first = (self.oldest != RequestIndex::NONE).then_some(self.oldest);
        let all = std::iter::successors(first, |&index| {
            let later = slab.entry(index).unexpected().later;
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
            if entry.record.peer == peer
                && entry.unexpected().sender == sender
                && entry.role() != Role::Injected
            {
                return Some(index);
            }
            index = entry.unexpected().later;
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
        if self.lists.is_some() {
            self.unlist(slab, index);
        }
        let (earlier, later) = (
            slab.entry(index).unexpected().earlier,
            slab.entry(index).unexpected().later,
        );
        if earlier == RequestIndex::NONE {
            self.oldest = later;
            if later == RequestIndex::NONE {
                self.slow_from = self.noted_from;
            }
        } else {
            slab.entry_mut(earlier).unexpected_mut().later = later;
        }
        if later == RequestIndex::NONE {
            self.newest = earlier;
        } else {
            slab.entry_mut(later).unexpected_mut().earlier = earlier;
        }
    }

    /// Takes a message out of the lists, and gives these up with the last one.
    #[cold]
    #[inline(never)]
    fn unlist(&mut self, slab: &RequestSlab, index: RequestIndex) {
        let is_last = self.oldest == index && self.newest == index;
        match &mut self.lists {
            Some(lists) if !is_last => lists.remove(slab, index),
            lists => *lists = None,
        }
    }
}
