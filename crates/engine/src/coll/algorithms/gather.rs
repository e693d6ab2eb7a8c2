// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gather and scatter, with equal or varying blocks.

use std::sync::Arc;

use algorithms::{Case, Choice, Gather, Scatter};

use crate::coll::algorithms::hierarchy;
use crate::coll::algorithms::inter;
use crate::coll::area::long;
use crate::coll::area::{Purpose, enter_area};
use crate::coll::blocks::{Blocks, Root, Sizes};
use crate::coll::check::{self, Call};
use crate::coll::primitives::{Block, Collective, Scratch};
use crate::coll::select::{self, choose};
use crate::comm::Comm;
use crate::errors::Result;

/// The position of a rank in a binomial tree.
struct TreePosition {
    size: u32,
    root: u32,
    /// Rank relative to the root.
    me: u32,
    /// Ranks of the subtree, at most: the distance to the parent.
    span: u32,
}

impl TreePosition {
    const fn new(coll: &Collective, root: u32) -> Self {
        let me = (coll.rank + coll.size - root) % coll.size;
        let mut span = 1;
        while span < coll.size && me & span == 0 {
            span *= 2;
        }
        Self {
            size: coll.size,
            root,
            me,
            span,
        }
    }

    const fn real(&self, relative: u32) -> u32 {
        (relative + self.root) % self.size
    }

    const fn parent(&self) -> u32 {
        self.real(self.me - self.span)
    }

    /// Ranks of the subtree of the child at distance `bit`.
    fn below(&self, bit: u32) -> usize {
        bit.min(self.size - (self.me + bit)) as usize
    }

    /// Ranks of the own subtree.
    fn members(&self) -> usize {
        self.span.min(self.size - self.me) as usize
    }
}

