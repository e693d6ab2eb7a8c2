// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unexpected messages by what receives with wildcards name, so that other messages do not cost such a receive anything.
//!
//! Each message is in three lists, in order of arrival: of its tag from any peer, of its peer with any tag, and of its context. The first
//! entry of the list of a key is therefore the message that MPI-5.0, section 3.5, demands. An arrival does not file its message: the next
//! look-up files all messages behind the last one that is filed. Each message is filed once, and a removal takes constant time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

#[cfg(test)]
use super::chains::compared;
use super::matching::Key;
use crate::request::{RequestIndex, RequestSlab};

const LISTS: usize = 3;

/// The keys with wildcards that accept a message.
const fn wild_keys(message: Key) -> [Key; LISTS] {
    [
        message.any_peer(),
        message.any_tag(),
        message.any_tag().any_peer(),
    ]
}

/// The neighbours of a message in a list, or the ends of a list.
#[derive(Clone, Copy)]
struct Pair {
    earlier: RequestIndex,
    later: RequestIndex,
}

const APART: Pair = Pair {
    earlier: RequestIndex::NONE,
    later: RequestIndex::NONE,
};

/// A message, by the place of its entry in the slab.
#[derive(Clone, Copy)]
struct Node {
    is_filed: bool,
    neighbours: [Pair; LISTS],
}

const UNFILED: Node = Node {
    is_filed: false,
    neighbours: [APART; LISTS],
};

/// The lists.
pub(super) struct WildLists {
    /// The oldest and the newest message of each list that has any.
    ends: HashMap<Key, Pair, BuildHasherDefault<KeyHasher>>,
    nodes: Vec<Node>,
    /// The last message that is filed, in order of arrival.
    newest: RequestIndex,
}

impl WildLists {
    pub(super) fn new() -> Self {
        Self {
            ends: HashMap::default(),
            nodes: Vec::new(),
            newest: RequestIndex::NONE,
        }
    }

    /// The oldest message that `key`, which has wildcards, accepts; `oldest` is the first of all.
    pub(super) fn first(
        &mut self,
        slab: &RequestSlab,
        oldest: RequestIndex,
        key: Key,
    ) -> Option<RequestIndex> {
        let mut index = match self.newest {
            RequestIndex::NONE => oldest,
            newest => slab.entry(newest).unexpected().later,
        };
        while index != RequestIndex::NONE {
            self.file(slab, index);
            index = slab.entry(index).unexpected().later;
        }
        self.ends.get(&key).map(|ends| ends.earlier)
    }

    fn file(&mut self, slab: &RequestSlab, index: RequestIndex) {
        #[cfg(test)]
        compared::count();
        let place = slab.place(index);
        if place >= self.nodes.len() {
            self.nodes.resize(slab.used(), UNFILED);
        }
        let keys = wild_keys(Key::of(slab.record(index)));
        for (list, key) in keys.into_iter().enumerate() {
            let mut neighbours = APART;
            match self.ends.entry(key) {
                Entry::Vacant(place) => {
                    let (earlier, later) = (index, index);
                    place.insert(Pair { earlier, later });
                }
                Entry::Occupied(mut ends) => {
                    let last = std::mem::replace(&mut ends.get_mut().later, index);
                    self.nodes[slab.place(last)].neighbours[list].later = index;
                    neighbours.earlier = last;
                }
            }
            self.nodes[place].neighbours[list] = neighbours;
        }
        self.nodes[place].is_filed = true;
        self.newest = index;
    }

    /// Takes out a message that is about to leave the queue.
    pub(super) fn remove(&mut self, slab: &RequestSlab, index: RequestIndex) {
        let node = self.nodes.get_mut(slab.place(index));
        let Some(node) = node.filter(|node| node.is_filed) else {
            return;
        };
        let neighbours = std::mem::replace(node, UNFILED).neighbours;
        if self.newest == index {
            self.newest = slab.entry(index).unexpected().earlier;
        }
        let keys = wild_keys(Key::of(slab.record(index)));
        for (list, key) in keys.into_iter().enumerate() {
            self.unlink(slab, list, key, neighbours[list]);
        }
    }

    /// Joins the neighbours of a message in its list, that of `key`.
    fn unlink(&mut self, slab: &RequestSlab, list: usize, key: Key, neighbours: Pair) {
        let Pair { earlier, later } = neighbours;
        if earlier != RequestIndex::NONE {
            self.nodes[slab.place(earlier)].neighbours[list].later = later;
        }
        if later != RequestIndex::NONE {
            self.nodes[slab.place(later)].neighbours[list].earlier = earlier;
        }
        if earlier != RequestIndex::NONE && later != RequestIndex::NONE {
            return;
        }
        let Entry::Occupied(mut ends) = self.ends.entry(key) else {
            return;
        };
        match (earlier, later) {
            (RequestIndex::NONE, RequestIndex::NONE) => {
                ends.remove();
            }
            (RequestIndex::NONE, first) => ends.get_mut().earlier = first,
            (last, _) => ends.get_mut().later = last,
        }
    }
}

/// The hash of a key: its two numbers, multiplied.
#[derive(Default)]
struct KeyHasher(u64);

/// An odd multiplier without a pattern (the golden ratio), and the distance that brings its upper bits down, where the table reads.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const ROTATION: u32 = 26;

impl Hasher for KeyHasher {
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(ROTATION) ^ number).wrapping_mul(FACTOR);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(ROTATION)
    }
}
