// SPDX-License-Identifier: MIT OR Apache-2.0
//! Divisions compared with the best ones, and of large and strange graphs.

use crate::graph::Graph;
use crate::partition::{Division, partition};
use crate::random::Random;

/// Nodes of these sizes, with neighbouring ranks.
fn blocks(sizes: &[usize]) -> Vec<u32> {
    let part = |(part, &size): (u32, &usize)| std::iter::repeat_n(part, size);
    (0..).zip(sizes).flat_map(part).collect()
}

fn sizes(parts: &[u32]) -> Vec<usize> {
    let last = parts.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sizes = vec![0; last];
    parts.iter().for_each(|&part| sizes[part as usize] += 1);
    sizes
}

fn shuffle(random: &mut Random, values: &mut [u32]) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.below(last + 1));
    }
}

/// The lowest cut of all divisions into two parts.
fn lowest(graph: &Graph, first: u32) -> u128 {
    let count = graph.vertices();
    let halves = (0u32..1 << count).filter(|half| half.count_ones() == first);
    let parts = |half: u32| (0..count).map(|v| half >> v & 1).collect::<Vec<u32>>();
    halves.map(|half| graph.cut(&parts(half))).min().unwrap()
}

/// A cube whose ranks exchange faces, edges and corners, all round, with these weights.
fn halo(dims: [u32; 3], weights: [u64; 3]) -> Graph {
    let mut edges = Vec::new();
    let rank = |c: [u32; 3]| (c[0] * dims[1] + c[1]) * dims[2] + c[2];
    for vertex in 0..dims.iter().product() {
        let at = [
            vertex / dims[2] / dims[1],
            vertex / dims[2] % dims[1],
            vertex % dims[2],
        ];
        for step in (0..27u32).filter(|&step| step != 13) {
            let steps = [step / 9, step / 3 % 3, step % 3];
            let to = std::array::from_fn(|d| (at[d] + dims[d] + steps[d] - 1) % dims[d]);
            let kind = steps.iter().filter(|&&one| one != 1).count();
            edges.push((vertex, rank(to), weights[kind - 1]));
        }
    }
    Graph::new(dims.iter().product(), edges)
}

fn random_graph(random: &mut Random, count: u32, edges: usize, heaviest: usize) -> Graph {
    let edges = (0..edges).map(|_| {
        let end = [0; 2].map(|_| random.below(count as usize) as u32);
        (end[0], end[1], random.below(heaviest) as u64)
    });
    Graph::new(count, edges.collect::<Vec<_>>())
}

#[test]
fn small_divisions_are_the_best() {
    let ring = Graph::grid(8, &[8], &[true]);
    assert_eq!(ring.cut(&partition(&ring, &[0, 1, 0, 1, 0, 1, 0, 1])), 2);
    for weights in [[1, 1, 1], [100, 10, 1], [1, 1000, 1_000_000]] {
        let cube = halo([2, 2, 2], weights);
        let found = partition(&cube, &[0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(cube.cut(&found), lowest(&cube, 4), "{weights:?}");
    }
}

#[test]
fn random_graphs_are_divided_nearly_best_and_never_worse() {
    let mut random = Random::new(7);
    let (mut sum, mut best) = (0, 0);
    for round in 0..200 {
        let count = 2 + random.below(10) as u32;
        let edges = random.below(4 * count as usize);
        let graph = random_graph(
            &mut random,
            count,
            edges,
            if round % 2 == 0 { 2 } else { 1000 },
        );
        let first = random.below(count as usize + 1);
        let mut given = blocks(&[count as usize - first, first]);
        shuffle(&mut random, &mut given);
        let found = partition(&graph, &given);
        assert_eq!(sizes(&found), sizes(&given));
        assert!(graph.cut(&found) <= graph.cut(&given));
        sum += graph.cut(&found);
        best += lowest(&graph, first as u32);
    }
    assert!(100 * sum <= 101 * best, "{sum} instead of {best}");
}

#[test]
fn unequal_nodes_keep_their_sizes() {
    let mut random = Random::new(3);
    let graph = Graph::grid(30, &[5, 6], &[false; 2]);
    let mut given = blocks(&[1, 12, 3, 7, 0, 7]);
    shuffle(&mut random, &mut given);
    let found = partition(&graph, &given);
    assert_eq!(sizes(&found), sizes(&given));
    assert!(2 * graph.cut(&found) < graph.cut(&given));
}

#[test]
fn strange_graphs_are_left_as_they_are() {
    for graph in [
        Graph::new(0, []),
        Graph::new(1, [(0, 0, 5)]),
        Graph::new(6, []),
    ] {
        let given: Vec<u32> = (0..graph.vertices() as u32).map(|v| v % 2).collect();
        assert_eq!(partition(&graph, &given), given);
    }
    let light = Graph::new(4, [(0, 1, 0), (2, 3, 0)]);
    assert_eq!(partition(&light, &[0, 1, 0, 1]), [0, 1, 0, 1]);
}

#[test]
fn components_are_not_torn() {
    let pairs = Graph::new(8, (0..4).map(|v| (v, v + 4, u64::MAX)));
    let found = partition(&pairs, &blocks(&[2, 2, 2, 2]));
    assert_eq!(pairs.cut(&found), 0);
}

#[test]
fn light_edges_count() {
    // Heavy pairs, which light edges connect to a ring.
    let heavy = (0..8).map(|pair| (2 * pair, 2 * pair + 1, 1_000_000_000));
    let light = (0..8).map(|pair| (2 * pair + 1, (2 * pair + 2) % 16, 1));
    let graph = Graph::new(16, heavy.chain(light));
    let mut given = blocks(&[4, 4, 4, 4]);
    shuffle(&mut Random::new(5), &mut given);
    assert_eq!(graph.cut(&partition(&graph, &given)), 4);
}

#[test]
fn many_ranks_take_a_bounded_number_of_steps() {
    for (each, weights) in [(6, [1, 1, 1]), (64, [1, 1, 1]), (6, [1 << 40, 1 << 20, 1])] {
        let graph = halo([16, 16, 12], weights);
        let given: Vec<u32> = (0..3072).map(|rank| rank / each).collect();
        let mut division = Division::new(&graph, &given);
        let found = division.best();
        assert_eq!(sizes(&found), sizes(&given));
        assert!(graph.cut(&found) < graph.cut(&given));
        assert!(division.steps < 60_000_000, "{} steps", division.steps);
        assert_eq!(found, partition(&graph, &given), "the same again");
    }
}
