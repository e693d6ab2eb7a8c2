// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allgather, with equal or varying pieces, and the exchange of single words that communicator creation needs.

use std::sync::Arc;

use super::choose;
use super::commons::{Purpose, area_of, meet};
use super::gather::Pieces;
use super::inter;
use super::primitives::{Block, Round, Scratch};
use super::shared;
use crate::comm::Comm;
use crate::errors::Result;

/// Every rank's piece to every rank (MPI_Allgather, MPI_Allgatherv); `send` is `None` when the own piece is in place.
///
/// # Errors
/// Those of the messages.
pub async fn allgather(comm: Arc<Comm>, send: Option<Block>, pieces: Pieces) -> Result<()> {
    if comm.local().is_some() {
        let send = send.ok_or_else(inter::not_in_place)?;
        return Box::pin(inter::allgather(comm, send, pieces)).await;
    }
    let mut round = Round::new(comm);
    let largest = pieces.0.iter().map(Block::bytes).max().unwrap_or(0);
    if let Some(turns) = choose::shared_pieces(largest, area_of(&round))
        && let Some(meeting) = meet(
            &mut round,
            Purpose::Allgather,
            largest,
            turns.shown(largest),
        )
        .await
    {
        return shared::gather(meeting, send.as_ref(), Some(&pieces), None, turns).await;
    }
    if let Some(block) = send {
        pieces.piece(round.rank).copy_from(&block);
    }
    let total = pieces.0.iter().map(Block::bytes).sum();
    if total > 0 {
        if choose::allgather_doubling(total, round.size) {
            Box::pin(doubling(&mut round, &pieces, total)).await;
        } else {
            Box::pin(ring(&mut round, &pieces)).await;
        }
    }
    round.outcome()
}

/// Each piece goes once round the ring: p - 1 steps, no copies.
async fn ring(round: &mut Round, pieces: &Pieces) {
    for distance in 0..round.size - 1 {
        let out = pieces.piece(round.below(distance));
        let into = pieces.piece(round.below(distance + 1));
        let (to, from) = (round.above(1), round.below(1));
        let mut step = round.step();
        if into.bytes() > 0 {
            step.receive(into, from);
        }
        if out.bytes() > 0 {
            step.send(out, to);
        }
        step.finish().await;
    }
}

/// The number of known pieces doubles in each of ceil(log2 p) steps (Bruck). Pieces are packed in the order of their
/// distance above the own rank.
async fn doubling(round: &mut Round, pieces: &Pieces, total: usize) {
    let size = round.size;
    let start_of: Vec<usize> = (0..=size)
        .scan(0, |position, distance| {
            let start = *position;
            *position += pieces.piece(round.above(distance)).bytes();
            Some(start)
        })
        .collect();
    let mut packed = Scratch::new(total);
    let own = start_of[1];
    pieces
        .piece(round.rank)
        .pack_into(&mut packed.as_mut_slice()[..own]);
    let mut known = 1;
    while known < size {
        let count = known.min(size - known);
        let out = packed.block(0, start_of[count as usize]);
        let (start, end) = (start_of[known as usize], start_of[(known + count) as usize]);
        let into = packed.block(start, end - start);
        let (to, from) = (round.below(known), round.above(known));
        round.exchange(&out, to, &into, from).await;
        known += count;
    }
    for distance in 1..size {
        let range = start_of[distance as usize]..start_of[distance as usize + 1];
        pieces
            .piece(round.above(distance))
            .from_bytes(&packed.as_mut_slice()[range]);
    }
}

/// Every rank's words, in rank order, at every rank; all ranks give as many.
///
/// # Errors
/// Those of the messages.
pub async fn gather_words(comm: Arc<Comm>, words: &[u64]) -> Result<Vec<u64>> {
    let size = comm.size() as u32;
    let bytes = size_of_val(words);
    let mut all = Scratch::new(bytes * size as usize);
    let pieces = Pieces::equal(&all.block(0, 0), bytes, size);
    let own: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    pieces.piece(comm.rank() as u32).from_bytes(&own);
    allgather(comm, None, pieces).await?;
    let mut result = vec![0; words.len() * size as usize];
    all.store_words(&mut result);
    Ok(result)
}
