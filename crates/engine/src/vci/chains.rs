// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hash table of both queues of matching ([`super::matching`]).

// account: match-bits

use super::matching::Key;
use crate::request::{RequestIndex, RequestSlab};

/// A hash table whose chains are lists of request records in insertion order. It grows with the number of operations
/// ever pending at once, so it needs no count.
pub(super) struct Chains {
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
    pub(super) fn new() -> Self {
        Self {
            buckets: vec![EMPTY; FIRST_BUCKETS].into_boxed_slice(),
            mask: FIRST_BUCKETS as u64 - 1,
        }
    }

    /// Which bucket a key is in.
    #[inline(always)]
    fn place(&self, key: Key) -> usize {
        let mixed = key
            .word
            .wrapping_add(u64::from(key.peer.get()).wrapping_mul(PEER_FACTOR))
            .wrapping_mul(FACTOR);
        (mixed >> HASH_SHIFT & self.mask) as usize
    }

    #[inline(always)]
    fn bucket(&mut self, key: Key) -> &mut Bucket {
        let index = self.place(key);
        debug_assert!(index < self.buckets.len());
        // SAFETY: `mask` is one less than the number of buckets.
        unsafe { self.buckets.get_unchecked_mut(index) }
    }

    // TIER: short
    #[inline(always)]
    pub(super) fn append(&mut self, slab: &mut RequestSlab, index: RequestIndex, key: Key) {
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
    pub(super) fn link(&mut self, index: RequestIndex, key: Key) -> RequestIndex {
        let bucket = self.bucket(key);
        let last = std::mem::replace(&mut bucket.last, index);
        if last == RequestIndex::NONE {
            bucket.first = index;
        }
        last
    }

    /// The first entry of messages without a tag that is filed under `key`, and its predecessor in the chain.
    #[inline]
    pub(super) fn find_in_order(
        &mut self,
        slab: &RequestSlab,
        key: Key,
    ) -> Option<(RequestIndex, RequestIndex)> {
        let mut before = RequestIndex::NONE;
        let mut index = self.bucket(key).first;
        while index != RequestIndex::NONE && slab.record(index).match_word != key.word {
            #[cfg(test)]
            compared::count();
            before = index;
            index = RequestIndex(slab.record(index).next);
        }
        (index != RequestIndex::NONE).then_some((before, index))
    }

    /// The first entry filed under exactly `key`, and its predecessor in the chain. Not of messages without a tag.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        slab: &RequestSlab,
        key: Key,
    ) -> Option<(RequestIndex, RequestIndex)> {
        let mut before = RequestIndex::NONE;
        let mut index = self.bucket(key).first;
        while index != RequestIndex::NONE {
            #[cfg(test)]
            compared::count();
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
    pub(super) fn unlink(
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

    /// Whether there is an entry filed under exactly `key`.
    pub(super) fn has(&self, slab: &RequestSlab, key: Key) -> bool {
        let mut all = self.before(slab, RequestIndex::NONE, key);
        all.next().is_some()
    }

    /// The entries before `last` that are filed under exactly `key`, in order.
    pub(super) fn before<'a>(
        &self,
        slab: &'a RequestSlab,
        last: RequestIndex,
        key: Key,
    ) -> impl Iterator<Item = RequestIndex> + 'a {
        let next = move |index: RequestIndex| {
            (index != last && index != RequestIndex::NONE).then_some(index)
        };
        let first = next(self.buckets[self.place(key)].first);
        let all = std::iter::successors(first, move |&index| {
            next(RequestIndex(slab.record(index).next))
        });
        all.filter(move |&index| {
            let record = slab.record(index);
            record.match_word == key.word && record.peer == key.peer
        })
    }

    /// Takes a particular entry out; false if it is not in the table.
    pub(super) fn remove(&mut self, slab: &mut RequestSlab, wanted: RequestIndex) -> bool {
        let key = Key::of(slab.record(wanted)).filed();
        let mut before = RequestIndex::NONE;
        let mut index = self.bucket(key).first;
        while index != RequestIndex::NONE && index != wanted {
            #[cfg(test)]
            compared::count();
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
                let (key, next) = (Key::of(record), RequestIndex(record.next));
                self.append(slab, index, key);
                index = next;
            }
        }
    }
}

/// Entries that searches of this thread have compared, and those that they have filed.
#[cfg(test)]
pub(super) mod compared {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts one.
    pub(in crate::vci) fn count() {
        COUNT.set(COUNT.get() + 1);
    }

    /// Those of a closure.
    pub(in crate::vci) fn by(searches: impl FnOnce()) -> u64 {
        let before = COUNT.get();
        searches();
        COUNT.get() - before
    }
}
