// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which members of a communicator are on which node, and those of this node as a communicator of their own.

use std::sync::Arc;

use super::Comm;
use crate::group::Group;

/// The nodes of a communicator's members, seen from this one.
pub(crate) struct NodeMap {
    /// The members on this node. It has the context of the communicator, and only its collectives use it.
    pub(crate) comm: Arc<Comm>,
    /// Index of this node.
    pub(crate) index: u32,
    /// For each node, in the order of their first members, the ranks of its members, ascending.
    pub(crate) members: Vec<Vec<u32>>,
    /// The node of each rank.
    pub(crate) of: Box<[u32]>,
    /// Whether the members of each node are neighbours.
    pub(crate) contiguous: bool,
}

impl Comm {
    /// Whether all members share memory: the transport has it, and they are on this node.
    pub(crate) fn shares_memory(&self) -> bool {
        self.process.vcis().share_memory() && self.is_on_this_node()
    }

    /// Whether all members are on this node.
    pub(crate) fn is_on_this_node(&self) -> bool {
        let is_here = |&member: &u32| self.process.is_here(member);
        let remote = self.remote_group.as_ref();
        self.group().members().iter().all(is_here)
            && remote.is_none_or(|group| group.members().iter().all(is_here))
    }
}

impl NodeMap {
    /// The nodes of the members of an intracommunicator; `None` if there is only one.
    pub(super) fn new(comm: &Comm) -> Option<Self> {
        if comm.local().is_some() {
            return None;
        }
        let world = comm.group().members();
        let mut names: Vec<u32> = Vec::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut of = Vec::with_capacity(world.len());
        for (rank, &peer) in (0..).zip(world) {
            let name = comm.process.node_of(peer);
            let known = names.iter().position(|&one| one == name);
            let index = known.unwrap_or_else(|| {
                names.push(name);
                members.push(Vec::new());
                names.len() - 1
            });
            members[index].push(rank);
            of.push(index as u32);
        }
        if members.len() < 2 {
            return None;
        }
        let index = of[comm.rank() as usize];
        let mine = members[index as usize].iter();
        let group = Group::new(mine.map(|&rank| world[rank as usize]).collect::<Vec<_>>());
        Some(Self {
            comm: comm.part(group),
            index,
            contiguous: of.is_sorted(),
            members,
            of: of.into(),
        })
    }

    /// Number of nodes.
    pub(crate) fn count(&self) -> u32 {
        self.members.len() as u32
    }

    /// The rank that acts for each node: the first of its members, or `root` where it is.
    pub(crate) fn leaders(&self, root: Option<u32>) -> Box<[u32]> {
        let home = root.map(|root| self.of[root as usize]);
        let leader = |(index, ranks): (u32, &Vec<u32>)| match root {
            Some(root) if home == Some(index) => root,
            _ => ranks[0],
        };
        (0..).zip(&self.members).map(leader).collect()
    }

    /// The rank of a member among the members of its node.
    pub(crate) fn local_rank(&self, rank: u32) -> u32 {
        let ranks = &self.members[self.of[rank as usize] as usize];
        ranks.partition_point(|&member| member < rank) as u32
    }
}
