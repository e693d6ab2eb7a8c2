// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes for the ranks of a graph, on a cluster of nodes and parts of nodes.

use crate::graph::Graph;
use crate::partition::partition;

/// Where processes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// For each level, the outermost first, the unit of each process.
    levels: Vec<Vec<u32>>,
}

impl Cluster {
    /// A cluster whose nodes have processes of the same distance: the node of each process.
    pub fn of_nodes(nodes: &[u32]) -> Self {
        Self {
            levels: vec![numbered(nodes.iter().map(|&node| (0, node)))],
        }
    }

    /// The cluster with its units divided further: the group of each process within its unit.
    ///
    /// # Panics
    /// If there is not one for each process.
    #[must_use]
    pub fn divided(mut self, groups: &[u32]) -> Self {
        assert_eq!(groups.len(), self.processes(), "a group for each process");
        let inner = self.levels.last().into_iter().flatten().copied();
        let units = numbered(inner.zip(groups.iter().copied()));
        self.levels.push(units);
        self
    }

    /// Number of processes.
    pub fn processes(&self) -> usize {
        self.levels.first().map_or(0, Vec::len)
    }
}

/// Numbers from 0 for pairs, in ascending order.
fn numbered(pairs: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let pairs: Vec<(u32, u32)> = pairs.collect();
    let mut all = pairs.clone();
    all.sort_unstable();
    all.dedup();
    let number = |pair| all.partition_point(|other| other < pair) as u32;
    pairs.iter().map(number).collect()
}

/// The weight of edges between the units of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Of ranks as they lie.
    pub before: u128,
    /// Of ranks as they are placed.
    pub after: u128,
}

/// Which process plays which rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The process that gets each rank.
    pub process_of: Vec<u32>,
    /// What crosses the units of each level, the outermost first. What crosses an outer level crosses all inner ones.
    pub levels: Vec<Crossing>,
    /// The weight of all edges.
    pub total: u128,
}

impl Placement {
    /// Whether each process keeps its rank.
    pub fn is_identity(&self) -> bool {
        (0..)
            .zip(&self.process_of)
            .all(|(rank, &process)| rank == process)
    }

    /// The time of all messages, one after the other, before and after, where `costs` has what a unit of weight costs across each
    /// level, the outermost first, and last, what it costs in the innermost unit. Missing costs are 0.
    pub fn times(&self, costs: &[f64]) -> (f64, f64) {
        let time = |weight: fn(&Crossing) -> u128| {
            let mut outside = 0;
            let mut sum = 0.0;
            let ends = self.levels.iter().map(weight).chain([self.total]);
            for (end, cost) in ends.zip(costs) {
                sum += (end - outside) as f64 * cost;
                outside = end;
            }
            sum
        };
        (time(|level| level.before), time(|level| level.after))
    }
}

/// Finds a process for each rank, a vertex of the graph: first nodes, then the parts of nodes. A rank keeps the process with its number
/// where that is in the right place, and all do if nothing is gained.
///
/// # Panics
/// If the graph has not as many vertices as the cluster has processes.
pub fn place(graph: &Graph, cluster: &Cluster) -> Placement {
    assert_eq!(
        graph.vertices(),
        cluster.processes(),
        "a process for each rank"
    );
    let count = graph.vertices();
    let identity: Vec<u32> = (0..count as u32).collect();
    let mut placed = identity.clone();
    let mut outer = vec![0; count];
    for units in &cluster.levels {
        placed = within(graph, &outer, units, &placed);
        outer.clone_from(units);
    }
    let crossing = |units: &[u32], order: &[u32]| {
        let unit = |rank: usize| units[order[rank] as usize];
        graph.weight_where(|one, other| unit(one) != unit(other))
    };
    let levels = cluster.levels.iter().map(|units| Crossing {
        before: crossing(units, &identity),
        after: crossing(units, &placed),
    });
    let levels: Vec<Crossing> = levels.collect();
    let gains = levels.iter().find(|level| level.before != level.after);
    let (process_of, levels) = if gains.is_some_and(|level| level.after < level.before) {
        (placed, levels)
    } else {
        let same = |level: &Crossing| Crossing {
            before: level.before,
            after: level.before,
        };
        (identity, levels.iter().map(same).collect())
    };
    Placement {
        process_of,
        levels,
        total: graph.weight_where(|_, _| true),
    }
}

