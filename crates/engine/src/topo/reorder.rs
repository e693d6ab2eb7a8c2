// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which rank of a new topology each process plays, where the program permits that ranks change (`reorder`).
//!
//! All processes know the whole graph and the nodes of all members, and calculate the same placement without messages. Cores of a node
//! count as equally far from each other.

use placement::{Graph, MOST_RANKS, place};

use crate::comm::Comm;

/// Whether ranks may change: the program and the setting permit it, and there are several nodes.
pub(super) fn may_move(comm: &Comm, reorder: bool) -> bool {
    let permitted = reorder && comm.process().settings().reorder != 0;
    permitted && comm.size() as u32 <= MOST_RANKS && comm.node_map().is_some()
}

/// The process, as a rank of `comm`, that plays each rank; `None` if all keep their ranks.
pub(super) fn players(
    comm: &Comm,
    reorder: bool,
    graph: impl FnOnce(u32) -> Graph,
) -> Option<Vec<u32>> {
    let nodes = comm.node_map().filter(|_| may_move(comm, reorder))?;
    place(&graph(comm.size() as u32), &nodes.of)
}

/// The rank that this process plays.
pub(super) fn played(comm: &Comm, players: Option<&Vec<u32>>) -> i32 {
    let me = comm.rank() as u32;
    let place = players.and_then(|all| all.iter().position(|&player| player == me));
    place.map_or(comm.rank(), |rank| rank as i32)
}
