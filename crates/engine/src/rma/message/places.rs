// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to a member's memory by the bytes that they are about.

use std::collections::BTreeMap;
use std::ops::Range;

use super::uses::Access;

/// How far an access is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// It is not complete.
    Live,
    /// The same, but the origin has closed its epoch and is told nothing any more.
    Closed,
    /// It is complete for those who know of this call of its origin, or have met the origin after this phase.
    Done { number: u32, phase: u32 },
}

/// An access that later ones are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub(super) end: u64,
    pub(super) access: Access,
    /// Fences that the origin had called.
    pub(super) fences: u32,
    pub(super) stage: Stage,
}

impl Noted {
    fn is_same(&self, other: &Self) -> bool {
        let operator = |it: &Self| it.access.used.operator().map(|operator| operator as u32);
        let basic = |it: &Self| it.access.used.basic().map(|basic| basic.code);
        let kind = |it: &Self| std::mem::discriminant(&it.access.used);
        let fixed = |it: &Self| {
            let Access {
                used,
                during,
                partner,
            } = it.access;
            (used.fetches(), during, partner, it.fences, it.end)
        };
        kind(self) == kind(other)
            && operator(self) == operator(other)
            && basic(self) == basic(other)
            && fixed(self) == fixed(other)
    }
}

/// Accesses by their first byte.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_start: BTreeMap<u64, Vec<Noted>>,
    /// How many there are.
    pub(super) count: usize,
    /// Bytes of the longest one.
    longest: u64,
}

impl Places {
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Noted) -> bool) {
        self.count = 0;
        self.by_start.retain(|_, list| {
            list.retain_mut(&mut keep);
            self.count += list.len();
            !list.is_empty()
        });
        if self.by_start.is_empty() {
            self.longest = 0;
        }
    }

    /// Adds an access; one that is the same but for its time gives way to it.
    pub(super) fn add(&mut self, start: u64, noted: Noted) {
        self.longest = self.longest.max(noted.end - start);
        let list = self.by_start.entry(start).or_default();
        match list.iter_mut().find(|known| known.is_same(&noted)) {
            Some(known) => *known = noted,
            None => {
                list.push(noted);
                self.count += 1;
            }
        }
    }

    /// All, with their first bytes.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &Noted)> {
        let by_start = self.by_start.iter();
        by_start.flat_map(|(&start, list)| list.iter().map(move |noted| (start, noted)))
    }

    /// Those that share bytes with a range, and the bytes that they share.
    pub(super) fn sharing(&self, bytes: &Range<u64>) -> impl Iterator<Item = (&Noted, Range<u64>)> {
        let bytes = bytes.clone();
        let near = self
            .by_start
            .range(bytes.start.saturating_sub(self.longest)..bytes.end);
        let near = near.flat_map(|(&start, list)| list.iter().map(move |noted| (start, noted)));
        near.filter_map(move |(start, noted)| {
            let shared = bytes.start.max(start)..bytes.end.min(noted.end);
            (!shared.is_empty()).then_some((noted, shared))
        })
    }
}
