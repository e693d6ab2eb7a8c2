// SPDX-License-Identifier: MIT OR Apache-2.0
//! Broadcast and all-to-all.

use std::sync::Arc;

use super::gather::Pieces;
use super::primitives::{Block, Round};
use crate::comm::Comm;
use crate::errors::Result;

/// Copies the root's block to everyone: a binomial tree, ceil(log2 p) steps.
///
/// # Errors
/// Those of the messages.
pub async fn bcast(comm: Arc<Comm>, block: Block, root: u32) -> Result<()> {
    tree(&Round::new(comm), block, root).await
}

/// [`bcast`] as a part of a larger operation.
pub(super) async fn tree(round: &Round, block: Block, root: u32) -> Result<()> {
    let me = (round.rank + round.size - root) % round.size;
    let real = |rank: u32| (rank + root) % round.size;
    let mut bit = 1;
    while bit < round.size && me & bit == 0 {
        bit *= 2;
    }
    if me != 0 {
        round.receive(&block, real(me - bit))?.await?;
    }
    let mut sends = Vec::new();
    bit /= 2;
    while bit > 0 {
        if me + bit < round.size {
            sends.push(round.send(&block, real(me + bit))?);
        }
        bit /= 2;
    }
    for send in sends {
        send.await?;
    }
    Ok(())
}

/// Piece `i` of every rank goes to rank `i` (Alltoall, Alltoallv, Alltoallw): pairwise exchanges, p - 1 steps.
///
/// # Errors
/// Those of the messages.
pub async fn alltoall(comm: Arc<Comm>, send: Pieces, receive: Pieces) -> Result<()> {
    let round = Round::new(comm);
    receive.piece(round.rank).copy_from(&send.piece(round.rank));
    for step in 1..round.size {
        let to = (round.rank + step) % round.size;
        let from = (round.rank + round.size - step) % round.size;
        let (out, into) = (send.piece(to), receive.piece(from));
        let arrival = round.receive(&into, from)?;
        let departure = round.send(&out, to)?;
        arrival.await?;
        departure.await?;
    }
    Ok(())
}
