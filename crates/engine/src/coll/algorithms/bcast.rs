// SPDX-License-Identifier: MIT OR Apache-2.0
//! Broadcast.

use std::sync::Arc;

use algorithms::{Bcast, Choice};

use crate::coll::algorithms::chain;
use crate::coll::algorithms::hierarchy;
use crate::coll::algorithms::inter;
use crate::coll::area::long;
use crate::coll::area::{Purpose, enter_area};
use crate::coll::blocks::Root;
use crate::coll::check::{self, Call, Statement};
use crate::coll::primitives::{Block, Collective, Flat};
use crate::coll::select::{self, choose};
use crate::comm::Comm;
use crate::errors::Result;

/// Copies the root's block to everyone (MPI_Bcast).
///
/// # Errors
/// Those of the messages.
pub async fn bcast(comm: Arc<Comm>, block: Block, root: impl Into<Root>) -> Result<()> {
    let root = root.into();
    let Some(root) = root.within(&comm) else {
        return Box::pin(inter::bcast(comm, block, root)).await;
    };
    let mut coll = Collective::new(comm);
    if coll.checks() {
        let statement = Statement::new(Call::Bcast).with_root(root);
        Box::pin(check::same(&mut coll, statement.with_data(&block))).await?;
    }
    let bytes = block.bytes();
    let case = select::case(&coll, bytes, bytes);
    let mut choice = choose::<Bcast>(&coll, &case);
    if choice.algorithm == Bcast::Shared {
        let rounds = algorithms::shared::blocks(bytes, coll.size);
        if let Some(sequence) =
            enter_area(&mut coll, Purpose::Bcast, bytes, rounds.published(bytes)).await
        {
            return long::bcast(sequence, &block, root, rounds).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Bcast::Hierarchical
        && let Some(node) = coll.comm.node_map()
    {
        return Box::pin(hierarchy::bcast(&coll, node, &block, root)).await;
    }
    if bytes > 0 {
        Box::pin(by_messages(&mut coll, &block, root, choice)).await;
    }
    coll.outcome()
}

pub(in crate::coll) async fn by_messages(
    coll: &mut Collective,
    block: &Block,
    root: u32,
    choice: Choice<Bcast>,
) {
    match choice.algorithm {
        Bcast::Tree | Bcast::Shared | Bcast::Hierarchical => tree(coll, block, root).await,
        Bcast::Knomial => knomial(coll, block, root, choice.parameter).await,
        Bcast::Linear => linear(coll, block, root).await,
        Bcast::ScatterRing => parts(coll, block, root, Collect::Ring).await,
        Bcast::ScatterDoubling => parts(coll, block, root, Collect::Doubling).await,
        Bcast::Chain => chain::bcast(coll, block, root, choice.parameter).await,
    }
}

/// A binomial tree, ceil(log2 p) steps.
pub(in crate::coll) async fn tree(coll: &mut Collective, block: &Block, root: u32) {
    knomial(coll, block, root, 2).await;
}

/// A tree of ceil(log_degree p) levels: each rank has up to degree - 1 children at each of the distances 1, degree,
/// degree^2... below that to its parent, the farthest first.
async fn knomial(coll: &mut Collective, block: &Block, root: u32, degree: u64) {
    let (size, root) = (u64::from(coll.size), u64::from(root));
    let me = (u64::from(coll.rank) + size - root) % size;
    let real = |relative: u64| ((relative + root) % size) as u32;
    let mut span = 1;
    while span < size && (me / span).is_multiple_of(degree) {
        span *= degree;
    }
    if me != 0 {
        let parent = me - me / span % degree * span;
        coll.receive(block, real(parent)).await;
    }
    let mut step = coll.step();
    while span > 1 {
        span /= degree;
        for index in 1..degree {
            let child = me + index * span;
            if child >= size {
                break;
            }
            step.send(block, real(child));
        }
    }
    step.finish().await;
}

/// The root sends to every rank.
async fn linear(coll: &mut Collective, block: &Block, root: u32) {
    if coll.rank != root {
        coll.receive(block, root).await;
        return;
    }
    let mut step = coll.step();
    for rank in (0..step.size()).filter(|&rank| rank != root) {
        step.send(block, rank);
    }
    step.finish().await;
}

/// How parts that lie at different ranks come to all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Collect {
    /// Collective a ring: p - 1 steps, with neighbours only.
    Ring,
    /// Between pairs at distances 1, 2, 4...: log2 p steps, for powers of two.
    Doubling,
}

/// Scatters p parts down a binomial tree, then collects them: every rank sends and receives about twice the block in all,
/// however many ranks there are (van de Geijn).
async fn parts(coll: &mut Collective, block: &Block, root: u32, collect: Collect) {
    let (size, bytes) = (coll.size as usize, block.bytes());
    let root = root as usize;
    let me = (coll.rank as usize + size - root) % size;
    let real = |relative: usize| ((relative + root) % size) as u32;
    let each = bytes.div_ceil(size);
    let start_of = |relative: usize| (relative * each).min(bytes);
    let Some(mut flat) = coll.memory(Flat::of(block, me == 0)) else {
        return;
    };

    let mut bit = 1;
    while bit < size && me & bit == 0 {
        bit *= 2;
    }
    let mine = |bit: usize| start_of(me)..start_of((me + bit).min(size));
    if me != 0 {
        let subtree = mine(bit);
        let into = flat.part(subtree.start, subtree.len());
        coll.receive(&into, real(me - bit)).await;
    }
    let mut step = coll.step();
    bit /= 2;
    while bit > 0 {
        let child = me + bit;
        if child < size {
            let (start, end) = (start_of(child), start_of((child + bit).min(size)));
            step.send(&flat.part(start, end - start), real(child));
        }
        bit /= 2;
    }
    step.finish().await;

    let mut range = |first: usize, count: usize| {
        let (start, end) = (start_of(first), start_of(first + count));
        flat.part(start, end - start)
    };
    match collect {
        Collect::Ring => {
            for distance in 0..size - 1 {
                let sent = range((me + size - distance) % size, 1);
                let received = range((me + size - distance - 1) % size, 1);
                let (to, from) = (coll.above(1), coll.below(1));
                coll.exchange(&sent, to, &received, from).await;
            }
        }
        Collect::Doubling => {
            let mut held = 1;
            while held < size {
                let (first, partner) = (me & !(held - 1), real(me ^ held));
                let (sent, received) = (range(first, held), range(first ^ held, held));
                coll.exchange(&sent, partner, &received, partner).await;
                held *= 2;
            }
        }
    }
    if me != 0 {
        flat.store(block);
    }
}
