// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gather and scatter, with equal or varying pieces.

use std::sync::Arc;

use algorithms::{Case, Choice, Gather, Scatter};

use super::check::{self, Call};
use super::choose::{self, choose};
use super::commons::{Purpose, meet};
use super::hierarchy;
use super::inter::{self, Root};
use super::primitives::{Block, Round, Scratch};
use super::shared;
use crate::comm::Comm;
use crate::errors::Result;

/// One block per rank. Built once; pieces are cheap to copy.
#[derive(Clone)]
pub struct Pieces(pub Vec<Block>);

impl Pieces {
    /// `size` equal pieces of `count` elements, one after the other from the start of `block`.
    pub fn equal(block: &Block, count: usize, size: u32) -> Self {
        Self(
            (0..i64::from(size))
                .map(|rank| block.part((count as i64).wrapping_mul(rank), count))
                .collect(),
        )
    }

    /// The piece of a rank.
    pub fn piece(&self, rank: u32) -> &Block {
        &self.0[rank as usize]
    }
}

/// Whether the pieces of all ranks are known to have the same packed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// They are equal.
    Equal,
    /// Only the root knows them all (the forms with `v`).
    Varying,
}

/// The place of a rank in a binomial tree.
struct Place {
    size: u32,
    root: u32,
    /// Rank relative to the root.
    me: u32,
    /// Ranks of the subtree, at most: the distance to the parent.
    span: u32,
}

