// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of members on several nodes: within each node, between one member of each (its *leader*), and within
//! again. Nothing is written here that moves or combines data: each level is the operation's own algorithm, chosen by the
//! table for that level. Between nodes there are messages only, and no more than the leaders' algorithm needs.
//!
//! The root leads its node. Levels share the tag of the operation; a level that draws rounds of the node's shared collective area does
//! so before the operation first waits, so that several may be in progress. An error of one level does not stop the next ones,
//! for which others wait.

use algorithms::shared::{self, Rounds};
use algorithms::{
    Allgather, Allreduce, Barrier, Bcast, Case, Choice, Gather, Reduce, Scatter, Typed,
};

use crate::coll::algorithms::reduce::Image;
use crate::coll::area::Purpose;
use crate::coll::area::long::{self, Combining};
use crate::coll::area::sequence::{draw, take};
use crate::coll::blocks::Blocks;
use crate::coll::primitives::{Block, Collective, Scratch};
use crate::coll::select::{self, choose};
use crate::comm::Drawn;
use crate::comm::node_map::NodeMap;
use crate::errors::Result;
use crate::op::Reduction;

/// The levels of an operation, as this member takes part in them.
struct Levels {
    /// Between nodes, for their leaders.
    between: Option<Collective>,
    /// Within this node.
    within: Collective,
    /// The leader's rank in it.
    leader: u32,
    /// The root's node.
    home: u32,
}

impl Levels {
    fn new(coll: &Collective, node: &NodeMap, root: Option<u32>) -> Self {
        let leader = node.leader(root);
        let between = || coll.between_nodes(node.index, node.leaders(root));
        Self {
            between: (leader == coll.rank).then(between),
            within: coll.within_node(node),
            leader: node.local_rank(leader),
            home: root.map_or(0, |root| node.of[root as usize]),
        }
    }

    /// How all levels went.
    fn outcome(self, within: Result<()>) -> Result<()> {
        let between = self.between.map_or(Ok(()), Collective::outcome);
        within.and(self.within.outcome()).and(between)
    }
}

/// How an operation is cut into rounds, and their number and what a member publishes in one of them at most.
type Cut<C> = (C, (usize, usize));

/// The decisions about a level within a node, taken before the first wait. `C` says how the operation is cut into rounds.
struct LevelPlan<A, C = Rounds> {
    rounds: Option<(Drawn, C)>,
    /// The algorithm if there are no rounds.
    choice: Choice<A>,
}

impl<A: Typed, C> LevelPlan<A, C> {
    /// `in_shared` is the algorithm that takes rounds, if any can.
    fn new(coll: &Collective, case: &Case, in_shared: A, cut: Option<Cut<C>>) -> Self {
        let cut = Some(cut);
        Self::by(coll, case, |algorithm| {
            cut.filter(|_| algorithm == in_shared)
        })
    }

    /// `cut_of` says whether an algorithm takes rounds, and which, if any can.
    fn by(
        coll: &Collective,
        case: &Case,
        cut_of: impl FnOnce(A) -> Option<Option<Cut<C>>>,
    ) -> Self {
        let choice = choose::<A>(coll, case);
        let cut = cut_of(choice.algorithm).filter(|_| coll.size > 1);
        let Some(cut) = cut else {
            return Self {
                rounds: None,
                choice,
            };
        };
        let rounds = cut.and_then(|(rounds, published)| Some((draw(coll, published)?, rounds)));
        Self {
            rounds,
            choice: choose(coll, &case.without_shared()),
        }
    }
}

impl LevelPlan<Bcast> {
    fn of_bcast(coll: &Collective, bytes: usize) -> Self {
        let rounds = shared::blocks(bytes, coll.size);
        let case = select::case(coll, bytes, bytes);
        Self::new(
            coll,
            &case,
            Bcast::Shared,
            Some((rounds, rounds.published(bytes))),
        )
    }

    async fn bcast(&self, coll: &mut Collective, block: &Block, root: u32) -> Result<()> {
        if coll.size < 2 {
            return Ok(());
        }
        if let Some((round, rounds)) = self.rounds
            && let Some(sequence) = take(coll, round, Purpose::Bcast, block.bytes()).await
        {
            return long::bcast(sequence, block, root, rounds).await;
        }
        Box::pin(super::bcast::by_messages(coll, block, root, self.choice)).await;
        Ok(())
    }
}

impl LevelPlan<Reduce, Combining> {
    fn of_reduce(coll: &Collective, send: &Block, op: &Reduction) -> Self {
        let case = select::reduction(coll, send, op.is_commutative());
        Self::by(coll, &case, |algorithm| {
            let parts = match algorithm {
                Reduce::Shared => false,
                Reduce::SharedParts => true,
                _ => return None,
            };
            let combining = Combining::of(&case, parts);
            Some(combining.map(|it| (it, it.published(send, coll.size))))
        })
    }

