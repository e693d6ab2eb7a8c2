// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects on the contexts of a network interface.

use std::collections::{BTreeMap, BTreeSet};

/// How many contexts have how many of something: `(contexts, each)`, most first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Spread(pub Vec<(usize, usize)>);

impl Spread {
    /// Objects that are given contexts round robin.
    pub fn round_robin(objects: usize, contexts: usize) -> Self {
        let contexts = contexts.max(1);
        Self::of(
            (0..contexts)
                .map(|context| objects / contexts + usize::from(context < objects % contexts)),
        )
    }

    /// Threads that meet on a context, for contexts that are used; given which object each thread uses.
    pub fn of_threads(uses: impl IntoIterator<Item = (usize, usize)>, contexts: usize) -> Self {
        let mut threads = BTreeMap::<usize, BTreeSet<usize>>::new();
        for (thread, object) in uses {
            threads
                .entry(object % contexts.max(1))
                .or_default()
                .insert(thread);
        }
        Self::of(threads.values().map(BTreeSet::len))
    }

    /// Most on one context.
    pub fn most(&self) -> usize {
        self.0.first().map_or(0, |row| row.1)
    }

    fn of(loads: impl Iterator<Item = usize>) -> Self {
        let mut counts = BTreeMap::<usize, usize>::new();
        for load in loads.filter(|&load| load > 0) {
            *counts.entry(load).or_default() += 1;
        }
        Self(
            counts
                .into_iter()
                .rev()
                .map(|(load, count)| (count, load))
                .collect(),
        )
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rows = self.0.iter();
        let rows: Vec<String> = rows
            .map(|(contexts, each)| format!("{contexts} with {each}"))
            .collect();
        f.write_str(if rows.is_empty() { "none" } else { "" })?;
        f.write_str(&rows.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_and_enumerated_communicators_on_160_contexts() {
        assert_eq!(
            Spread::round_robin(808, 160).to_string(),
            "8 with 6 + 152 with 5"
        );
        assert_eq!(
            Spread::round_robin(728, 160).to_string(),
            "88 with 5 + 72 with 4"
        );
        assert_eq!(Spread::round_robin(64, 160).to_string(), "64 with 1");
        assert_eq!(Spread::round_robin(0, 160).to_string(), "none");
    }

    #[test]
    fn threads_that_meet_are_counted_once() {
        let uses = [(0, 0), (0, 2), (1, 2), (1, 1), (2, 4)];
        assert_eq!(Spread::of_threads(uses, 2), Spread(vec![(1, 3), (1, 1)]));
        assert_eq!(Spread::of_threads(uses, 2).most(), 3);
    }
}
