// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placements of ranks, and what crosses nodes with each.

use placement::{Graph, place};

use super::options::{MapBy, PlacementOptions};
use super::pattern::Pattern;
use super::times::{Costs, Times};

/// Processes for all ranks, and what crosses nodes.
pub(super) struct Placed {
    pub(super) name: &'static str,
    /// The process of each rank.
    pub(super) process_of: Vec<u32>,
    /// The node of each rank.
    pub(super) node_of: Vec<u32>,
    /// The weight of messages between nodes.
    pub(super) between: u64,
    /// The weight of messages that enter or leave each node.
    pub(super) of_nodes: Vec<u64>,
    pub(super) times: Option<Times>,
}

/// The expected values of a random order of the ranks.
pub(super) struct Random {
    pub(super) between: u64,
    pub(super) mean_ns: Option<f64>,
}

/// The answer of `rankpoint explain placement`.
pub(super) struct Answer {
    pub(super) pattern: Pattern,
    pub(super) nodes: u32,
    pub(super) per_node: u32,
    /// The ranks in order, and as the launcher starts them if that differs.
    pub(super) started: Vec<Placed>,
    pub(super) random: Random,
    /// The placements that the library finds with `reorder`: for the grid, and for the weighted messages if those differ.
    pub(super) found: Vec<Placed>,
    pub(super) costs: Option<Costs>,
}

const IN_ORDER: &str = "in order";
const ROUND_NODES: &str = "round the nodes";
const GRID: &str = "MPI_Cart_create";
const EDGES: &str = "MPI_Dist_graph_create";

impl Answer {
    /// The answer to the options.
    ///
    /// # Errors
    /// When they do not fit each other, or files cannot be read.
    pub(super) fn new(options: &PlacementOptions) -> Result<Self, String> {
        let processes = options.processes()?;
        let pattern = Pattern::of(options, processes)?;
        let costs = match options.wants_times() {
            true if !pattern.has_bytes => {
                return Err(
                    "--times: expected bytes of messages (--bytes, or in the file)".to_owned(),
                );
            }
            true => Some(Costs::of(&options.profile.load()?)?),
            false => None,
        };
        let place_of = |process: u32| match options.map_by {
            MapBy::Slot => process / options.per_node,
            MapBy::Node => process % options.nodes,
        };
        let nodes: Vec<u32> = (0..processes).map(place_of).collect();
        let counting = Counting {
            pattern: &pattern,
            costs: costs.as_ref(),
            nodes: options.nodes,
        };
        let identity: Vec<u32> = (0..processes).collect();
        let blocks: Vec<u32> = (0..processes).map(|rank| rank / options.per_node).collect();
        let mut started = vec![counting.placed(IN_ORDER, identity.clone(), &blocks)];
        if options.map_by == MapBy::Node {
            started.push(counting.placed(ROUND_NODES, identity.clone(), &nodes));
        }
        let by = |name, graph: &Graph| {
            let found = place(graph, &nodes);
            counting.placed(name, found.unwrap_or_else(|| identity.clone()), &nodes)
        };
        let mut found: Vec<Placed> = pattern.grid.iter().map(|grid| by(GRID, grid)).collect();
        if pattern.grid.is_none() || pattern.is_uneven() {
            let edges = pattern.messages.iter().copied();
            found.push(by(EDGES, &Graph::new(processes, edges)));
        }
        let random = counting.random(processes);
        Ok(Self {
            started,
            random,
            found,
            nodes: options.nodes,
            per_node: options.per_node,
            pattern,
            costs,
        })
    }

    /// How the ranks are started, and where the library places them at best.
    pub(super) fn ends(&self) -> Option<(&Placed, &Placed)> {
        Some((self.started.last()?, self.found.last()?))
    }
}

/// Counts what crosses nodes.
struct Counting<'a> {
    pattern: &'a Pattern,
    costs: Option<&'a Costs>,
    nodes: u32,
}

impl Counting<'_> {
    fn placed(&self, name: &'static str, process_of: Vec<u32>, nodes: &[u32]) -> Placed {
        let node_of: Vec<u32> = process_of
            .iter()
            .map(|&process| nodes[process as usize])
            .collect();
        let ends = |from: u32, to: u32| [node_of[from as usize], node_of[to as usize]];
        let (mut between, mut of_nodes) = (0, vec![0; self.nodes as usize]);
        for &(from, to, weight) in &self.pattern.messages {
            let [here, there] = ends(from, to);
            if here != there {
                between += weight;
                of_nodes[here as usize] += weight;
                of_nodes[there as usize] += weight;
            }
        }
        let times = self.costs.map(|costs| {
            costs.times(&self.pattern.messages, node_of.len(), |message| {
                let [here, there] = ends(message.0, message.1);
                if here == there { 0.0 } else { 1.0 }
            })
        });
        Placed {
            name,
            process_of,
            node_of,
            between,
            of_nodes,
            times,
        }
    }

    fn random(&self, processes: u32) -> Random {
        // Of the other processes, so many are on other nodes than one of them.
        let elsewhere = processes - processes / self.nodes;
        let share = f64::from(elsewhere) / f64::from((processes - 1).max(1));
        let between = self.pattern.total() as f64 * share;
        let messages = &self.pattern.messages;
        let mean = |costs: &Costs| costs.times(messages, processes as usize, |_| share).mean_ns;
        Random {
            between: between.round() as u64,
            mean_ns: self.costs.map(mean),
        }
    }
}