    /// Combines at `root`, which alone has `receive`.
    async fn reduce(
        &self,
        coll: &mut Collective,
        send: &Block,
        receive: Option<&Block>,
        op: &Reduction,
        root: u32,
    ) -> Result<()> {
        if coll.size < 2 {
            if let Some(target) = receive {
                target.copy_from(send);
            }
            return Ok(());
        }
        if let Some((round, combining)) = self.rounds
            && let Some(sequence) = take(coll, round, Purpose::Reduce, send.bytes()).await
        {
            return long::reduce(sequence, send, receive, op, root, combining).await;
        }
        Box::pin(super::reduce::by_messages(
            coll,
            send,
            receive,
            op,
            root,
            self.choice,
        ))
        .await;
        Ok(())
    }
}

impl LevelPlan<Gather> {
    /// Blocks of at most `largest` bytes.
    fn of_gather(coll: &Collective, largest: usize, equal: bool) -> Self {
        let rounds = shared::blocks(largest, coll.size);
        let mut case = select::case(coll, largest, largest * coll.size as usize);
        case.equal = equal;
        let part = Self::new(
            coll,
            &case,
            Gather::Shared,
            Some((rounds, rounds.published(largest))),
        );
        if part.rounds.is_some() || equal {
            return part;
        }
        // Their lengths are known everywhere, so that they can be published in shared memory all the same.
        case.equal = true;
        let published = Some((rounds, rounds.published(largest)));
        Self {
            rounds: Self::new(coll, &case, Gather::Shared, published).rounds,
            choice: part.choice,
        }
    }

    async fn gather(
        &self,
        coll: &mut Collective,
        send: Option<&Block>,
        receive: Option<&Blocks>,
        root: u32,
        largest: usize,
    ) -> Result<()> {
        if let Some((round, rounds)) = self.rounds
            && let Some(sequence) = take(coll, round, Purpose::Gather, largest).await
        {
            return long::gather(sequence, send, receive, (Some(root), largest), rounds).await;
        }
        let (send, receive) = (send.cloned(), receive.cloned());
        Box::pin(super::gather::gather_by_messages(
            coll,
            self.choice,
            send,
            receive,
            root,
            largest,
        ))
        .await;
        Ok(())
    }
}

impl LevelPlan<Scatter> {
    fn of_scatter(coll: &Collective, bytes: usize) -> Self {
        let case = select::case(coll, bytes, bytes * coll.size as usize);
        let cut = long::scatter_rounds(bytes, coll.size);
        Self::new(coll, &case, Scatter::Shared, Some(cut))
    }

    async fn scatter(
        &self,
        coll: &mut Collective,
        send: Option<&Blocks>,
        receive: Option<&Block>,
        root: u32,
        bytes: usize,
    ) -> Result<()> {
        if let Some((round, rounds)) = self.rounds
            && let Some(sequence) = take(coll, round, Purpose::Scatter, bytes).await
        {
            return long::scatter(sequence, send, receive, (root, bytes), rounds).await;
        }
        let (send, receive) = (send.cloned(), receive.cloned());
        Box::pin(super::gather::scatter_by_messages(
            coll,
            self.choice,
            send,
            receive,
            root,
            bytes,
        ))
        .await;
        Ok(())
    }
}

impl LevelPlan<Barrier> {
    fn of_barrier(coll: &Collective) -> Self {
        let case = select::case(coll, 0, 0);
        let rounds = Rounds { count: 1, most: 0 };
        Self::new(coll, &case, Barrier::Shared, Some((rounds, (1, 0))))
    }

    async fn barrier(&self, coll: &mut Collective) -> Result<()> {
        if let Some((round, _)) = self.rounds
            && let Some(sequence) = take(coll, round, Purpose::Barrier, 0).await
        {
            return long::barrier(sequence).await;
        }
        Box::pin(super::barrier::dissemination(coll)).await;
        Ok(())
    }
}

/// No rank leaves before all ranks have entered: a leader enters the second barrier within its node when all nodes have arrived.
pub(in crate::coll) async fn barrier(coll: &Collective, node: &NodeMap) -> Result<()> {
    let mut levels = Levels::new(coll, node, None);
    let parts = [(); 2].map(|()| LevelPlan::of_barrier(&levels.within));
    let mut outcome = parts[0].barrier(&mut levels.within).await;
    if let Some(between) = &mut levels.between {
        Box::pin(super::barrier::dissemination(between)).await;
    }
    outcome = outcome.and(parts[1].barrier(&mut levels.within).await);
    levels.outcome(outcome)
}

