// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which members of a communicator are on which node, and those of this node as a communicator of their own.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

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
    /// The first member of each node, once this member leads its node.
    first: OnceLock<Arc<[u32]>>,
}

/// The rank that acts for each node, by index: the first of its members, or the root of an operation.
#[derive(Clone)]
pub(crate) struct Leaders {
    first: Arc<[u32]>,
    /// The index of the root's node, and the root.
    root: Option<(u32, u32)>,
}

impl Leaders {
    /// Number of nodes.
    pub(crate) fn count(&self) -> u32 {
        self.first.len() as u32
    }

    /// The leader of a node.
    pub(crate) fn of(&self, index: u32) -> u32 {
        match self.root {
            Some((home, root)) if home == index => root,
            _ => self.first[index as usize],
        }
    }
}

/// The ranks on each node, ascending, in the order of their first members; and the node of each rank. `names` has the name of the node of each
/// rank.
fn by_node<N: Copy + Eq + Hash>(names: impl Iterator<Item = N>) -> (Vec<Vec<u32>>, Vec<u32>) {
    let mut indices: HashMap<N, u32> = HashMap::new();
    let mut members: Vec<Vec<u32>> = Vec::new();
    let mut of = Vec::with_capacity(names.size_hint().0);
    let mut last: Option<(N, u32)> = None;
    for (rank, name) in (0..).zip(names) {
        // Neighbours are often on one node.
        let index = match last {
            Some((known, index)) if known == name => index,
            _ => *indices.entry(name).or_insert_with(|| {
                members.push(Vec::new());
                members.len() as u32 - 1
            }),
        };
        last = Some((name, index));
        members[index as usize].push(rank);
        of.push(index);
    }
    (members, of)
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
        let names = world.iter().map(|&peer| comm.process.node_of(peer));
        let (members, of) = by_node(names);
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
            first: OnceLock::new(),
        })
    }

    /// Number of nodes.
    pub(crate) fn count(&self) -> u32 {
        self.members.len() as u32
    }

    /// The rank that acts for this node: the first of its members, or `root` if it is here.
    pub(crate) fn leader(&self, root: Option<u32>) -> u32 {
        match root {
            Some(root) if self.of[root as usize] == self.index => root,
            _ => self.members[self.index as usize][0],
        }
    }

    /// The leaders of all nodes, for one of them.
    pub(crate) fn leaders(&self, root: Option<u32>) -> Leaders {
        let first = || self.members.iter().map(|ranks| ranks[0]).collect();
        Leaders {
            first: self.first.get_or_init(first).clone(),
            root: root.map(|root| (self.of[root as usize], root)),
        }
    }

    /// Whether this member has a list of all leaders.
    #[cfg(test)]
    pub(crate) fn has_leaders(&self) -> bool {
        self.first.get().is_some()
    }

    /// The rank of a member among the members of its node.
    pub(crate) fn local_rank(&self, rank: u32) -> u32 {
        let ranks = &self.members[self.of[rank as usize] as usize];
        ranks.partition_point(|&member| member < rank) as u32
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    thread_local! {
        static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    /// The name of a node, whose compares are counted.
    #[derive(Clone, Copy)]
    struct Name(u32);

    impl PartialEq for Name {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Name {}

    impl Hash for Name {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn ranks_on_many_nodes_take_few_compares_each() {
        const RANKS: u32 = 1 << 20;
        const NODES: u32 = 1 << 14;
        let in_blocks = |rank: u32| 7 * (rank / (RANKS / NODES));
        let in_cycles = |rank: u32| 7 * (rank % NODES);
        for node_of in [&in_blocks as &dyn Fn(u32) -> u32, &in_cycles] {
            let before = COMPARED.get();
            let (members, of) = by_node((0..RANKS).map(|rank| Name(node_of(rank))));
            let compared = COMPARED.get() - before;
            assert!(compared <= 4 * u64::from(RANKS), "{compared}");
            assert_eq!(members.len() as u32, NODES);
            for rank in 0..RANKS {
                assert_eq!(7 * of[rank as usize], node_of(rank));
            }
            assert!(members.iter().all(|ranks| ranks.is_sorted()));
            assert_eq!(members.iter().map(Vec::len).sum::<usize>(), of.len());
        }
    }

    #[test]
    fn the_root_leads_its_node() {
        let first: Arc<[u32]> = [0, 3, 5].into();
        let of = |root| {
            let first = first.clone();
            let leaders = Leaders { first, root };
            [0, 1, 2].map(|index| leaders.of(index))
        };
        assert_eq!(of(None), [0, 3, 5]);
        assert_eq!(of(Some((1, 4))), [0, 4, 5]);
    }
}
