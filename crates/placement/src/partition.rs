// SPDX-License-Identifier: MIT OR Apache-2.0
//! Division of a graph into parts of exact sizes.
//!
//! Parts are found by recursive bisection: the list of parts is divided into two halves, the graph into sides of as many vertices, of
//! several starts the one with the lowest cut. Then each pair of parts that edges connect is divided anew, until no pair gains. The
//! division that was given goes through the second step, too.

use std::collections::BTreeSet;

use crate::bisect::{Sides, far_from, grow};
use crate::graph::Graph;
use crate::random::Random;

/// How many starts a bisection has in a small graph.
const MOST_STARTS: u64 = 8;

/// Edges that bisections may follow, about; larger graphs get fewer starts.
const STEPS: u64 = 20_000_000;

/// How often all pairs of parts are divided anew, at most.
const MOST_ROUNDS: usize = 6;

/// Divides a graph into as many parts of the same sizes as `given` has, which names the part of each vertex, so that little weight lies
/// on edges between parts. The result is `given` unless the weight is less.
///
/// Parts of the same size are interchangeable: those of the result have the numbers with which most vertices stay.
pub(crate) fn partition(graph: &Graph, given: &[u32]) -> Vec<u32> {
    assert_eq!(given.len(), graph.vertices(), "a part for each vertex");
    Division::new(graph, given).best()
}

/// A search for a division.
pub(crate) struct Division<'a> {
    graph: &'a Graph,
    given: &'a [u32],
    sizes: Vec<usize>,
    /// Starts of each bisection.
    starts: usize,
    /// For subgraphs: numbers of vertices.
    numbers: Vec<u32>,
    random: Random,
    /// Edges that were followed so far.
    pub(crate) steps: u64,
}

impl<'a> Division<'a> {
    pub(crate) fn new(graph: &'a Graph, given: &'a [u32]) -> Self {
        let parts = given.iter().max().map_or(0, |&last| last as usize + 1);
        let mut sizes = vec![0; parts];
        for &part in given {
            sizes[part as usize] += 1;
        }
        let levels = u64::from(parts.max(2).next_power_of_two().ilog2());
        // A pass follows each edge about twice, and there are a few passes.
        let once = 10 * (graph.ends_of_edges() as u64 + graph.vertices() as u64) * levels;
        Self {
            graph,
            given,
            sizes,
            starts: (STEPS / once.max(1)).clamp(1, MOST_STARTS) as usize,
            numbers: vec![u32::MAX; graph.vertices()],
            random: Random::new(0),
            steps: 0,
        }
    }

    pub(crate) fn best(&mut self) -> Vec<u32> {
        let before = self.graph.cut(self.given);
        if before == 0 {
            return self.given.to_vec();
        }
        let mut refined = self.given.to_vec();
        self.refine(&mut refined);
        let mut found = vec![0; self.given.len()];
        let all: Vec<u32> = (0..self.given.len() as u32).collect();
        let parts: Vec<u32> = (0..self.sizes.len() as u32).collect();
        self.bisect(all, &parts, &mut found);
        self.refine(&mut found);
        let candidates = [refined, found].map(|parts| (self.graph.cut(&parts), parts));
        match candidates.into_iter().min_by_key(|candidate| candidate.0) {
            Some((cut, parts)) if cut < before => self.renumber(&parts),
            _ => self.given.to_vec(),
        }
    }

    /// Divides the vertices among the parts.
    fn bisect(&mut self, vertices: Vec<u32>, parts: &[u32], found: &mut [u32]) {
        if let [part] = parts {
            for vertex in vertices {
                found[vertex as usize] = *part;
            }
            return;
        }
        let (left, right) = parts.split_at(parts.len() / 2);
        let size: usize = left.iter().map(|&part| self.sizes[part as usize]).sum();
        if size == 0 || size == vertices.len() {
            let (some, none) = if size == 0 {
                (right, left)
            } else {
                (left, right)
            };
            self.bisect(vertices, some, found);
            self.bisect(Vec::new(), none, found);
            return;
        }
        let inner = self.graph.of(&vertices, &mut self.numbers);
        let second = self.sides(&inner, size);
        let on_side = |side: bool| {
            let chosen = vertices.iter().zip(&second).filter(|one| *one.1 == side);
            chosen.map(|one| *one.0).collect()
        };
        self.bisect(on_side(false), left, found);
        self.bisect(on_side(true), right, found);
    }