/// From the root to the leaders, and from each to its node.
pub(in crate::coll) async fn bcast(
    coll: &Collective,
    node: &NodeMap,
    block: &Block,
    root: u32,
) -> Result<()> {
    let bytes = block.bytes();
    let mut levels = Levels::new(coll, node, Some(root));
    let part = LevelPlan::of_bcast(&levels.within, bytes);
    if let Some(between) = &mut levels.between {
        let choice = choose(between, &select::case(between, bytes, bytes));
        super::bcast::by_messages(between, block, levels.home, choice).await;
    }
    let within = part.bcast(&mut levels.within, block, levels.leader).await;
    levels.outcome(within)
}

/// Combined at each leader, then at the root.
pub(in crate::coll) async fn reduce(
    coll: &Collective,
    node: &NodeMap,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    root: u32,
) -> Result<()> {
    let mut levels = Levels::new(coll, node, Some(root));
    let part = LevelPlan::of_reduce(&levels.within, send, op);
    let leads = levels.between.is_some();
    // A leader without the result's memory has its own for the node's.
    let image = match leads && receive.is_none() {
        true => Some(Image::new(send, send.count)?),
        false => None,
    };
    let target = receive.or(image.as_ref().map(Image::block));
    let leader = levels.leader;
    let within = part
        .reduce(&mut levels.within, send, target, op, leader)
        .await;
    if let (Some(between), Some(value)) = (&mut levels.between, target) {
        let choice = choose(
            between,
            &select::reduction(between, send, op.is_commutative()),
        );
        super::reduce::by_messages(between, value, receive, op, levels.home, choice).await;
    }
    levels.outcome(within)
}

/// Combined at each leader, then at all leaders, and published to each node.
pub(in crate::coll) async fn allreduce(
    coll: &Collective,
    node: &NodeMap,
    send: &Block,
    receive: &Block,
    op: &Reduction,
) -> Result<()> {
    let mut levels = Levels::new(coll, node, None);
    let up = LevelPlan::of_reduce(&levels.within, send, op);
    let down = LevelPlan::of_bcast(&levels.within, receive.bytes());
    let target = Some(receive).filter(|_| levels.between.is_some());
    let leader = levels.leader;
    let mut outcome = up
        .reduce(&mut levels.within, send, target, op, leader)
        .await;
    if let Some(between) = &mut levels.between {
        let choice: Choice<Allreduce> = choose(
            between,
            &select::reduction(between, send, op.is_commutative()),
        );
        super::allreduce::by_messages(between, receive, op, choice).await;
    }
    outcome = outcome.and(down.bcast(&mut levels.within, receive, leader).await);
    levels.outcome(outcome)
}

/// The blocks of a node's members.
fn of_members(all: &Blocks, node: &NodeMap, index: u32) -> Blocks {
    let ranks = node.members[index as usize].iter();
    Blocks(ranks.map(|&rank| all.block(rank).clone()).collect())
}

/// The blocks of each node, packed one after the other, are exchanged between leaders; each publishes all to its node. The own
/// block is in place.
pub(in crate::coll) async fn allgather(
    coll: &Collective,
    node: &NodeMap,
    all: &Blocks,
) -> Result<()> {
    let mut levels = Levels::new(coll, node, None);
    let largest = all.0.iter().map(Block::bytes).max().unwrap_or(0);
    let equal = all.0.iter().all(|block| block.bytes() == largest);
    let members: Vec<Blocks> = (0..node.count())
        .map(|index| of_members(all, node, index))
        .collect();
    let total = all.0.iter().map(Block::bytes).sum();
    let up = LevelPlan::of_gather(&levels.within, largest, equal);
    let down = LevelPlan::of_bcast(&levels.within, total);

    let own = all.block(coll.rank);
    let mine = &members[node.index as usize];
    let target = Some(mine).filter(|_| levels.between.is_some());
    let leader = levels.leader;
    let mut outcome = up
        .gather(&mut levels.within, Some(own), target, leader, largest)
        .await;

    let mut packed = Scratch::new(total)?;
    let mut start = 0;
    let packed_blocks = members.iter().map(|blocks| {
        let bytes = blocks.0.iter().map(Block::bytes).sum();
        start += bytes;
        packed.block(start - bytes, bytes)
    });
    let packed_blocks = Blocks(packed_blocks.collect());
    if let Some(between) = &mut levels.between {
        let mut start = 0;
        let own = packed_blocks.block(node.index);
        for block in &mine.0 {
            own.part(start, block.bytes()).copy_from(&Block {
                signature: own.signature,
                ..block.clone()
            });
            start += block.bytes() as i64;
        }
        let largest = packed_blocks.0.iter().map(Block::bytes).max().unwrap_or(0);
        let choice: Choice<Allgather> = choose(between, &select::case(between, largest, total));
        let own = packed_blocks.block(between.rank).clone();
        super::allgather::by_messages(between, &packed_blocks, &own, total, choice.algorithm).await;
    }
    let whole = packed.block(0, total);
    outcome = outcome.and(down.bcast(&mut levels.within, &whole, leader).await);
    let mut rest = packed.as_mut_slice() as &[u8];
    for (rank, block) in node
        .members
        .iter()
        .flatten()
        .zip(members.iter().flat_map(|one| &one.0))
    {
        let (bytes, after) = rest.split_at(block.bytes());
        rest = after;
        if *rank != coll.rank {
            block.from_bytes(bytes);
        }
    }
    levels.outcome(outcome)
}

