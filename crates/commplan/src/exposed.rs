// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads of a process can communicate at the same time: the largest set of threads of which no two share an object.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::kind::Kind;
use crate::plan::Plan;

/// Sets that the search looks at before it settles for the best so far.
const MAX_SETS: usize = 200_000;
/// Threads at the border of a process: with more nothing is searched.
const MAX_THREADS: usize = 4096;

/// The exposed share of the parallelism of an interior process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Exposed {
    /// Threads of which no two share an object.
    pub independent: usize,
    /// Threads that communicate.
    pub threads: usize,
    /// Whether more threads are impossible; else the search ended early.
    pub is_exact: bool,
}

impl Exposed {
    /// The share of a plan; nothing for more than 4096 threads that communicate.
    ///
    /// # Errors
    /// When an interior process has too many messages for a plan.
    pub fn of(plan: &Plan) -> Result<Option<Self>, Error> {
        let interior = Plan::new(&plan.grid().interior(), plan.kind(), i32::MAX)?;
        let mut objects = BTreeMap::<usize, Vec<usize>>::new();
        let mut vertices = BTreeMap::<usize, usize>::new();
        for (thread, object) in interior.uses_of([0; 3]) {
            let next = vertices.len();
            let vertex = *vertices.entry(thread).or_insert(next);
            objects.entry(object).or_default().push(vertex);
        }
        let threads = vertices.len();
        if threads > MAX_THREADS {
            return Ok(None);
        }
        if plan.kind() == Kind::Tag {
            // Tags select VCIs one to one.
            objects.clear();
        }
        let mut conflicts = vec![Set::empty(threads); threads];
        for users in objects.values() {
            for (&one, &other) in users
                .iter()
                .flat_map(|one| users.iter().map(move |other| (one, other)))
            {
                if one != other {
                    conflicts[one].insert(other);
                }
            }
        }
        let mut search = Search {
            conflicts,
            best: 0,
            left: MAX_SETS,
        };
        let parts = search.components();
        let mut independent = 0;
        let mut is_exact = true;
        for part in parts {
            (search.best, search.left) = (0, MAX_SETS);
            search.extend(part, 0);
            independent += search.best;
            is_exact &= search.left > 0;
        }
        Ok(Some(Self {
            independent,
            threads,
            is_exact,
        }))
    }
}

impl std::fmt::Display for Exposed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let least = if self.is_exact { "" } else { "at least " };
        write!(f, "{least}{}/{}", self.independent, self.threads)
    }
}

/// A set of vertices.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn empty(vertices: usize) -> Self {
        Self(vec![0; vertices.div_ceil(64)])
    }

    fn insert(&mut self, vertex: usize) {
        self.0[vertex / 64] |= 1 << (vertex % 64);
    }

    fn remove(&mut self, vertex: usize) {
        self.0[vertex / 64] &= !(1 << (vertex % 64));
    }

    fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word * 64 + self.0[word].trailing_zeros() as usize)
    }

    fn keep(&mut self, other: &Self) {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(word, with)| *word &= with);
    }

    fn without(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(word, with)| word & !with)
                .collect(),
        )
    }
}

/// Branch and bound: candidates are covered by sets of which all members conflict, and of each of these one can be chosen.
struct Search {
    conflicts: Vec<Set>,
    best: usize,
    /// Sets that may still be looked at; 0 when the search ended early.
    left: usize,
}

impl Search {
    fn extend(&mut self, mut candidates: Set, chosen: usize) {
        self.left = self.left.saturating_sub(1);
        self.best = self.best.max(chosen);
        for (vertex, bound) in self.covered(&candidates).into_iter().rev() {
            if chosen + bound <= self.best || self.left == 0 {
                return;
            }
            candidates.remove(vertex);
            self.extend(candidates.without(&self.conflicts[vertex]), chosen + 1);
        }
    }

    /// The candidates, each with a bound of how many can be chosen among it and those before it.
    fn covered(&self, candidates: &Set) -> Vec<(usize, usize)> {
        let (mut rest, mut order, mut covers) = (candidates.clone(), Vec::new(), 0);
        while rest.first().is_some() {
            covers += 1;
            let mut together = rest.clone();
            while let Some(vertex) = together.first() {
                order.push((vertex, covers));
                rest.remove(vertex);
                together.keep(&self.conflicts[vertex]);
            }
        }
        order
    }

    /// Sets of vertices without conflicts between them.
    fn components(&self) -> Vec<Set> {
        let mut rest: BTreeSet<usize> = (0..self.conflicts.len()).collect();
        let mut components = Vec::new();
        while let Some(first) = rest.pop_first() {
            let (mut component, mut waiting) = (Set::empty(self.conflicts.len()), vec![first]);
            while let Some(vertex) = waiting.pop() {
                component.insert(vertex);
                let mut beside = self.conflicts[vertex].clone();
                while let Some(other) = beside.first() {
                    beside.remove(other);
                    if rest.remove(&other) {
                        waiting.push(other);
                    }
                }
            }
            components.push(component);
        }
        components
    }
}
