// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators with graphs (MPI-5.0, sections 8.5.3 and 8.5.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Topology;
use super::agree::{Argument, check_same};
use super::reorder::{may_move, played, players};
use crate::coll;
use crate::comm::Comm;
pub use crate::comm::topology::graph::{DistGraph, Graph};
use crate::create;
use crate::errors::{Error, ErrorClass, Result};
use crate::task::run_collective;

/// A communicator with a graph (MPI_Graph_create); `None` on ranks that are no nodes.
///
/// # Errors
/// Those of [`Graph::new`]; where ranks compare their calls, MPI_ERR_ARG for arguments that differ.
pub fn create(
    comm: &Arc<Comm>,
    index: &[i32],
    edges: &[i32],
    reorder: bool,
) -> Result<Option<Arc<Comm>>> {
    let call = "MPI_Graph_create";
    check_same(comm, call, || {
        vec![
            Argument::number("nnodes", index.len() as i32),
            Argument::numbers("indx", index),
            Argument::numbers("edges", edges),
            Argument::flag("reorder", reorder),
        ]
    })?;
    let graph = Graph::new(index, edges, comm.size() as u32)?;
    let rank = rank_played(comm, &graph, reorder);
    let inside = (rank as usize) < graph.index.len();
    let color = if inside { 0 } else { create::UNDEFINED };
    let made = create::split(comm, color, rank, call)?;
    if let Some(made) = &made {
        made.set_topology(Topology::Graph(Arc::new(graph)));
    }
    Ok(made)
}

/// The rank that this process plays in a graph (MPI_Graph_map); ranks that are no nodes have no place in it.
pub fn rank_played(comm: &Comm, graph: &Graph, reorder: bool) -> i32 {
    let edges_of = |node: u32| {
        let others = graph.neighbours(node).iter();
        others.map(move |&other| (node, other as u32, 1))
    };
    let whole = |ranks| {
        let nodes = 0..graph.index.len() as u32;
        placement::Graph::new(ranks, nodes.flat_map(edges_of))
    };
    played(comm, players(comm, reorder, whole).as_ref())
}

/// Whether these are ranks of the communicator.
///
/// # Errors
/// MPI_ERR_RANK.
pub fn check_ranks(comm: &Comm, argument: &'static str, ranks: &[i32]) -> Result<()> {
    let is_outside = |rank: &i32| !(0..comm.size()).contains(rank);
    let Some(place) = ranks.iter().position(is_outside) else {
        return Ok(());
    };
    let expected = format!("ranks, 0..{}", comm.size() - 1);
    let error = Error::argument(ErrorClass::ERR_RANK, argument, ranks[place], expected);
    Err(error.at_index(place))
}

/// A communicator with a distributed graph whose edges each rank gives for itself (MPI_Dist_graph_create_adjacent).
///
/// # Errors
/// MPI_ERR_RANK for a neighbour outside the communicator; where ranks compare their calls, MPI_ERR_ARG for arguments that differ, and
/// MPI_ERR_TOPOLOGY for an edge of which the two ends say different things.
pub fn create_adjacent(
    comm: &Arc<Comm>,
    graph: DistGraph,
    reorder: bool,
) -> Result<Option<Arc<Comm>>> {
    let call = "MPI_Dist_graph_create_adjacent";
    check_same(comm, call, || {
        vec![
            Argument::weighted("sourceweights", graph.weights.is_some()),
            Argument::flag("reorder", reorder),
        ]
    })?;
    check_ranks(comm, "sources", &graph.sources)?;
    check_ranks(comm, "destinations", &graph.destinations)?;
    if comm.process().settings().check.collectives {
        check_edges(comm, &graph)?;
    }
    if !may_move(comm, reorder) {
        return create_checked(comm, graph, comm.rank());
    }
    let all = show_all(comm, call, words_of(&graph))?;
    let graphs = graphs_of(&all);
    let edges = (0..).zip(&graphs).flat_map(|(rank, graph)| {
        let weight = |index: usize| {
            graph
                .weights
                .as_ref()
                .map_or(1, |both| u64::from(both.1[index] as u32))
        };
        let outgoing = graph.destinations.iter().enumerate();
        outgoing.map(move |(index, &to)| (rank, to as u32, weight(index)))
    });
    let players = players(comm, reorder, |ranks| placement::Graph::new(ranks, edges));
    let rank = played(comm, players.as_ref());
    // The process that plays a rank has the edges that were given for the rank.
    let role = graphs.into_iter().nth(rank as usize);
    debug_assert!(role.is_some(), "every rank has shown its edges");
    create_checked(comm, role.unwrap_or(graph), rank)
}

/// A rank's edges as words: their numbers, whether there are weights, and each edge.
fn words_of(graph: &DistGraph) -> Vec<u64> {
    let (sources, destinations) = (&graph.sources, &graph.destinations);
    let weighted = u64::from(graph.weights.is_some());
    let mut words = vec![sources.len() as u64, destinations.len() as u64, weighted];
    let weights = graph
        .weights
        .iter()
        .flat_map(|both| both.0.iter().chain(&both.1));
    let numbers = sources.iter().chain(destinations).chain(weights);
    words.extend(numbers.map(|&number| u64::from(number as u32)));
    words
}

