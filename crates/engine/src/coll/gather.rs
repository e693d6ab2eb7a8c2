// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gather, scatter and allgather, with equal or varying pieces.

use std::sync::Arc;

use super::primitives::{Block, Round};
use crate::comm::Comm;
use crate::errors::Result;

/// One block per rank. Built once; pieces are cheap to copy.
#[derive(Clone)]
pub struct Pieces(pub Vec<Block>);

impl Pieces {
    /// `size` equal pieces, one after the other.
    pub fn equal(block: &Block, count: usize, size: u32) -> Self {
        Self(
            (0..i64::from(size))
                .map(|rank| block.part(rank * count as i64, count))
                .collect(),
        )
    }

    /// The piece of a rank.
    pub fn piece(&self, rank: u32) -> Block {
        self.0[rank as usize].clone()
    }
}

/// Every rank's block to the root, which has all receives posted at once; `receive` is significant at the root. A rank that
/// contributes in place passes `None`.
///
/// # Errors
/// Those of the messages.
pub async fn gather(
    comm: Arc<Comm>,
    send: Option<Block>,
    receive: Option<Pieces>,
    root: u32,
) -> Result<()> {
    let round = Round::new(comm);
    let Some(pieces) = receive.filter(|_| round.rank == root) else {
        return match send {
            Some(block) => round.send(&block, root)?.await.map(drop),
            None => Ok(()),
        };
    };
    let mut arrivals = Vec::new();
    for rank in (0..round.size).filter(|&rank| rank != root) {
        arrivals.push(round.receive(&pieces.piece(rank), rank)?);
    }
    if let Some(block) = send {
        pieces.piece(root).copy_from(&block);
    }
    for arrival in arrivals {
        arrival.await?;
    }
    Ok(())
}

/// The root's pieces to every rank; `send` is significant at the root. In place at the root: `receive` is `None`.
///
/// # Errors
/// Those of the messages.
pub async fn scatter(
    comm: Arc<Comm>,
    send: Option<Pieces>,
    receive: Option<Block>,
    root: u32,
) -> Result<()> {
    let round = Round::new(comm);
    let Some(pieces) = send.filter(|_| round.rank == root) else {
        return match receive {
            Some(block) => round.receive(&block, root)?.await.map(drop),
            None => Ok(()),
        };
    };
    let mut departures = Vec::new();
    for rank in (0..round.size).filter(|&rank| rank != root) {
        departures.push(round.send(&pieces.piece(rank), rank)?);
    }
    if let Some(block) = receive {
        block.copy_from(&pieces.piece(root));
    }
    for departure in departures {
        departure.await?;
    }
    Ok(())
}

/// Every rank's piece to every rank: recursive doubling of contiguous packed pieces for small ones would move the same
/// bytes; a ring moves each piece once per rank and needs no copy, p - 1 steps.
///
/// # Errors
/// Those of the messages.
pub async fn allgather(comm: Arc<Comm>, send: Option<Block>, pieces: Pieces) -> Result<()> {
    let round = Round::new(comm);
    if let Some(block) = send {
        pieces.piece(round.rank).copy_from(&block);
    }
    let to = (round.rank + 1) % round.size;
    let from = (round.rank + round.size - 1) % round.size;
    for step in 0..round.size.saturating_sub(1) {
        let out = pieces.piece((round.rank + round.size - step) % round.size);
        let into = pieces.piece((round.rank + 2 * round.size - step - 1) % round.size);
        let arrival = round.receive(&into, from)?;
        let departure = round.send(&out, to)?;
        arrival.await?;
        departure.await?;
    }
    Ok(())
}