    /// The best of several bisections with `size` vertices on the first side; the first start is the order of the vertices.
    fn sides(&mut self, graph: &Graph, size: usize) -> Vec<bool> {
        let count = graph.vertices();
        let mut best: Option<(u128, Vec<bool>)> = None;
        for start in 0..=self.starts {
            let second = if start == 0 {
                (0..count).map(|vertex| vertex >= size).collect()
            } else {
                let seed = self.random.below(count);
                self.steps += graph.ends_of_edges() as u64;
                grow(graph, far_from(graph, seed), size)
            };
            let mut sides = Sides::new(graph, second);
            sides.refine();
            self.steps += sides.steps;
            let cut = sides.cut();
            if best.as_ref().is_none_or(|best| cut < best.0) {
                best = Some((cut, sides.second));
            }
        }
        best.map_or_else(Vec::new, |best| best.1)
    }

    /// Divides pairs of parts anew. Edges to third parts are cut before and after, so only those inside the pair count.
    fn refine(&mut self, parts: &mut [u32]) {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.sizes.len()];
        for (vertex, &part) in (0..).zip(parts.iter()) {
            members[part as usize].push(vertex);
        }
        let mut is_new = vec![true; self.sizes.len()];
        for _ in 0..MOST_ROUNDS {
            let pairs = self.connected(parts, &is_new);
            is_new.fill(false);
            for (one, other) in pairs {
                let (one, other) = (one as usize, other as usize);
                let both = [&members[one][..], &members[other]].concat();
                let inner = self.graph.of(&both, &mut self.numbers);
                let second = (0..both.len()).map(|index| index >= members[one].len());
                let mut sides = Sides::new(&inner, second.collect());
                let before = sides.cut();
                sides.refine();
                self.steps += sides.steps;
                if sides.cut() == before {
                    continue;
                }
                members[one].clear();
                members[other].clear();
                for (&vertex, &is_second) in both.iter().zip(&sides.second) {
                    let part = if is_second { other } else { one };
                    parts[vertex as usize] = part as u32;
                    members[part].push(vertex);
                }
                (is_new[one], is_new[other]) = (true, true);
            }
            if !is_new.contains(&true) {
                break;
            }
        }
    }

    /// Pairs of parts with edges between them, of which one has changed.
    fn connected(&self, parts: &[u32], is_new: &[bool]) -> BTreeSet<(u32, u32)> {
        let mut pairs = BTreeSet::new();
        for (vertex, &part) in parts.iter().enumerate() {
            for &(other, weight) in self.graph.neighbours(vertex) {
                let there = parts[other as usize];
                let changed = is_new[part as usize] || is_new[there as usize];
                if part < there && weight > 0 && changed {
                    pairs.insert((part, there));
                }
            }
        }
        pairs
    }

    /// Gives parts the numbers of given ones of the same size, those with the most common vertices first.
    fn renumber(&self, parts: &[u32]) -> Vec<u32> {
        let mut pairs: Vec<(u32, u32)> = parts
            .iter()
            .copied()
            .zip(self.given.iter().copied())
            .collect();
        pairs.sort_unstable();
        let runs = pairs.chunk_by(|one, other| one == other);
        let mut common: Vec<(usize, (u32, u32))> = runs.map(|run| (run.len(), run[0])).collect();
        common.sort_unstable_by_key(|&(count, pair)| (std::cmp::Reverse(count), pair));
        let mut number: Vec<Option<u32>> = vec![None; self.sizes.len()];
        let mut is_taken = vec![false; self.sizes.len()];
        let size = |part: u32| self.sizes[part as usize];
        for (_, (part, given)) in common {
            let is_free = number[part as usize].is_none() && !is_taken[given as usize];
            if is_free && size(part) == size(given) {
                number[part as usize] = Some(given);
                is_taken[given as usize] = true;
            }
        }
        for part in 0..self.sizes.len() {
            if number[part].is_none() {
                let free = (0..self.sizes.len())
                    .find(|&given| !is_taken[given] && self.sizes[given] == self.sizes[part]);
                number[part] = free.map(|given| given as u32);
                is_taken[free.unwrap_or(part)] = true;
            }
        }
        parts
            .iter()
            .map(|&part| number[part as usize].unwrap_or(part))
            .collect()
    }
}