/// Every rank's block to the root (MPI_Gather, MPI_Gatherv). `receive` is significant at the root, whose `send` is `None`
/// when its block is in place already.
///
/// # Errors
/// Those of the messages.
pub async fn gather(
    comm: Arc<Comm>,
    send: Option<Block>,
    receive: Option<Blocks>,
    root: impl Into<Root>,
    sizes: Sizes,
) -> Result<()> {
    let root = root.into();
    let Some(root) = root.within(&comm) else {
        return Box::pin(inter::gather(comm, send, receive, root)).await;
    };
    let mut coll = Collective::new(comm);
    let blocks = receive.filter(|_| coll.rank == root);
    if coll.checks() {
        let (calls, data) = (
            (Call::Gather, Call::Gatherv),
            (send.as_ref(), blocks.as_ref()),
        );
        Box::pin(check::rooted(&mut coll, calls, root, data, sizes)).await?;
    }
    let own = match (&send, &blocks) {
        (Some(block), _) => block.bytes(),
        (None, Some(blocks)) => blocks.block(root).bytes(),
        (None, None) => 0,
    };
    let case = Case {
        equal: sizes == Sizes::Equal,
        ..select::case(&coll, own, own * coll.size as usize)
    };
    let mut choice = choose::<Gather>(&coll, &case);
    if choice.algorithm == Gather::Shared {
        let rounds = algorithms::shared::blocks(own, coll.size);
        if let Some(sequence) =
            enter_area(&mut coll, Purpose::Gather, own, rounds.published(own)).await
        {
            let (send, blocks) = (send.as_ref(), blocks.as_ref());
            return long::gather(sequence, send, blocks, (Some(root), own), rounds).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Gather::Hierarchical
        && let Some(node) = coll.comm.node_map()
    {
        let (send, blocks) = (send.as_ref(), blocks.as_ref());
        return Box::pin(hierarchy::gather(&coll, node, send, blocks, root, own)).await;
    }
    gather_by_messages(&mut coll, choice, send, blocks, root, own).await;
    coll.outcome()
}

/// Blocks of `own` bytes if all are equally long, which trees demand.
pub(in crate::coll) async fn gather_by_messages(
    coll: &mut Collective,
    choice: Choice<Gather>,
    send: Option<Block>,
    blocks: Option<Blocks>,
    root: u32,
    own: usize,
) {
    if choice.algorithm == Gather::Tree {
        if own > 0 {
            Box::pin(gather_tree(coll, send, blocks, root, own)).await;
        }
    } else if let Some(blocks) = blocks {
        // While the root copied for one member, the others would wait.
        let mut step = coll.step().copied_by_receivers();
        for (rank, block) in (0..).zip(&blocks.0) {
            if rank != root && block.bytes() > 0 {
                step.receive(block, rank);
            }
        }
        if let Some(block) = send {
            blocks.block(root).copy_from(&block);
        }
        step.finish().await;
    } else if let Some(block) = send.filter(|block| block.bytes() > 0) {
        coll.send(&block, root).await;
    }
}

/// Small blocks travel packed up a binomial tree, together with those of the subtree.
async fn gather_tree(
    coll: &mut Collective,
    send: Option<Block>,
    blocks: Option<Blocks>,
    root: u32,
    bytes: usize,
) {
    let tree = TreePosition::new(coll, root);
    let packed = Scratch::of_equal(bytes, tree.members());
    let Some(mut packed) = coll.memory(packed) else {
        return;
    };
    if let Some(block) = &send {
        block.pack_into(&mut packed.as_mut_slice()[..bytes]);
    }
    let mut step = coll.step();
    let mut bit = 1;
    while bit < tree.span && tree.me + bit < tree.size {
        let into = packed.block(bit as usize * bytes, tree.below(bit) * bytes);
        step.receive(&into, tree.real(tree.me + bit));
        bit *= 2;
    }
    step.finish().await;
    let Some(blocks) = blocks else {
        let all = packed.block(0, bytes * tree.members());
        return coll.send(&all, tree.parent()).await;
    };
    for (relative, block) in (0..).zip(packed.as_mut_slice().chunks_exact(bytes)) {
        if relative > 0 || send.is_some() {
            blocks.block(tree.real(relative)).from_bytes(block);
        }
    }
}

/// The root's blocks to every rank (MPI_Scatter, MPI_Scatterv). `send` is significant at the root, whose `receive` is
/// `None` when its block stays where it is.
///
/// # Errors
/// Those of the messages.
pub async fn scatter(
    comm: Arc<Comm>,
    send: Option<Blocks>,
    receive: Option<Block>,
    root: impl Into<Root>,
    sizes: Sizes,
) -> Result<()> {
    let root = root.into();
    let Some(root) = root.within(&comm) else {
        return Box::pin(inter::scatter(comm, send, receive, root)).await;
    };
    let mut coll = Collective::new(comm);
    let blocks = send.filter(|_| coll.rank == root);
    if coll.checks() {
        let (calls, data) = (
            (Call::Scatter, Call::Scatterv),
            (receive.as_ref(), blocks.as_ref()),
        );
        Box::pin(check::rooted(&mut coll, calls, root, data, sizes)).await?;
    }
    let own = match (&receive, &blocks) {
        (_, Some(blocks)) => blocks.block(root).bytes(),
        (Some(block), None) => block.bytes(),
        (None, None) => 0,
    };
    let size = coll.size;
    let case = Case {
        equal: sizes == Sizes::Equal,
        ..select::case(&coll, own, own * size as usize)
    };
    let mut choice = choose::<Scatter>(&coll, &case);
    if choice.algorithm == Scatter::Shared {
        let (rounds, published) = long::scatter_rounds(own, size);
        if let Some(sequence) = enter_area(&mut coll, Purpose::Scatter, own, published).await {
            let (blocks, receive) = (blocks.as_ref(), receive.as_ref());
            return long::scatter(sequence, blocks, receive, (root, own), rounds).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Scatter::Hierarchical
        && let Some(node) = coll.comm.node_map()
    {
        let (blocks, receive) = (blocks.as_ref(), receive.as_ref());
        return Box::pin(hierarchy::scatter(&coll, node, blocks, receive, root, own)).await;
    }
    scatter_by_messages(&mut coll, choice, blocks, receive, root, own).await;
    coll.outcome()
}

/// Blocks of `own` bytes if all are equally long, which trees demand.
pub(in crate::coll) async fn scatter_by_messages(
    coll: &mut Collective,
    choice: Choice<Scatter>,
    blocks: Option<Blocks>,
    receive: Option<Block>,
    root: u32,
    own: usize,
) {
    if choice.algorithm == Scatter::Tree {
        if own > 0 {
            Box::pin(scatter_tree(coll, blocks, receive, root, own)).await;
        }
    } else if let Some(blocks) = blocks {
        // While the root copied for one member, the others would wait.
        let mut step = coll.step().copied_by_receivers();
        for (rank, block) in (0..).zip(&blocks.0) {
            if rank != root && block.bytes() > 0 {
                step.send(block, rank);
            }
        }
        if let Some(block) = receive {
            block.copy_from(blocks.block(root));
        }
        step.finish().await;
    } else if let Some(block) = receive.filter(|block| block.bytes() > 0) {
        let mut step = coll.step().copied_by_receivers();
        step.receive(&block, root);
        step.finish().await;
    }
}

/// Small blocks travel packed down a binomial tree.
async fn scatter_tree(
    coll: &mut Collective,
    blocks: Option<Blocks>,
    receive: Option<Block>,
    root: u32,
    bytes: usize,
) {
    let tree = TreePosition::new(coll, root);
    let packed = Scratch::of_equal(bytes, tree.members());
    let Some(mut packed) = coll.memory(packed) else {
        return;
    };
    match blocks {
        Some(blocks) => {
            for (relative, block) in (0..).zip(packed.as_mut_slice().chunks_exact_mut(bytes)) {
                blocks.block(tree.real(relative)).pack_into(block);
            }
        }
        None => {
            let all = packed.block(0, bytes * tree.members());
            coll.receive(&all, tree.parent()).await;
        }
    }
    let mut step = coll.step();
    let mut bit = tree.span / 2;
    while bit > 0 {
        if tree.me + bit < tree.size {
            let out = packed.block(bit as usize * bytes, tree.below(bit) * bytes);
            step.send(&out, tree.real(tree.me + bit));
        }
        bit /= 2;
    }
    step.finish().await;
    if let Some(block) = receive {
        block.from_bytes(&packed.as_mut_slice()[..bytes]);
    }
}
