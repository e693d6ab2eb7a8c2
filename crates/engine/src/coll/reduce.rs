// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions. The result is always that of combining in rank order, so that operations need not commute.

use std::sync::Arc;

use super::move_all::tree;
use super::primitives::{Block, Round};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;

/// A private copy of a block's memory image.
struct Image {
    memory: Vec<u128>,
    block: Block,
}

impl Image {
    /// Room for the elements of `like`.
    fn new(like: &Block) -> Self {
        let layout = &like.layout;
        let span = layout.true_extent() + layout.extent().abs() * (like.count.max(1) as i64 - 1);
        let mut memory = vec![0u128; (span.max(0) as usize).div_ceil(16) + 1];
        let shift =
            layout.true_lower_bound() + layout.extent().min(0) * (like.count.max(1) as i64 - 1);
        let base = memory
            .as_mut_ptr()
            .cast::<u8>()
            .wrapping_offset(-(shift as isize));
        Self {
            memory,
            block: Block::new(base, like.count, layout.clone()),
        }
    }

    fn of(block: &Block) -> Self {
        let image = Self::new(block);
        image.block.copy_from(block);
        image
    }

    /// `self = left op self`.
    fn prepend(&mut self, left: &Self, op: &Reduction) {
        debug_assert!(!self.memory.is_empty());
        // SAFETY: both images hold as many elements as the block they were made for.
        unsafe { op.apply(left.block.base.0, self.block.base.0, self.block.count) };
    }

    /// `self = self op right`.
    fn append(&mut self, mut right: Self, op: &Reduction) {
        right.prepend(self, op);
        *self = right;
    }
}

/// Combines every rank's block at the root: a binomial tree over rank order, ceil(log2 p) steps. In place: the root passes its
/// receive block as `send`.
///
/// # Errors
/// Those of the messages and of the operation.
pub async fn reduce(
    comm: Arc<Comm>,
    send: Block,
    receive: Option<Block>,
    op: Reduction,
    root: u32,
) -> Result<()> {
    to_root(&Round::new(comm), send, receive, op, root).await
}

/// [`reduce`] as a part of a larger operation.
async fn to_root(
    round: &Round,
    send: Block,
    receive: Option<Block>,
    op: Reduction,
    root: u32,
) -> Result<()> {
    let mut mine = Image::of(&send);
    let mut bit = 1;
    while bit < round.size && round.rank & bit == 0 {
        if round.rank + bit < round.size {
            let right = Image::new(&send);
            round.receive(&right.block, round.rank + bit)?.await?;
            mine.append(right, &op);
        }
        bit *= 2;
    }
    if round.rank != 0 {
        round.send(&mine.block, round.rank - bit)?.await?;
    }
    match receive {
        Some(target) if round.rank == root && root == 0 => target.copy_from(&mine.block),
        Some(target) if round.rank == root => {
            round.receive(&target, 0)?.await?;
        }
        _ if round.rank == 0 && root != 0 => {
            round.send(&mine.block, root)?.await?;
        }
        _ => {}
    }
    Ok(())
}

/// Combines every rank's block everywhere. A power of two of ranks doubles recursively in log2 p steps, which keeps rank
/// order because partners hold neighbouring ranges; other counts reduce and broadcast.
///
/// # Errors
/// Those of the messages and of the operation.
pub async fn allreduce(comm: Arc<Comm>, send: Block, receive: Block, op: Reduction) -> Result<()> {
    let round = Round::new(comm);
    if !round.size.is_power_of_two() {
        to_root(&round, send, Some(receive.clone()), op, 0).await?;
        return tree(&round, receive, 0).await;
    }
    let mut mine = Image::of(&send);
    let mut bit = 1;
    while bit < round.size {
        let partner = round.rank ^ bit;
        let mut theirs = Image::new(&send);
        let arrival = round.receive(&theirs.block, partner)?;
        let departure = round.send(&mine.block, partner)?;
        arrival.await?;
        departure.await?;
        if partner < round.rank {
            mine.prepend(&theirs, &op);
        } else {
            std::mem::swap(&mut mine, &mut theirs);
            mine.prepend(&theirs, &op);
        }
        bit *= 2;
    }
    receive.copy_from(&mine.block);
    Ok(())
}

/// Rank `r` gets the combination of ranks `0..=r` (`inclusive`) or `0..r`: doubling, ceil(log2 p) steps.
async fn prefix(
    comm: Arc<Comm>,
    send: Block,
    receive: Block,
    op: Reduction,
    inclusive: bool,
) -> Result<()> {
    let round = Round::new(comm);
    let mut range = Image::of(&send);
    let mut before: Option<Image> = None;
    let mut distance = 1;
    while distance < round.size {
        let departure = if round.rank + distance < round.size {
            Some(round.send(&range.block, round.rank + distance)?)
        } else {
            None
        };
        let left = Image::new(&send);
        let arrived = round.rank >= distance;
        if arrived {
            round.receive(&left.block, round.rank - distance)?.await?;
        }
        if let Some(departure) = departure {
            departure.await?;
        }
        if arrived {
            range.prepend(&left, &op);
            match &mut before {
                Some(before) => before.prepend(&left, &op),
                None => before = Some(left),
            }
        }
        distance *= 2;
    }
    if inclusive {
        receive.copy_from(&range.block);
    } else if let Some(before) = before {
        receive.copy_from(&before.block);
    }
    Ok(())
}

/// Inclusive prefix combination (MPI_Scan).
///
/// # Errors
/// Those of the messages and of the operation.
pub async fn scan(comm: Arc<Comm>, send: Block, receive: Block, op: Reduction) -> Result<()> {
    prefix(comm, send, receive, op, true).await
}

/// Exclusive prefix combination (MPI_Exscan); rank 0's receive block is left alone.
///
/// # Errors
/// Those of the messages and of the operation.
pub async fn exscan(comm: Arc<Comm>, send: Block, receive: Block, op: Reduction) -> Result<()> {
    prefix(comm, send, receive, op, false).await
}