impl Place {
    const fn new(round: &Round, root: u32) -> Self {
        let me = (round.rank + round.size - root) % round.size;
        let mut span = 1;
        while span < round.size && me & span == 0 {
            span *= 2;
        }
        Self {
            size: round.size,
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
/// when its piece is in place already.
///
/// # Errors
/// Those of the messages.
pub async fn gather(
    comm: Arc<Comm>,
    send: Option<Block>,
    receive: Option<Pieces>,
    root: impl Into<Root>,
    sizes: Sizes,
) -> Result<()> {
    let root = root.into();
    let Some(root) = root.within(&comm) else {
        return Box::pin(inter::gather(comm, send, receive, root)).await;
    };
    let mut round = Round::new(comm);
    let pieces = receive.filter(|_| round.rank == root);
    if round.checks() {
        let (calls, data) = (
            (Call::Gather, Call::Gatherv),
            (send.as_ref(), pieces.as_ref()),
        );
        Box::pin(check::rooted(&mut round, calls, root, data, sizes)).await?;
    }
    let own = match (&send, &pieces) {
        (Some(block), _) => block.bytes(),
        (None, Some(pieces)) => pieces.piece(root).bytes(),
        (None, None) => 0,
    };
    let case = Case {
        equal: sizes == Sizes::Equal,
        ..choose::case(&round, own, own * round.size as usize)
    };
    let mut choice = choose::<Gather>(&round, &case);
    if choice.algorithm == Gather::Shared {
        let turns = algorithms::shared::pieces(own, round.size);
        if let Some(meeting) = meet(&mut round, Purpose::Gather, own, turns.shown(own)).await {
            let (send, pieces) = (send.as_ref(), pieces.as_ref());
            return shared::gather(meeting, send, pieces, Some(root), turns).await;
        }
        choice = choose(&round, &case.without_shared());
    }
    if choice.algorithm == Gather::Hierarchical
        && let Some(node) = round.comm.node()
    {
        let (send, pieces) = (send.as_ref(), pieces.as_ref());
        return Box::pin(hierarchy::gather(&round, node, send, pieces, root, own)).await;
    }
    gather_by_messages(&mut round, choice, send, pieces, root, own).await;
    round.outcome()
}

/// Pieces of `own` bytes if all are equally long, which trees demand.
pub(super) async fn gather_by_messages(
    round: &mut Round,
    choice: Choice<Gather>,
    send: Option<Block>,
    pieces: Option<Pieces>,
    root: u32,
    own: usize,
) {
    if choice.algorithm == Gather::Tree {
        if own > 0 {
            Box::pin(gather_tree(round, send, pieces, root, own)).await;
        }
    } else if let Some(pieces) = pieces {
        let mut step = round.step();
        for (rank, piece) in (0..).zip(&pieces.0) {
            if rank != root && piece.bytes() > 0 {
                step.receive(piece, rank);
            }
        }
        if let Some(block) = send {
            pieces.piece(root).copy_from(&block);
        }
        step.finish().await;
    } else if let Some(block) = send.filter(|block| block.bytes() > 0) {
        round.send(&block, root).await;
    }
}

/// Small pieces travel packed up a binomial tree, together with those of the subtree.
async fn gather_tree(
    round: &mut Round,
    send: Option<Block>,
    pieces: Option<Pieces>,
    root: u32,
    bytes: usize,
) {
    let place = Place::new(round, root);
    let mut packed = Scratch::new(bytes * place.members());
    if let Some(block) = &send {
        block.pack_into(&mut packed.as_mut_slice()[..bytes]);
    }
    let mut step = round.step();
    let mut bit = 1;
    while bit < place.span && place.me + bit < place.size {
        let into = packed.block(bit as usize * bytes, place.below(bit) * bytes);
        step.receive(&into, place.real(place.me + bit));
        bit *= 2;
    }
    step.finish().await;
    let Some(pieces) = pieces else {
        let all = packed.block(0, bytes * place.members());
        return round.send(&all, place.parent()).await;
    };
    for (relative, piece) in (0..).zip(packed.as_mut_slice().chunks_exact(bytes)) {
        if relative > 0 || send.is_some() {
            pieces.piece(place.real(relative)).from_bytes(piece);
        }
    }
}

/// The root's pieces to every rank (MPI_Scatter, MPI_Scatterv). `send` is significant at the root, whose `receive` is
/// `None` when its piece stays where it is.
///
/// # Errors
/// Those of the messages.
pub async fn scatter(
    comm: Arc<Comm>,
    send: Option<Pieces>,
    receive: Option<Block>,
    root: impl Into<Root>,
    sizes: Sizes,
) -> Result<()> {
    let root = root.into();
    let Some(root) = root.within(&comm) else {
        return Box::pin(inter::scatter(comm, send, receive, root)).await;
    };
    let mut round = Round::new(comm);
    let pieces = send.filter(|_| round.rank == root);
    if round.checks() {
        let (calls, data) = (
            (Call::Scatter, Call::Scatterv),
            (receive.as_ref(), pieces.as_ref()),
        );
        Box::pin(check::rooted(&mut round, calls, root, data, sizes)).await?;
    }
    let own = match (&receive, &pieces) {
        (_, Some(pieces)) => pieces.piece(root).bytes(),
        (Some(block), None) => block.bytes(),
        (None, None) => 0,
    };
    let size = round.size;
    let case = Case {
        equal: sizes == Sizes::Equal,
        ..choose::case(&round, own, own * size as usize)
    };
    let mut choice = choose::<Scatter>(&round, &case);
    if choice.algorithm == Scatter::Shared {
        let (turns, shown) = shared::scatter_turns(own, size);
        if let Some(meeting) = meet(&mut round, Purpose::Scatter, own, shown).await {
            let (pieces, receive) = (pieces.as_ref(), receive.as_ref());
            return shared::scatter(meeting, pieces, receive, (root, own), turns).await;
        }
        choice = choose(&round, &case.without_shared());
    }
    if choice.algorithm == Scatter::Hierarchical
        && let Some(node) = round.comm.node()
    {
        let (pieces, receive) = (pieces.as_ref(), receive.as_ref());
        return Box::pin(hierarchy::scatter(&round, node, pieces, receive, root, own)).await;
    }
    scatter_by_messages(&mut round, choice, pieces, receive, root, own).await;
    round.outcome()
}

/// Pieces of `own` bytes if all are equally long, which trees demand.
pub(super) async fn scatter_by_messages(
    round: &mut Round,
    choice: Choice<Scatter>,
    pieces: Option<Pieces>,
    receive: Option<Block>,
    root: u32,
    own: usize,
) {
    if choice.algorithm == Scatter::Tree {
        if own > 0 {
            Box::pin(scatter_tree(round, pieces, receive, root, own)).await;
        }
    } else if let Some(pieces) = pieces {
        let mut step = round.step();
        for (rank, piece) in (0..).zip(&pieces.0) {
            if rank != root && piece.bytes() > 0 {
                step.send(piece, rank);
            }
        }
        if let Some(block) = receive {
            block.copy_from(pieces.piece(root));
        }
        step.finish().await;
    } else if let Some(block) = receive.filter(|block| block.bytes() > 0) {
        round.receive(&block, root).await;
    }
}

/// Small pieces travel packed down a binomial tree.
async fn scatter_tree(
    round: &mut Round,
    pieces: Option<Pieces>,
    receive: Option<Block>,
    root: u32,
    bytes: usize,
) {
    let place = Place::new(round, root);
    let mut packed = Scratch::new(bytes * place.members());
    match pieces {
        Some(pieces) => {
            for (relative, piece) in (0..).zip(packed.as_mut_slice().chunks_exact_mut(bytes)) {
                pieces.piece(place.real(relative)).pack_into(piece);
            }
        }
        None => {
            let all = packed.block(0, bytes * place.members());
            round.receive(&all, place.parent()).await;
        }
    }
    let mut step = round.step();
    let mut bit = place.span / 2;
    while bit > 0 {
        if place.me + bit < place.size {
            let out = packed.block(bit as usize * bytes, place.below(bit) * bytes);
            step.send(&out, place.real(place.me + bit));
        }
        bit /= 2;
    }
    step.finish().await;
    if let Some(block) = receive {
        block.from_bytes(&packed.as_mut_slice()[..bytes]);
    }
}