/// The blocks of each node go to its leader, and from there in one message to the root.
pub(in crate::coll) async fn gather(
    coll: &Collective,
    node: &NodeMap,
    send: Option<&Block>,
    all: Option<&Blocks>,
    root: u32,
    bytes: usize,
) -> Result<()> {
    let mut levels = Levels::new(coll, node, Some(root));
    let part = LevelPlan::of_gather(&levels.within, bytes, true);
    let count = node.members[node.index as usize].len();
    let blocks = match (all, &levels.between) {
        (Some(_), _) => coll.size as usize,
        (None, Some(_)) => count,
        (None, None) => 0,
    };
    let mut packed = Scratch::of_equal(bytes, blocks)?;
    let mine = match (all, &levels.between) {
        (Some(all), _) => Some(of_members(all, node, node.index)),
        (None, Some(_)) => {
            let whole = packed.block(0, bytes * count);
            Some(Blocks::equal(&whole, bytes, count as u32))
        }
        (None, None) => None,
    };
    let leader = levels.leader;
    let within = part
        .gather(&mut levels.within, send, mine.as_ref(), leader, bytes)
        .await;
    if let Some(between) = &mut levels.between {
        match all {
            None => {
                between
                    .send(&packed.block(0, bytes * count), levels.home)
                    .await
            }
            Some(all) => {
                let ranges = ranges(node, levels.home, bytes);
                let mut step = between.step();
                for &(index, start, length) in &ranges {
                    step.receive(&packed.block(start, length), index);
                }
                step.finish().await;
                for &(index, start, length) in &ranges {
                    let packed = &packed.as_mut_slice()[start..start + length];
                    let blocks = of_members(all, node, index);
                    for (block, bytes) in blocks.0.iter().zip(packed.chunks_exact(bytes)) {
                        block.from_bytes(bytes);
                    }
                }
            }
        }
    }
    levels.outcome(within)
}

/// The blocks of each node go in one message to its leader, and from there to its members.
pub(in crate::coll) async fn scatter(
    coll: &Collective,
    node: &NodeMap,
    all: Option<&Blocks>,
    receive: Option<&Block>,
    root: u32,
    bytes: usize,
) -> Result<()> {
    let mut levels = Levels::new(coll, node, Some(root));
    let part = LevelPlan::of_scatter(&levels.within, bytes);
    let count = node.members[node.index as usize].len();
    let blocks = match (all, &levels.between) {
        (Some(_), _) => coll.size as usize,
        (None, Some(_)) => count,
        (None, None) => 0,
    };
    let mut packed = Scratch::of_equal(bytes, blocks)?;
    let mut mine = None;
    if let Some(between) = &mut levels.between {
        match all {
            None => {
                let whole = packed.block(0, bytes * count);
                between.receive(&whole, levels.home).await;
                mine = Some(Blocks::equal(&whole, bytes, count as u32));
            }
            Some(all) => {
                let ranges = ranges(node, levels.home, bytes);
                for &(index, start, length) in &ranges {
                    let packed = &mut packed.as_mut_slice()[start..start + length];
                    let blocks = of_members(all, node, index);
                    for (block, bytes) in blocks.0.iter().zip(packed.chunks_exact_mut(bytes)) {
                        block.pack_into(bytes);
                    }
                }
                let mut step = between.step();
                for &(index, start, length) in &ranges {
                    step.send(&packed.block(start, length), index);
                }
                step.finish().await;
                mine = Some(of_members(all, node, node.index));
            }
        }
    }
    let leader = levels.leader;
    let within = part
        .scatter(&mut levels.within, mine.as_ref(), receive, leader, bytes)
        .await;
    levels.outcome(within)
}

/// Where the packed blocks of each node but the root's lie: its index, the first byte, and how many.
fn ranges(node: &NodeMap, home: u32, bytes: usize) -> Vec<(u32, usize, usize)> {
    let mut start = 0;
    let range = |(index, ranks): (u32, &Vec<u32>)| {
        let length = ranks.len() * bytes;
        start += length;
        (index, start - length, length)
    };
    let all = (0..).zip(&node.members).map(range);
    let others = all.filter(|&(index, ..)| index != home);
    others.collect()
}
