// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which rank of a new topology each process plays, where the program permits that ranks change (`reorder`).
//!
//! All processes know the whole graph and the nodes of all members, and calculate the same placement without messages. Cores of a node
//! count as equally far from each other.

use placement::{Cluster, Graph, place};

use crate::comm::Comm;

/// Ranks up to which there is a placement: every process calculates the places of all.
const MOST_PLACED: i32 = 1 << 14;

/// Whether ranks may change: the program and the setting permit it, and there are several nodes.
pub(super) fn may_move(comm: &Comm, reorder: bool) -> bool {
    let permitted = reorder && comm.process().settings().reorder != 0;
    permitted && comm.size() <= MOST_PLACED && comm.node_map().is_some()
}

/// The process, as a rank of `comm`, that plays each rank; `None` if all keep their ranks.
pub(super) fn players(
    comm: &Comm,
    reorder: bool,
    graph: impl FnOnce(u32) -> Graph,
) -> Option<Vec<u32>> {
    let nodes = comm.node_map().filter(|_| may_move(comm, reorder))?;
    let found = place(&graph(comm.size() as u32), &Cluster::of_nodes(&nodes.of));
    (!found.is_identity()).then_some(found.process_of)
}

/// The rank that this process plays.
pub(super) fn played(comm: &Comm, players: Option<&Vec<u32>>) -> i32 {
    let me = comm.rank() as u32;
    let place = players.and_then(|all| all.iter().position(|&player| player == me));
    place.map_or(comm.rank(), |rank| rank as i32)
}
