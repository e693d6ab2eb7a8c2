// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much ranks send each other.

/// An undirected graph with weighted edges. It has no edge from a vertex to itself, and at most one between two vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each vertex end.
    ends: Vec<usize>,
    /// The neighbours of all vertices, those of each ascending, and the weights of the edges.
    edges: Vec<(u32, u128)>,
}

impl Graph {
    /// A graph of edges `(from, to, weight)`. The weights of all edges between two vertices, in both directions, are added.
    ///
    /// # Panics
    /// If an edge leads to a vertex that does not exist.
    pub fn new(vertices: u32, edges: impl IntoIterator<Item = (u32, u32, u64)>) -> Self {
        let mut all: Vec<(u32, u32, u128)> = Vec::new();
        for (from, to, weight) in edges {
            assert!(
                from < vertices && to < vertices,
                "edge {from}-{to} in a graph of {vertices} vertices"
            );
            if from != to {
                all.push((from, to, u128::from(weight)));
                all.push((to, from, u128::from(weight)));
            }
        }
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if same { next.2 } else { 0 };
            same
        });
        let mut ends = vec![0; vertices as usize];
        for edge in &all {
            ends[edge.0 as usize] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += *end;
            *end = before;
        }
        let edges = all.into_iter().map(|edge| (edge.1, edge.2)).collect();
        Self { ends, edges }
    }

    /// The graph of a grid in row-major order: each vertex exchanges a unit with its neighbours in each dimension, which is a
    /// ring where `periods` says so. `vertices` beyond the grid have no edges.
    ///
    /// # Panics
    /// If the grid has more places than there are vertices.
    pub fn grid(vertices: u32, dims: &[u32], periods: &[bool]) -> Self {
        let size = dims.iter().product();
        let (mut edges, mut stride) = (Vec::new(), size);
        for (&dim, &ring) in dims.iter().zip(periods) {
            stride /= dim;
            for vertex in 0..size {
                let coord = vertex / stride % dim;
                if coord + 1 < dim {
                    edges.push((vertex, vertex + stride, 1));
                } else if ring {
                    edges.push((vertex, vertex - coord * stride, 1));
                }
            }
        }
        Self::new(vertices, edges)
    }

    /// Number of vertices.
    pub(crate) const fn vertices(&self) -> usize {
        self.ends.len()
    }

    /// The neighbours of a vertex, and the weights of the edges to them.
    pub(crate) fn neighbours(&self, vertex: usize) -> &[(u32, u128)] {
        let start = if vertex == 0 {
            0
        } else {
            self.ends[vertex - 1]
        };
        &self.edges[start..self.ends[vertex]]
    }

    /// Number of edges, each counted at both ends.
    pub(crate) const fn ends_of_edges(&self) -> usize {
        self.edges.len()
    }

    /// The weight of all edges between vertices for which `differ` holds.
    pub(crate) fn weight_where(&self, differ: impl Fn(usize, usize) -> bool) -> u128 {
        let mut sum = 0;
        for vertex in 0..self.vertices() {
            let later = |edge: &&(u32, u128)| edge.0 as usize > vertex;
            for &(other, weight) in self.neighbours(vertex).iter().filter(later) {
                sum += if differ(vertex, other as usize) {
                    weight
                } else {
                    0
                };
            }
        }
        sum
    }

    /// The weight of all edges between different parts, where `parts` has the part of each vertex.
    ///
    /// # Panics
    /// If there are fewer parts than vertices.
    pub fn cut(&self, parts: &[u32]) -> u128 {
        self.weight_where(|one, other| parts[one] != parts[other])
    }

    /// The graph of some vertices, numbered as they are listed. `numbers` has [`u32::MAX`] for every vertex, before and after.
    pub(crate) fn of(&self, vertices: &[u32], numbers: &mut [u32]) -> Self {
        for (number, &vertex) in (0..).zip(vertices) {
            numbers[vertex as usize] = number;
        }
        let (mut ends, mut edges) = (Vec::with_capacity(vertices.len()), Vec::new());
        for &vertex in vertices {
            let inside = self.neighbours(vertex as usize).iter();
            let inside = inside.map(|&(other, weight)| (numbers[other as usize], weight));
            edges.extend(inside.filter(|edge| edge.0 != u32::MAX));
            ends.push(edges.len());
        }
        for &vertex in vertices {
            numbers[vertex as usize] = u32::MAX;
        }
        Self { ends, edges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_merged_and_work_both_ways() {
        let graph = Graph::new(4, [(0, 1, 2), (1, 0, 3), (2, 2, 9), (0, 1, 1), (3, 1, 0)]);
        assert_eq!(graph.neighbours(0), [(1, 6)]);
        assert_eq!(graph.neighbours(1), [(0, 6), (3, 0)]);
        assert_eq!(graph.neighbours(2), []);
        assert_eq!(graph.cut(&[0, 1, 1, 0]), 6);
    }

    #[test]
    fn a_grid_closes_its_rings() {
        let graph = Graph::grid(7, &[3, 2], &[true, false]);
        assert_eq!(graph.neighbours(0), [(1, 1), (2, 1), (4, 1)]);
        assert_eq!(graph.neighbours(6), []);
        // Both neighbours of a ring of two are the same, and a ring of one has none.
        assert_eq!(
            Graph::grid(2, &[2, 1], &[true, true]).neighbours(0),
            [(1, 2)]
        );
    }

    #[test]
    fn huge_weights_do_not_overflow() {
        let graph = Graph::new(3, [(0, 1, u64::MAX), (1, 0, u64::MAX), (1, 2, u64::MAX)]);
        assert_eq!(graph.cut(&[0, 1, 2]), 3 * u128::from(u64::MAX));
    }
}
