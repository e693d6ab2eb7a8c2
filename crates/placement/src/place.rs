// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes for the ranks of a graph, on nodes.

use crate::graph::Graph;
use crate::partition::partition;
use crate::random::Random;

/// Ranks up to which the library places them: every process calculates the places of all.
pub const MOST_RANKS: u32 = 1 << 14;

/// The process that gets each rank, a vertex of the graph, where `nodes` has the node of each process, numbered from 0. A rank keeps the
/// process with its number where that is on the right node; `None` if all do, because nothing is gained.
///
/// # Panics
/// If there are not as many processes as ranks.
pub fn place(graph: &Graph, nodes: &[u32]) -> Option<Vec<u32>> {
    let found = partition(graph, nodes);
    (found != nodes).then(|| fill(nodes, &found))
}

/// Processes for ranks at random, the same at each call with the same seed: what a placement is compared with.
pub fn shuffle(ranks: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut processes: Vec<u32> = (0..ranks).collect();
    for last in (1..processes.len()).rev() {
        processes.swap(last, random.below(last + 1));
    }
    processes
}

/// Gives ranks processes of their new node: their own if it is there, and the others in order.
fn fill(given: &[u32], found: &[u32]) -> Vec<u32> {
    let mut processes: Vec<u32> = (0..given.len() as u32).collect();
    let moved = |&rank: &u32| given[rank as usize] != found[rank as usize];
    let mut free: Vec<u32> = processes.iter().copied().filter(moved).collect();
    let mut comers = free.clone();
    // Equally many leave a node and come to it, so both lists have the same nodes in the same places.
    free.sort_by_key(|&process| given[process as usize]);
    comers.sort_by_key(|&rank| found[rank as usize]);
    for (rank, process) in comers.into_iter().zip(free) {
        processes[rank as usize] = process;
    }
    processes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weight of edges between nodes, where each rank is played by one of the processes.
    fn crossing(graph: &Graph, nodes: &[u32], processes: &[u32]) -> u128 {
        let mut all = processes.to_vec();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..nodes.len() as u32), "{processes:?}");
        let node = |&process: &u32| nodes[process as usize];
        graph.cut(&processes.iter().map(node).collect::<Vec<_>>())
    }

    #[test]
    fn a_ring_of_scattered_ranks_crosses_nodes_twice() {
        let ring = Graph::grid(8, &[8], &[true]);
        let nodes = [0, 1, 0, 1, 0, 1, 0, 1];
        assert_eq!(ring.cut(&nodes), 8);
        let processes = place(&ring, &nodes).unwrap();
        assert_eq!(crossing(&ring, &nodes, &processes), 2);
        let kept = (0..)
            .zip(&processes)
            .filter(|(rank, process)| rank == *process);
        assert_eq!(kept.count(), 4, "{processes:?}");
    }

    #[test]
    fn ranks_stay_where_nothing_is_gained() {
        let ring = Graph::grid(8, &[8], &[true]);
        for nodes in [[0; 8], [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6, 7]] {
            assert_eq!(place(&ring, &nodes), None);
        }
        assert_eq!(place(&Graph::new(0, []), &[]), None);
    }

    #[test]
    fn a_shuffle_has_every_process_once() {
        for ranks in [0, 1, 2, 100] {
            let mut all = shuffle(ranks, 0);
            assert_eq!(all, shuffle(ranks, 0));
            assert_eq!(ranks == 100, !all.is_sorted(), "{all:?}");
            all.sort_unstable();
            assert!(all.into_iter().eq(0..ranks));
        }
    }

    #[test]
    fn ranks_beyond_the_graph_take_what_is_left() {
        // Four of six processes form a ring; the first node has two of them, the second four.
        let ring = Graph::grid(6, &[4], &[true]);
        let nodes = [0, 0, 1, 1, 1, 1];
        let processes = place(&ring, &nodes).unwrap();
        assert_eq!(crossing(&ring, &nodes, &processes), 0);
        assert_eq!(processes[4..], [0, 1]);
    }
}
