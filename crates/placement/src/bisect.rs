// SPDX-License-Identifier: MIT OR Apache-2.0
//! Division of a graph into two sides of exact sizes.
//!
//! A pass moves each vertex once, the one that lowers the cut most first (Fiduccia and Mattheyses, 1982): from the side that is
//! too large, or from either if both sizes are right, so that sizes are never off by more than one. The pass keeps its moves up to the
//! state of lowest cut among those with the right sizes; passes are repeated while they find one. A pass may go through
//! worse states to a better one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::Graph;

/// How many passes are worth their time.
const MOST_PASSES: usize = 8;

/// A vertex that waits to be moved: what the move gains, then the latest first, then the vertex.
type Waiting = (i128, u32, Reverse<u32>);

/// A division of a graph's vertices among two sides.
pub(crate) struct Sides<'a> {
    graph: &'a Graph,
    /// Whether each vertex is on the second side.
    pub(crate) second: Vec<bool>,
    /// What the cut loses if a vertex moves.
    gains: Vec<i128>,
    /// Edges that were followed so far, as a measure of work.
    pub(crate) steps: u64,
}

impl<'a> Sides<'a> {
    pub(crate) fn new(graph: &'a Graph, second: Vec<bool>) -> Self {
        let mut sides = Self {
            graph,
            gains: vec![0; second.len()],
            second,
            steps: 0,
        };
        for vertex in 0..graph.vertices() {
            let gain = |&(other, weight): &(u32, u128)| {
                let crosses = sides.second[vertex] != sides.second[other as usize];
                if crosses {
                    weight as i128
                } else {
                    -(weight as i128)
                }
            };
            sides.gains[vertex] = graph.neighbours(vertex).iter().map(gain).sum();
        }
        sides
    }

    /// The weight of the edges between the sides.
    pub(crate) fn cut(&self) -> u128 {
        self.graph
            .weight_where(|one, other| self.second[one] != self.second[other])
    }

    /// Moves a vertex; `changed` gets each neighbour.
    fn move_over(&mut self, vertex: usize, mut changed: impl FnMut(usize, i128)) {
        self.second[vertex] = !self.second[vertex];
        self.gains[vertex] = -self.gains[vertex];
        for &(other, weight) in self.graph.neighbours(vertex) {
            let other = other as usize;
            let twice = 2 * weight as i128;
            let crosses = self.second[vertex] != self.second[other];
            self.gains[other] += if crosses { twice } else { -twice };
            changed(other, self.gains[other]);
        }
        self.steps += self.graph.neighbours(vertex).len() as u64 + 1;
    }

    /// Lowers the cut and keeps the sizes.
    pub(crate) fn refine(&mut self) {
        for _ in 0..MOST_PASSES {
            if !self.pass() {
                break;
            }
        }
    }

    /// One pass; returns whether the cut is lower now.
    fn pass(&mut self) -> bool {
        let count = self.second.len();
        // Further moves without a better state are in vain.
        let patience = 50.max(count / 8);
        let mut heaps = [BinaryHeap::<Waiting>::new(), BinaryHeap::new()];
        for vertex in 0..count {
            let waiting = (self.gains[vertex], 0, Reverse(vertex as u32));
            heaps[usize::from(self.second[vertex])].push(waiting);
        }
        let mut moved = vec![false; count];
        let mut moves = Vec::new();
        // Vertices that the first side has too many, what was gained, and the best of that with the number of its moves.
        let (mut surplus, mut gained, mut best) = (0i32, 0i128, (0i128, 0usize));
        let mut stamp = 0;
        while moves.len() < best.1 + patience {
            for heap in &mut heaps {
                while heap.peek().is_some_and(|&(gain, _, Reverse(vertex))| {
                    moved[vertex as usize] || self.gains[vertex as usize] != gain
                }) {
                    heap.pop();
                }
            }
            let side = match surplus {
                1 => 0,
                -1 => 1,
                _ if heaps[0].is_empty() || heaps[1].is_empty() => break,
                _ => usize::from(heaps[1].peek() > heaps[0].peek()),
            };
            let Some((gain, _, Reverse(vertex))) = heaps[side].pop() else {
                break;
            };
            let vertex = vertex as usize;
            moved[vertex] = true;
            stamp += 1;
            let mut touched = Vec::new();
            self.move_over(vertex, |other, gain| touched.push((other, gain)));
            for (other, gain) in touched.into_iter().filter(|&(other, _)| !moved[other]) {
                heaps[usize::from(self.second[other])].push((gain, stamp, Reverse(other as u32)));
            }
            moves.push(vertex);
            gained += gain;
            surplus += if side == 0 { -1 } else { 1 };
            if surplus == 0 && gained > best.0 {
                best = (gained, moves.len());
            }
        }
        for &vertex in moves[best.1..].iter().rev() {
            self.move_over(vertex, |_, _| {});
        }
        best.0 > 0
    }
}

/// The first side grown from a vertex to `size` vertices: next comes the vertex with which the cut is lowest, of equals the one that
/// was reached first.
pub(crate) fn grow(graph: &Graph, seed: usize, size: usize) -> Vec<bool> {
    let count = graph.vertices();
    let mut sides = Sides::new(graph, vec![true; count]);
    let mut heap = BinaryHeap::new();
    let mut reached: Vec<Option<u32>> = vec![None; count];
    let (mut stamp, mut grown, mut unreached) = (0u32, 0, 0);
    reached[seed] = Some(stamp);
    heap.push((sides.gains[seed], Reverse(stamp), seed));
    while grown < size {
        let Some((gain, _, vertex)) = heap.pop() else {
            // The rest is not connected with what was grown.
            while reached[unreached].is_some() {
                unreached += 1;
            }
            stamp += 1;
            reached[unreached] = Some(stamp);
            heap.push((sides.gains[unreached], Reverse(stamp), unreached));
            continue;
        };
        if !sides.second[vertex] || gain != sides.gains[vertex] {
            continue;
        }
        grown += 1;
        let mut touched = Vec::new();
        sides.move_over(vertex, |other, gain| touched.push((other, gain)));
        for (other, gain) in touched {
            if sides.second[other] {
                stamp += u32::from(reached[other].is_none());
                let when = *reached[other].get_or_insert(stamp);
                heap.push((gain, Reverse(when), other));
            }
        }
    }
    sides.second
}

/// A vertex that is far from `start`: the last one that a breadth-first search reaches.
pub(crate) fn far_from(graph: &Graph, start: usize) -> usize {
    let mut is_reached = vec![false; graph.vertices()];
    is_reached[start] = true;
    let (mut queue, mut next) = (vec![start], 0);
    while next < queue.len() {
        for &(other, _) in graph.neighbours(queue[next]) {
            let other = other as usize;
            if !is_reached[other] {
                is_reached[other] = true;
                queue.push(other);
            }
        }
        next += 1;
    }
    queue[next - 1]
}