/// Places ranks in the units of a level; they stay in their unit of the level outside it.
fn within(graph: &Graph, outer: &[u32], units: &[u32], placed: &[u32]) -> Vec<u32> {
    let mut ranks: Vec<Vec<u32>> = Vec::new();
    for (rank, &process) in (0..).zip(placed) {
        let unit = outer[process as usize] as usize;
        ranks.resize_with(ranks.len().max(unit + 1), Vec::new);
        ranks[unit].push(rank);
    }
    let mut numbers = vec![u32::MAX; placed.len()];
    let mut result = placed.to_vec();
    for ranks in ranks {
        let inner = graph.of(&ranks, &mut numbers);
        let unit_at = |&rank: &u32| (0, units[placed[rank as usize] as usize]);
        let given = numbered(ranks.iter().map(unit_at));
        let found = partition(&inner, &given);
        fill(&ranks, placed, &given, &found, &mut result);
    }
    result
}

/// Gives ranks the processes of their new part: their own if it is there, and the others in order.
fn fill(ranks: &[u32], placed: &[u32], given: &[u32], found: &[u32], result: &mut [u32]) {
    let moved = || (0..ranks.len()).filter(|&index| given[index] != found[index]);
    let mut free: Vec<(u32, u32)> = moved()
        .map(|index| (given[index], placed[ranks[index] as usize]))
        .collect();
    let mut comers: Vec<(u32, u32)> = moved().map(|index| (found[index], ranks[index])).collect();
    // Equally many leave a part and come to it, so both lists have the same parts in the same places.
    free.sort_unstable();
    comers.sort_unstable();
    for ((_, rank), (_, process)) in comers.into_iter().zip(free) {
        result[rank as usize] = process;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(placement: &Placement) -> Vec<u32> {
        let mut all = placement.process_of.clone();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_ring_of_scattered_ranks_crosses_nodes_twice() {
        let ring = Graph::grid(8, &[8], &[true]);
        let placement = place(&ring, &Cluster::of_nodes(&[3, 5, 3, 5, 3, 5, 3, 5]));
        let expected = Crossing {
            before: 8,
            after: 2,
        };
        assert_eq!(
            (&placement.levels[..], placement.total),
            (&[expected][..], 8)
        );
        assert_eq!(sorted(&placement), (0..8).collect::<Vec<_>>());
        assert_eq!(placement.times(&[5.0, 1.0]), (40.0, 16.0));
    }

    #[test]
    fn ranks_stay_where_nothing_is_gained() {
        let ring = Graph::grid(8, &[8], &[true]);
        for nodes in [[0; 8], [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6, 7]] {
            assert!(place(&ring, &Cluster::of_nodes(&nodes)).is_identity());
        }
        assert!(place(&Graph::new(0, []), &Cluster::of_nodes(&[])).is_identity());
    }

    #[test]
    fn parts_of_nodes_come_after_nodes() {
        let ring = Graph::grid(16, &[16], &[true]);
        let scattered: Vec<u32> = (0..16).map(|process| process % 2).collect();
        let groups: Vec<u32> = (0..16).map(|process| process / 2 % 2).collect();
        let placement = place(&ring, &Cluster::of_nodes(&scattered).divided(&groups));
        let after: Vec<u128> = placement.levels.iter().map(|level| level.after).collect();
        assert_eq!(after, [2, 4]);
        assert_eq!(sorted(&placement), (0..16).collect::<Vec<_>>());
        // A cluster whose nodes are right may gain inside them.
        let blocks: Vec<u32> = (0..16).map(|process| process / 8).collect();
        let odd: Vec<u32> = (0..16).map(|process| process % 2).collect();
        let placement = place(&ring, &Cluster::of_nodes(&blocks).divided(&odd));
        let after: Vec<u128> = placement.levels.iter().map(|level| level.after).collect();
        assert_eq!(after, [2, 4]);
    }

    #[test]
    fn ranks_beyond_the_graph_take_what_is_left() {
        // Four of six processes form a ring; the first node has two of them, the second four.
        let ring = Graph::grid(6, &[4], &[true]);
        let placement = place(&ring, &Cluster::of_nodes(&[0, 0, 1, 1, 1, 1]));
        assert_eq!(placement.levels[0].after, 0);
        let unused = &placement.process_of[4..];
        assert_eq!(unused, [0, 1]);
    }
}
