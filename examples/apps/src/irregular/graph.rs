// SPDX-License-Identifier: MIT OR Apache-2.0
//! A random graph, whose vertices are dealt to all threads of all processes in blocks.

use std::ops::Range;

use crate::hash::hash_of;
use crate::threads::{part, part_with};

/// The graph, the same in all processes.
#[derive(Clone, Copy, Debug)]
pub struct Graph {
    /// Number of vertices.
    pub vertices: usize,
    /// Number of edges.
    pub edges: usize,
    /// Threads of all processes, numbered process by process.
    pub members: usize,
}

impl Graph {
    /// The ends of all edges.
    pub fn edges(&self) -> impl Iterator<Item = [usize; 2]> {
        let vertices = self.vertices as u64;
        let ends =
            move |edge| [0, 1].map(|end: u64| (hash_of([edge as u64, end, 3]) % vertices) as usize);
        (0..self.edges).map(ends)
    }

    /// The vertices of a thread.
    pub const fn block(&self, member: usize) -> Range<usize> {
        part(&(0..self.vertices), member, self.members)
    }

    /// The thread that has a vertex.
    pub const fn owner(&self, vertex: usize) -> usize {
        part_with(vertex, self.vertices, self.members)
    }

    /// For each vertex of a thread the vertices beside it.
    pub fn beside(&self, member: usize) -> Vec<Vec<usize>> {
        let block = self.block(member);
        let mut all = vec![Vec::new(); block.len()];
        for [one, other] in self.edges() {
            for (from, to) in [(one, other), (other, one)] {
                if block.contains(&from) {
                    all[from - block.start].push(to);
                }
            }
        }
        all
    }

    /// For each vertex the smallest one of its component, computed serially: by parents that are never larger.
    pub fn components(&self) -> Vec<usize> {
        let mut parents: Vec<usize> = (0..self.vertices).collect();
        fn root(parents: &mut [usize], mut vertex: usize) -> usize {
            while parents[vertex] != vertex {
                parents[vertex] = parents[parents[vertex]];
                vertex = parents[vertex];
            }
            vertex
        }
        for [one, other] in self.edges() {
            let roots = [root(&mut parents, one), root(&mut parents, other)];
            let [one, other] = roots;
            parents[one.max(other)] = one.min(other);
        }
        (0..self.vertices)
            .map(|it| root(&mut parents, it))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_an_edge_have_one_component() {
        let graph = Graph {
            vertices: 40,
            edges: 25,
            members: 3,
        };
        let components = graph.components();
        assert!(
            graph
                .edges()
                .all(|[one, other]| components[one] == components[other])
        );
        assert!(
            components
                .iter()
                .enumerate()
                .all(|(it, &least)| least <= it)
        );
        // Fewer edges than vertices cannot join all.
        assert!(components.iter().any(|&it| it > 0));
        for vertex in 0..40 {
            assert!(graph.block(graph.owner(vertex)).contains(&vertex));
        }
        let beside: usize = (0..3)
            .flat_map(|it| graph.beside(it))
            .map(|it| it.len())
            .sum();
        assert_eq!(beside, 2 * 25);
    }
}