/// The edges of each rank, from the words of all.
fn graphs_of(mut words: &[u64]) -> Vec<DistGraph> {
    let mut graphs = Vec::new();
    while let &[incoming, outgoing, weighted, ref rest @ ..] = words {
        let mut rest = rest.iter().map(|&word| word as u32 as i32);
        let (incoming, outgoing) = (incoming as usize, outgoing as usize);
        let mut take = |count: usize| rest.by_ref().take(count).collect::<Vec<i32>>();
        let (sources, destinations) = (take(incoming), take(outgoing));
        let weights = (weighted != 0).then(|| (take(incoming), take(outgoing)));
        graphs.push(DistGraph {
            sources,
            destinations,
            weights,
        });
        let numbers = (incoming + outgoing) * (1 + weighted as usize);
        words = &words[3 + numbers..];
    }
    graphs
}

/// Compares the edges of all ranks: each outgoing edge must be an incoming edge at its other end.
fn check_edges(comm: &Arc<Comm>, graph: &DistGraph) -> Result<()> {
    let call = "MPI_Dist_graph_create_adjacent";
    let me = comm.rank() as u64;
    // An edge as its two ends; the bit marks incoming edges.
    const ARRIVES: u64 = 1 << 63;
    let edge = |from: u64, to: u64| from << 32 | to;
    let leave = graph.destinations.iter().map(|&to| edge(me, to as u64));
    let arrive = graph
        .sources
        .iter()
        .map(|&from| edge(from as u64, me) | ARRIVES);
    let all = show_all(comm, call, leave.chain(arrive).collect())?;
    let mut balance = BTreeMap::new();
    for word in all {
        let (leaving, arriving) = balance.entry(word & !ARRIVES).or_insert((0, 0));
        *(if word & ARRIVES == 0 {
            leaving
        } else {
            arriving
        }) += 1;
    }
    let differ = balance
        .iter()
        .find(|(_, (leaving, arriving))| leaving != arriving);
    let Some((edge, (leaving, arriving))) = differ else {
        return Ok(());
    };
    let (from, to) = (edge >> 32, edge & u64::from(u32::MAX));
    let text = format!(
        "the ranks disagree about edges from rank {from} to rank {to}: there are {leaving} in 'destinations' of rank {from}, and {arriving} \
         in 'sources' of rank {to}"
    );
    Err(comm.annotate(Error::new(ErrorClass::ERR_TOPOLOGY, text)))
}

/// The words of all ranks, of which each may contribute another number.
pub(super) fn show_all(
    comm: &Arc<Comm>,
    call: &'static str,
    mut words: Vec<u64>,
) -> Result<Vec<u64>> {
    const NONE: u64 = u64::MAX;
    let own = [words.len() as u64];
    let lengths = run_collective(comm, call, coll::gather_words(comm.clone(), &own))?;
    // Allgather needs blocks of one size.
    words.resize(lengths.iter().copied().max().unwrap_or(0) as usize, NONE);
    let mut all = run_collective(comm, call, coll::gather_words(comm.clone(), &words))?;
    all.retain(|&word| word != NONE);
    Ok(all)
}

/// As [`create_adjacent`], with the checked edges of the rank that this process plays.
fn create_checked(comm: &Arc<Comm>, graph: DistGraph, rank: i32) -> Result<Option<Arc<Comm>>> {
    let call = "MPI_Dist_graph_create_adjacent";
    let made = create::split(comm, 0, rank, call)?;
    if let Some(made) = &made {
        made.set_topology(Topology::DistGraph(Arc::new(graph)));
    }
    Ok(made)
}

/// An edge: from, to, weight.
pub type Edge = (i32, i32, i32);

/// A communicator with a distributed graph to which each rank contributes any edges (MPI_Dist_graph_create). All ranks see
/// all edges once and keep their own.
///
/// # Errors
/// MPI_ERR_RANK for an end outside the communicator; where ranks compare their calls, MPI_ERR_ARG for arguments that differ.
pub fn create_general(
    comm: &Arc<Comm>,
    edges: &[Edge],
    weighted: bool,
    reorder: bool,
) -> Result<Option<Arc<Comm>>> {
    let call = "MPI_Dist_graph_create";
    check_same(comm, call, || {
        vec![
            Argument::weighted("weights", weighted),
            Argument::flag("reorder", reorder),
        ]
    })?;
    let ends = |end: fn(&Edge) -> i32| edges.iter().map(end).collect::<Vec<i32>>();
    check_ranks(comm, "sources", &ends(|edge| edge.0))?;
    check_ranks(comm, "destinations", &ends(|edge| edge.1))?;
    let word = |edge: &Edge| {
        let ends = u64::from(edge.0 as u32) << 32 | u64::from(edge.1 as u32);
        [ends, u64::from(edge.2 as u32)]
    };
    let all = show_all(comm, call, edges.iter().flat_map(word).collect())?;
    let pairs = all.chunks_exact(2);
    let parts = pairs.map(|pair| ((pair[0] >> 32) as u32, pair[0] as u32, pair[1]));
    let players = players(comm, reorder, |ranks| placement::Graph::new(ranks, parts));
    let me = played(comm, players.as_ref());
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    for pair in all.chunks_exact(2) {
        let (from, to) = ((pair[0] >> 32) as i32, pair[0] as u32 as i32);
        let weight = pair[1] as u32 as i32;
        if to == me {
            incoming.push((from, weight));
        }
        if from == me {
            outgoing.push((to, weight));
        }
    }
    let weights = weighted.then(|| {
        (
            incoming.iter().map(|edge| edge.1).collect(),
            outgoing.iter().map(|edge| edge.1).collect(),
        )
    });
    create_checked(
        comm,
        DistGraph {
            sources: incoming.iter().map(|edge| edge.0).collect(),
            destinations: outgoing.iter().map(|edge| edge.0).collect(),
            weights,
        },
        me,
    )
}
