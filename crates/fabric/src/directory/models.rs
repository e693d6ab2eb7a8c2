// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model of the directory: two senders publish rings while the receiver walks.
//!
//! It covers the order of the steps, not of memory: with these few words the model checker did not
//! tell a relaxed compare-and-swap in `publish` from a releasing one.

use std::sync::Arc;

use loom::thread;
use sys::sync::{AtomicU32, AtomicU64, Ordering};

use super::{Entry, RingKey, published_since};
use crate::identity::{PeerIndex, VciIndex};

struct List {
    head: AtomicU64,
    entries: [Entry; 2],
}

fn empty() -> Entry {
    Entry {
        next: AtomicU64::new(99),
        source: AtomicU32::new(99),
        vcis: AtomicU32::new(99),
    }
}

fn key(source: u32) -> RingKey {
    RingKey {
        source: PeerIndex::new(source),
        source_vci: VciIndex::of_bits(source + 1),
        target_vci: VciIndex::of_bits(3),
    }
}

impl List {
    fn publish(&self, source: u32) {
        let entry = &self.entries[source as usize];
        entry.publish(&self.head, u64::from(source) + 1, key(source));
    }

    /// Walks once; every ring must be complete and new.
    fn walk(&self, known: &mut u64, seen: &mut Vec<u32>) {
        let entry = |ring: u64| self.entries.get(ring as usize - 1);
        let (newest, found) = published_since(&self.head, *known, 2, entry).unwrap();
        *known = newest;
        for (ring, found) in found {
            let source = found.source.get();
            assert_eq!(u64::from(source) + 1, ring);
            assert_eq!(found, key(source));
            assert!(!seen.contains(&source));
            seen.push(source);
        }
    }
}

#[test]
fn model_every_published_ring_is_found_once_and_complete() {
    loom::model(|| {
        let list = Arc::new(List {
            head: AtomicU64::new(0),
            entries: [empty(), empty()],
        });
        let senders = [0, 1].map(|source| {
            let list = list.clone();
            thread::spawn(move || list.publish(source))
        });
        let (mut known, mut seen) = (0, Vec::new());
        list.walk(&mut known, &mut seen);
        for sender in senders {
            sender.join().unwrap();
        }
        list.walk(&mut known, &mut seen);
        seen.sort_unstable();
        assert_eq!(seen, [0, 1]);
        assert_eq!(known, list.head.load(Ordering::Relaxed));
    });
}
